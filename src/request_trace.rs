//! Single requests of a device: the probe's events go through the model's matcher.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::drive::identity;
use crate::drive::mounts::split_device_number;
use crate::model::requests::{MatchErrors, RequestMatcher, TracedRequest};
use crate::probe::trace::event::DeviceNumber;
use crate::probe::trace::{CaptureControl, CaptureSettings, EventBatch, TraceCapture, TraceError};
use crate::roots::SysPaths;

/// Bytes of a sector in /sys and in the events, whatever the device's own sectors are.
const SECTOR_BYTES: u64 = 512;

/// Which requests are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceScope {
    /// The device as the kernel calls it.
    pub name: String,
    /// The drive under which requests are told: the device itself, or what it is a part of.
    pub drive: DeviceNumber,
    /// That drive's name.
    pub drive_name: String,
    /// The drive and its partitions.
    devices: Vec<DeviceNumber>,
    /// Of a partition, its sectors on the drive.
    sector_range: Option<Range<u64>>,
}

/// There is no such device.
#[derive(Debug, thiserror::Error)]
#[error("{name} is no block device")]
pub struct NoDevice {
    /// What was asked for.
    name: String,
}

impl NoDevice {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        "see `diskscope devices` for the drives that are here"
    }
}

impl TraceScope {
    /// The requests of a device: a path that leads to it, or its name.
    ///
    /// # Errors
    /// When there is no such block device.
    pub fn of_device(roots: &SysPaths, device: &str) -> Result<Self, NoDevice> {
        let by_path = |path: &Path| {
            let about = std::fs::metadata(path).ok()?;
            let number = split_device_number(about.rdev());
            about.file_type().is_block_device().then_some(number)
        };
        let missing = || NoDevice {
            name: device.to_owned(),
        };
        let found = by_path(Path::new(device))
            .and_then(|number| identity::block_device_by_number(roots, number))
            .or_else(|| identity::read_block_device(roots, device))
            .ok_or_else(missing)?;
        let drive = found
            .parent
            .as_deref()
            .and_then(|parent| identity::read_block_device(roots, parent));
        let sectors = drive.as_ref().and_then(|_| {
            let start = roots
                .sys
                .join("class/block")
                .join(&found.name)
                .join("start");
            let start: u64 = std::fs::read_to_string(start).ok()?.trim().parse().ok()?;
            Some(start..start + found.size_bytes / SECTOR_BYTES)
        });
        let whole = drive.as_ref().unwrap_or(&found);
        let parts = identity::list_block_devices(roots)
            .into_iter()
            .filter(|one| one.parent.as_deref() == Some(&whole.name))
            .map(|one| one.number);
        Ok(Self {
            drive: whole.number,
            drive_name: whole.name.clone(),
            devices: std::iter::once(whole.number).chain(parts).collect(),
            sector_range: sectors,
            name: found.name,
        })
    }

    /// Whether a request is one of those.
    #[must_use]
    pub fn includes(&self, request: &TracedRequest) -> bool {
        self.sector_range
            .as_ref()
            .is_none_or(|sectors| sectors.contains(&request.sector))
    }

    fn drive_by_device(&self) -> HashMap<DeviceNumber, DeviceNumber> {
        self.devices
            .iter()
            .map(|device| (*device, self.drive))
            .collect()
    }

    /// Names of the devices in it by number.
    #[must_use]
    pub fn device_names(&self) -> BTreeMap<DeviceNumber, String> {
        BTreeMap::from([(self.drive, self.drive_name.clone())])
    }
}

/// Requests that were completed since the last time, and how things stand.
#[derive(Debug, Clone, Default)]
pub struct RequestBatch {
    /// In the order of their completion.
    pub requests: Vec<TracedRequest>,
    /// Events that the kernel lost since the beginning.
    pub lost_events: u64,
    /// What could not be put together.
    pub match_errors: MatchErrors,
    /// Requests that are not complete.
    pub in_flight: u64,
    /// When the oldest of those in flight was queued, where only the queue and the drive are told
    /// apart.
    pub oldest_queued: Option<u64>,
    /// Since when everything was told, on the trace's clock: the beginning, or the end of a rest.
    pub complete_since: u64,
    /// Up to when everything was told, on the trace's clock (`CLOCK_BOOTTIME`, nanoseconds).
    pub complete_until: u64,
    /// Why nothing follows, where it was not stopped from here.
    pub end_reason: Option<String>,
}

/// How much is to be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceDetail {
    /// Every stage, and whom writes are to be charged to.
    Full,
    /// Only the kernel's queue and the drive: costs less.
    QueueAndDrive,
}

/// Follows the requests of a device until the capture is stopped or dropped. `sink` runs on the
/// capture's thread, as [`Capture::start`] says.
///
/// # Errors
/// When requests cannot be followed here, and why.
pub fn follow_requests(
    roots: &SysPaths,
    scope: TraceScope,
    detail: TraceDetail,
    mut sink: impl FnMut(RequestBatch) -> CaptureControl + Send + 'static,
) -> Result<TraceCapture, TraceError> {
    let settings = CaptureSettings {
        devices: scope.devices.clone(),
        queue_and_drive_only: detail == TraceDetail::QueueAndDrive,
    };
    let mut matcher = RequestMatcher::new(scope.drive_by_device());
    TraceCapture::start(roots, &settings, move |batch: EventBatch<'_>| {
        let mut requests = Vec::new();
        for event in batch.events {
            matcher.add_event(event, |request| {
                if scope.includes(&request) {
                    requests.push(request);
                }
            });
        }
        sink(RequestBatch {
            requests,
            lost_events: batch.lost_events,
            match_errors: matcher.gaps(),
            in_flight: matcher.in_flight() as u64,
            oldest_queued: matcher
                .oldest_queued()
                .filter(|_| detail == TraceDetail::QueueAndDrive),
            complete_since: batch.complete_since,
            complete_until: batch.complete_until,
            end_reason: batch
                .end_error
                .map(|error| format!("the kernel has ended the trace: {error}")),
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
