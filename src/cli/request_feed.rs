//! The single requests of a device, for `trace` and `record --requests`.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::device_names;
use super::failure::CommandFailure;
use crate::probe::boot_time;
use crate::roots::SysPaths;
use crate::trace::events::{CaptureControl, TraceCapture};
use crate::trace::stream::{RequestBatch, TraceDetail, TraceScope, follow_requests};

/// Traces the requests of a device.
pub(super) struct RequestFeed {
    /// The requests that were traced. Dropped before the capture, whose thread may be blocked on the full
    /// queue.
    pub(super) batches: Receiver<RequestBatch>,
    capture: TraceCapture,
    /// Name of the drive.
    pub(super) drive: String,
    /// When it began, on the boot clock.
    pub(super) start_ns: u64,
}

impl RequestFeed {
    /// Starts tracing the device of this name. A queue of so many batches that is not emptied as fast as
    /// the drive works fills up: next the kernel's buffer does, and the events that it loses are counted.
    pub(super) fn start(device: &str, queued_batches: usize) -> Result<Self, CommandFailure> {
        let roots = SysPaths::default();
        let scope = TraceScope::of_device(&roots, device).map_err(|error| {
            let mut failure = CommandFailure::from(error);
            let nearest = device_names::did_you_mean(&roots, device);
            failure.details.splice(0..0, nearest);
            failure
        })?;
        let (sender, batches) = sync_channel(queued_batches);
        let drive = scope.drive_name.clone();
        let start_ns = u64::try_from(boot_time().as_nanos()).unwrap_or(0);
        let capture = follow_requests(&roots, scope, TraceDetail::Full, move |batch| {
            // The receiver is gone once the command has ended.
            let _ = sender.send(batch);
            CaptureControl::Continue
        })?;
        Ok(Self {
            batches,
            capture,
            drive,
            start_ns,
        })
    }

    /// Ends the capture, and passes on the requests that it still has.
    pub(super) fn stop(
        self,
        mut take: impl FnMut(&RequestBatch) -> Result<(), CommandFailure>,
    ) -> Result<(), CommandFailure> {
        let Self {
            batches, capture, ..
        } = self;
        // Its thread must not block on a full queue: keep receiving while it stops.
        let stopper = thread::spawn(move || capture.stop());
        batches.iter().try_for_each(|batch| take(&batch))?;
        // The thread ended with the capture, whose panic has been reported.
        let _ = stopper.join();
        Ok(())
    }
}
