//! Mounted file systems: nfsiostat, FUSE, ZFS, btrfs, and those on block devices.

use super::{Column, Entity, Value, field, sum, throughput};
use crate::snapshot::view::{MountErrors, MountView, NoMountValues};
use crate::units::Unit;

type Mount = Column<MountView>;

impl Entity for MountView {
    const NAME: &'static str = "mount";
    const COLUMNS: &'static [Mount] = COLUMNS;
    type Counters = ();
}

#[rustfmt::skip]
const COLUMNS: &[Mount] = &[
    field!(Mount, mount_point, "Mounted at", (16, 40, 0)),
    Mount::text("file_system", "type", |it| file_system_name(it).into(), (8, 4, 0)),
    field!(Mount, read_bytes_per_s, "rMB/s", BytesPerSecond, rate).shown(6, 0)
        .help("bytes read: from the server; from the block device, by all that is on it; of a ZFS dataset by programs"),
    field!(Mount, write_bytes_per_s, "wMB/s", BytesPerSecond, rate).shown(6, 0).help("bytes written, as those read"),
    field!(Mount, requests_per_s, "req/s", PerSecond, rate).shown(6, 0)
        .help("requests to the server or the block device; of a ZFS dataset read() and write() calls"),
    field!(Mount, round_trip_ns, "rtt ms", Nanoseconds, own).shown(6, 0)
        .help("mean time from sending a request of NFS to its answer"),
    field!(Mount, execution_ns, "exe ms", Nanoseconds, own).shown(6, 0)
        .help("mean time from the beginning of a request of NFS to its end"),
    field!(Mount, retransmissions_per_s, "rexm/s", PerSecond, own).shown(6, 4)
        .help("requests of NFS that were sent again"),
    field!(Mount, waiting, "wait", Count, own).shown(5, 0)
        .help("requests that the process behind a FUSE mount has not answered; its owner and root may read it"),
    field!(Mount, queue_ns, "queue ms", Nanoseconds, own)
        .help("mean time that a request of NFS waited before it was sent"),
    field!(Mount, timeouts_per_s, "timeo/s", PerSecond, own).help("requests of NFS that were not answered in time"),
    field!(Mount, size_bytes, "size", Bytes).help("size; unknown where a server would have to be asked"),
    field!(Mount, available_bytes, "avail", Bytes).shown(8, 3).also(&["free_bytes"])
        .help("free space for unprivileged users"),
    Mount::text("source", "source", source, (10, 40, 1)),
    Mount::new("available", "free%", Unit::Ratio, |it| available_share(it).into()).also(&["free"]).derived()
        .help("the same as a share of the size"),
    throughput!(Mount),
];

/// A rate, which may be that of the block device.
fn rate(mount: &MountView, value: Option<f64>) -> Value {
    Value::unless(mount.without_rates().is_some(), value)
}

/// A value that only a file system with counters of its own has.
fn own(mount: &MountView, value: impl Into<Value>) -> Value {
    Value::unless(mount.no_values.is_some(), value)
}

fn source(mount: &MountView) -> Value {
    match (mount.no_values, mount.shared_device()) {
        (Some(_), Some((device, mounts))) => format!("on {device}, of {mounts} mounts").into(),
        (Some(reason), None) => no_values_text(mount, reason).into(),
        (None, _) => (&mount.source).into(),
    }
}

fn available_share(mount: &MountView) -> Option<f64> {
    let size = mount.size_bytes.filter(|size| *size > 0)?;
    Some(mount.available_bytes? as f64 / size as f64)
}

/// The type of a file system, with the version of NFS.
#[must_use]
pub fn file_system_name(mount: &MountView) -> String {
    match &mount.version {
        Some(version) => format!("nfs {version}"),
        None => mount.file_system.to_string(),
    }
}

/// Why nothing is counted for a mount.
#[must_use]
pub fn no_values_text(mount: &MountView, reason: NoMountValues) -> String {
    match (reason, &mount.device) {
        (NoMountValues::BlockDevice, Some(device)) => format!("on {device}"),
        (NoMountValues::BlockDevice, None) => "on a device that is not visible".to_owned(),
        (NoMountValues::FileSystem, _) => "the kernel has no counters for it".to_owned(),
        (NoMountValues::Unreadable, _) => "its counters cannot be read".to_owned(),
        (NoMountValues::NoFusectl, _) => {
            "no counters: fusectl is not mounted at /sys/fs/fuse/connections".to_owned()
        }
    }
}

/// The error counters of a device of a btrfs.
#[must_use]
pub fn mount_error_text(errors: &MountErrors) -> String {
    format!(
        "  {} errors: write {}, read {}, flush {}, corruption {}, generation {}",
        errors.device,
        errors.write,
        errors.read,
        errors.flush,
        errors.corruption,
        errors.generation
    )
}
