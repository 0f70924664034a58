//! Traces requests: passes the events of a capture through the matcher.

use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use crate::drive::identity::{self, BlockDevice};
use crate::drive::mounts::split_device_number;
use crate::roots::SysPaths;
pub use crate::trace::events::TraceDetail;
use crate::trace::events::{CaptureControl, CaptureStatus, TraceCapture, TraceError};
use crate::trace::partitions::sectors_of;
use crate::trace::requests::{DeviceNumber, MatchErrors, RequestMatcher, TracedRequest};

/// The set of requests to trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceScope {
    /// The drive that the requests are reported for: the device itself, or the one that it is a
    /// partition of.
    drive: DeviceNumber,
    /// That drive's name.
    pub drive_name: String,
    /// The drive and its partitions.
    devices: Vec<DeviceNumber>,
    /// For a partition, its sectors on the drive.
    sector_range: Option<Range<u64>>,
}

/// The device does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0} is no block device")]
pub struct NoDevice(String);

impl NoDevice {
    /// Advice for the user.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        "see `diskscope devices` for the drives that are here"
    }
}

impl TraceScope {
    /// The requests of a device, given by path or by name.
    ///
    /// # Errors
    ///
    /// When there is no such block device.
    pub fn of_device(roots: &SysPaths, device: &str) -> Result<Self, NoDevice> {
        let status = std::fs::metadata(device).ok();
        let status = status.filter(|status| status.file_type().is_block_device());
        let number = status.map(|status| split_device_number(status.rdev()));
        let all = identity::list_block_devices(roots);
        let is_named = |one: &&BlockDevice| one.name == device || Some(one.number) == number;
        let found = all
            .iter()
            .find(is_named)
            .ok_or_else(|| NoDevice(device.to_owned()))?;
        let mut others = all.iter();
        let drive = others.find(|one| found.parent.as_ref() == Some(&one.name));
        let whole = drive.unwrap_or(found);
        let is_of_drive = |one: &&BlockDevice| {
            one.number == whole.number || one.parent.as_ref() == Some(&whole.name)
        };
        Ok(Self {
            drive: whole.number,
            drive_name: whole.name.clone(),
            devices: all
                .iter()
                .filter(is_of_drive)
                .map(|one| one.number)
                .collect(),
            sector_range: drive.map(|_| sectors_of(roots, found)),
        })
    }

    /// Whether a request belongs to the scope.
    fn includes(&self, request: &TracedRequest) -> bool {
        let range = self.sector_range.as_ref();
        range.is_none_or(|sectors| sectors.contains(&request.sector))
    }
}

/// Requests that were completed since the previous batch, and the status of the trace.
#[derive(Debug, Clone, Default)]
pub struct RequestBatch {
    /// In order of completion.
    pub requests: Vec<TracedRequest>,
    /// Status of the capture.
    pub status: CaptureStatus,
    /// Events that could not be matched.
    pub match_errors: MatchErrors,
    /// Requests in flight.
    pub in_flight: u64,
    /// Queue time of the oldest request in flight; only at the level of detail that separates Q2D
    /// and D2C alone.
    pub oldest_queued: Option<u64>,
}

/// Traces the requests of a device until the capture is stopped or dropped. `sink` runs on the
/// capture's thread, see [`TraceCapture::start`].
///
/// # Errors
///
/// When requests cannot be traced, and why.
pub fn follow_requests(
    roots: &SysPaths,
    scope: TraceScope,
    detail: TraceDetail,
    mut sink: impl FnMut(RequestBatch) -> CaptureControl + Send + 'static,
) -> Result<TraceCapture, TraceError> {
    let drives = scope.devices.iter().map(|device| (*device, scope.drive));
    let (drives, devices) = (drives.collect(), scope.devices.clone());
    match_requests(roots, &devices, detail, drives, move |mut batch| {
        batch.requests.retain(|request| scope.includes(request));
        sink(batch)
    })
}

/// The same for any devices; `drives` has the drive of each partition.
pub(super) fn match_requests(
    roots: &SysPaths,
    devices: &[DeviceNumber],
    detail: TraceDetail,
    drives: HashMap<DeviceNumber, DeviceNumber>,
    mut sink: impl FnMut(RequestBatch) -> CaptureControl + Send + 'static,
) -> Result<TraceCapture, TraceError> {
    let mut matcher = RequestMatcher::new(drives);
    let needs_oldest = detail == TraceDetail::QueueAndDrive;
    TraceCapture::start(roots, devices, detail, move |events, status| {
        let mut requests = Vec::new();
        for event in events {
            matcher.add_event(event, |request| requests.push(request));
        }
        sink(RequestBatch {
            requests,
            status: status.clone(),
            match_errors: matcher.gaps(),
            in_flight: matcher.in_flight() as u64,
            oldest_queued: needs_oldest.then(|| matcher.oldest_queued()).flatten(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_scope_of_non_device_is_an_error() {
        let error = TraceScope::of_device(&SysPaths::default(), "/etc/passwd").unwrap_err();
        assert_eq!(error.to_string(), "/etc/passwd is no block device");
        assert!(TraceScope::of_device(&SysPaths::default(), "no-such-device").is_err());
        assert!(TraceScope::of_device(&SysPaths::default(), "").is_err());
    }
}
