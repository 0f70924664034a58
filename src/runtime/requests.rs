//! Single requests of a device: the probe's events go through the model's matcher.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::drive::identity;
use crate::drive::mounts::split_number;
use crate::model::requests::{Gaps, Matcher, Request};
use crate::probe::trace::event::Number;
use crate::probe::trace::{Batch, Capture, Settings, Then, TraceError};
use crate::roots::Roots;

/// Bytes of a sector in /sys and in the events, whatever the device's own sectors are.
const SECTOR: u64 = 512;

/// Which requests are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The device as the kernel calls it.
    pub name: String,
    /// The drive under which requests are told: the device itself, or what it is a part of.
    pub drive: Number,
    /// That drive's name.
    pub drive_name: String,
    /// The drive and its partitions.
    devices: Vec<Number>,
    /// Of a partition, its sectors on the drive.
    sectors: Option<Range<u64>>,
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

impl Scope {
    /// The requests of a device: a path that leads to it, or its name.
    ///
    /// # Errors
    /// When there is no such block device.
    pub fn of(roots: &Roots, device: &str) -> Result<Self, NoDevice> {
        let by_path = |path: &Path| {
            let about = std::fs::metadata(path).ok()?;
            let number = split_number(about.rdev());
            about.file_type().is_block_device().then_some(number)
        };
        let missing = || NoDevice {
            name: device.to_owned(),
        };
        let found = by_path(Path::new(device))
            .and_then(|number| identity::by_number(roots, number))
            .or_else(|| identity::read(roots, device))
            .ok_or_else(missing)?;
        let drive = found
            .parent
            .as_deref()
            .and_then(|parent| identity::read(roots, parent));
        let sectors = drive.as_ref().and_then(|_| {
            let start = roots
                .sys
                .join("class/block")
                .join(&found.name)
                .join("start");
            let start: u64 = std::fs::read_to_string(start).ok()?.trim().parse().ok()?;
            Some(start..start + found.size_bytes / SECTOR)
        });
        let whole = drive.as_ref().unwrap_or(&found);
        let parts = identity::list(roots)
            .into_iter()
            .filter(|one| one.parent.as_deref() == Some(&whole.name))
            .map(|one| one.number);
        Ok(Self {
            drive: whole.number,
            drive_name: whole.name.clone(),
            devices: std::iter::once(whole.number).chain(parts).collect(),
            sectors,
            name: found.name,
        })
    }

    /// Whether a request is one of those.
    #[must_use]
    pub fn includes(&self, request: &Request) -> bool {
        self.sectors
            .as_ref()
            .is_none_or(|sectors| sectors.contains(&request.sector))
    }

    fn drives(&self) -> HashMap<Number, Number> {
        self.devices
            .iter()
            .map(|device| (*device, self.drive))
            .collect()
    }

    /// Names of the devices in it by number.
    #[must_use]
    pub fn names(&self) -> BTreeMap<Number, String> {
        BTreeMap::from([(self.drive, self.drive_name.clone())])
    }
}

/// Requests that were completed since the last time, and how things stand.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// In the order of their completion.
    pub requests: Vec<Request>,
    /// Events that the kernel lost since the beginning.
    pub lost: u64,
    /// What could not be put together.
    pub gaps: Gaps,
    /// Requests that are not complete.
    pub under_way: u64,
    /// When the oldest of those under way was queued, where only the queue and the drive are told
    /// apart.
    pub oldest_queued: Option<u64>,
    /// Since when everything was told, on the trace's clock: the beginning, or the end of a rest.
    pub since: u64,
    /// Up to when everything was told, on the trace's clock (`CLOCK_BOOTTIME`, nanoseconds).
    pub until: u64,
    /// Why nothing follows, where it was not stopped from here.
    pub ended: Option<String>,
}

/// How much is to be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Every stage, and whom writes are to be charged to.
    Full,
    /// Only the kernel's queue and the drive: costs less.
    Coarse,
}

/// Follows the requests of a device until the capture is stopped or dropped. `sink` runs on the
/// capture's thread, as [`Capture::start`] says.
///
/// # Errors
/// When requests cannot be followed here, and why.
pub fn follow(
    roots: &Roots,
    scope: Scope,
    detail: Detail,
    mut sink: impl FnMut(Told) -> Then + Send + 'static,
) -> Result<Capture, TraceError> {
    let settings = Settings {
        devices: scope.devices.clone(),
        coarse: detail == Detail::Coarse,
    };
    let mut matcher = Matcher::new(scope.drives());
    Capture::start(roots, &settings, move |batch: Batch<'_>| {
        let mut requests = Vec::new();
        for event in batch.events {
            matcher.feed(event, |request| {
                if scope.includes(&request) {
                    requests.push(request);
                }
            });
        }
        sink(Told {
            requests,
            lost: batch.lost,
            gaps: matcher.gaps(),
            under_way: matcher.under_way() as u64,
            oldest_queued: matcher.oldest_queued().filter(|_| detail == Detail::Coarse),
            since: batch.since,
            until: batch.until,
            ended: batch
                .ended
                .map(|error| format!("the kernel has ended the trace: {error}")),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_named() {
        let error = Scope::of(&Roots::default(), "/etc/passwd").unwrap_err();
        assert_eq!(error.to_string(), "/etc/passwd is no block device");
        assert!(Scope::of(&Roots::default(), "no-such-device").is_err());
        assert!(Scope::of(&Roots::default(), "").is_err());
    }
}
