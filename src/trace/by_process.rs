//! Traces the requests of all devices and sums them by process and device.

use std::sync::{Arc, Mutex, PoisonError};

use super::partitions::drives_of_partitions;
use super::stream::match_requests;
use crate::drive::identity;
use crate::probe::process::thread_owner::ThreadOwners;
use crate::roots::SysPaths;
use crate::trace::events::{CaptureControl, TraceCapture, TraceDetail, TraceError};
use crate::trace::requests::TracedIo;

/// A trace of all devices; it ends when it is dropped.
#[derive(Debug)]
pub struct ProcessIoTrace {
    counted: Arc<Mutex<TracedIo>>,
    capture: TraceCapture,
}

impl ProcessIoTrace {
    /// Starts tracing.
    ///
    /// # Errors
    ///
    /// When requests cannot be traced, and why.
    pub fn start(roots: &SysPaths) -> Result<Self, TraceError> {
        let counted = Arc::new(Mutex::new(TracedIo::default()));
        let drives = drives_of_partitions(&identity::list_block_devices(roots));
        let mut owners = ThreadOwners::new(&roots.proc);
        let (sums, upper_drives) = (Arc::clone(&counted), drives.clone());
        let capture = match_requests(roots, &[], TraceDetail::Full, drives, move |batch| {
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            for request in &batch.requests {
                sums.add(request, &upper_drives, |tid| owners.owner_of(tid));
            }
            sums.events_lost = batch.status.lost_events;
            sums.end_reason = batch.status.end_reason;
            CaptureControl::Continue
        })?;
        Ok(Self { counted, capture })
    }

    /// What has completed since the last call. Requests of the last 40 ms may follow in the next.
    #[must_use]
    pub fn take(&self) -> TracedIo {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = TracedIo {
            events_lost: counted.events_lost,
            end_reason: counted.end_reason.clone(),
            ..TracedIo::default()
        };
        std::mem::replace(&mut *counted, kept)
    }

    /// Ends the trace and returns the rest.
    #[must_use]
    pub fn stop(self) -> TracedIo {
        self.capture.stop();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *counted)
    }
}
