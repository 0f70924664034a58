//! Mounted file systems: nfsiostat, FUSE, ZFS, btrfs, and those on block devices.

use super::{Column, Entity, Value, count, sum};
use crate::snapshot::view::{MountErrors, MountView, NoMountValues};
use crate::units::Unit;

type Mount = Column<MountView>;

impl Entity for MountView {
    const NAME: &'static str = "mount";
    const COLUMNS: &'static [Mount] = COLUMNS;
    type Counters = ();
}

const COLUMNS: &[Mount] = &[
    Mount::text("mount_point", "Mounted at", |it| (&it.mount_point).into(), (16, 40, 0)),
    Mount::text("file_system", "type", |it| file_system_name(it).into(), (8, 4, 0)),
    Mount::new("read_bytes_per_s", "rMB/s", Unit::BytesPerSecond, |it| {
        rate(it, it.read_bytes_per_s)
    })
    .help("bytes read: from the server; from the block device, by all that is on it; of a ZFS dataset by programs")
    .shown(6, 0),
    Mount::new("write_bytes_per_s", "wMB/s", Unit::BytesPerSecond, |it| {
        rate(it, it.write_bytes_per_s)
    })
    .help("bytes written, as those read")
    .shown(6, 0),
    Mount::new("requests_per_s", "req/s", Unit::PerSecond, |it| {
        rate(it, it.requests_per_s)
    })
    .help("requests to the server or the block device; of a ZFS dataset read() and write() calls")
    .shown(6, 0),
    Mount::new("round_trip_ns", "rtt ms", Unit::Nanoseconds, |it| {
        own(it, it.round_trip_ns)
    })
    .help("mean time from sending a request of NFS to its answer")
    .shown(6, 0),
    Mount::new("execution_ns", "exe ms", Unit::Nanoseconds, |it| {
        own(it, it.execution_ns)
    })
    .help("mean time from the beginning of a request of NFS to its end")
    .shown(6, 0),
    Mount::new("retransmissions_per_s", "rexm/s", Unit::PerSecond, |it| {
        own(it, it.retransmissions_per_s)
    })
    .help("requests of NFS that were sent again")
    .shown(6, 4),
    Mount::new("waiting", "wait", Unit::Count, |it| {
        own(it, it.waiting.map(|count| count as f64))
    })
    .help("requests that the process behind a FUSE mount has not answered; its owner and root may read it")
    .shown(5, 0),
    Mount::new("queue_ns", "queue ms", Unit::Nanoseconds, |it| own(it, it.queue_ns))
        .help("mean time that a request of NFS waited before it was sent"),
    Mount::new("timeouts_per_s", "timeo/s", Unit::PerSecond, |it| {
        own(it, it.timeouts_per_s)
    })
    .help("requests of NFS that were not answered in time"),
    Mount::new("size_bytes", "size", Unit::Bytes, |it| count(it.size_bytes))
        .help("size; unknown where a server would have to be asked"),
    Mount::new("available_bytes", "avail", Unit::Bytes, |it| count(it.available_bytes))
        .help("free space for unprivileged users")
        .also(&["free_bytes"])
    .shown(8, 3),
    Mount::text("source", "source", source, (10, 40, 1)),
    Mount::new("available", "free%", Unit::Ratio, |it| available_share(it).into())
        .help("the same as a share of the size")
        .also(&["free"])
        .derived(),
    Mount::new("bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
        sum(it.read_bytes_per_s, it.write_bytes_per_s).into()
    })
    .help("bytes read and written")
    .also(&["throughput"])
    .derived(),
];

/// A rate, which may be that of the block device.
fn rate(mount: &MountView, value: Option<f64>) -> Value {
    match mount.without_rates() {
        Some(_) => Value::Absent,
        None => value.into(),
    }
}

/// A value that only a file system with counters of its own has.
fn own(mount: &MountView, value: Option<f64>) -> Value {
    match mount.no_values {
        Some(_) => Value::Absent,
        None => value.into(),
    }
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
