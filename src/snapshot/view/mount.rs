//! View of a mounted file system.

use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;

pub use crate::probe::btrfs::BtrfsErrors as MountErrors;
pub use crate::probe::mounts::NoMountCounters as NoMountValues;

/// A mounted file system over the interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MountView {
    /// Where it is mounted; the first of several places.
    pub mount_point: SafeText,
    /// What is mounted: a device, or server and path.
    pub source: SafeText,
    /// Type of the file system.
    pub file_system: SafeText,
    /// Version of the protocol, of NFS.
    pub version: Option<SafeText>,
    /// Block device that it is on, of an overlay that of its upper directory.
    pub device: Option<SafeText>,
    /// Listed mounts on that device, this one included.
    pub mounts_on_device: Option<u64>,
    /// Its size; `None` where a server would have to be asked.
    pub size_bytes: Option<u64>,
    /// Bytes available to unprivileged users; `None` as `size_bytes`.
    pub available_bytes: Option<u64>,
    /// Bytes read per second: from the server; from the block device, by all that is on it; of a ZFS dataset
    /// those that programs have read.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second, as `read_bytes_per_s`.
    pub write_bytes_per_s: Option<f64>,
    /// Requests per second: to the server; to the block device; of a ZFS dataset read() and write() calls.
    pub requests_per_s: Option<f64>,
    /// Requests of NFS that were sent again, per second.
    pub retransmissions_per_s: Option<f64>,
    /// Requests of NFS that were not answered in time, per second.
    pub timeouts_per_s: Option<f64>,
    /// Mean time that a request of NFS waited before it was sent.
    pub queue_ns: Option<f64>,
    /// Mean time from sending a request of NFS to its answer: network and server.
    pub round_trip_ns: Option<f64>,
    /// Mean time from the beginning of a request of NFS to its end.
    pub execution_ns: Option<f64>,
    /// Requests that the process behind a FUSE mount has not answered; its owner and root may read
    /// it.
    pub waiting: Option<u64>,
    /// Error counters of the devices of a btrfs since they were last reset.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    pub errors: Vec<MountErrors>,
    /// Why it has no counters of its own.
    pub no_values: Option<NoMountValues>,
}

impl MountView {
    /// The reason for which it has no rates at all.
    #[must_use]
    pub fn without_rates(&self) -> Option<NoMountValues> {
        let has_device_rates =
            self.no_values == Some(NoMountValues::BlockDevice) && self.device.is_some();
        self.no_values.filter(|_| !has_device_rates)
    }

    /// Its block device and the number of mounts on it, where its rates are those of a device that
    /// several share.
    #[must_use]
    pub fn shared_device(&self) -> Option<(&SafeText, u64)> {
        let mounts = self.mounts_on_device.filter(|mounts| *mounts > 1)?;
        let device = self.device.as_ref()?;
        (self.no_values == Some(NoMountValues::BlockDevice)).then_some((device, mounts))
    }
}
