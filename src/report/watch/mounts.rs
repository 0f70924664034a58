//! The table of mounted file systems.

use std::fmt::Write as _;

use super::columns::{
    DEFAULT_TERMINAL_WIDTH, display_width, fit_to_width, format_known, format_megabytes_per_s,
    keep_end,
};
use crate::snapshot::view::{MountErrors, MountView, NoMountValues};
use crate::units::format_three_digits;

/// A line for each mount, and one for each device of a btrfs with errors; nothing where they were
/// not read.
pub(super) fn append_mounts(text: &mut String, mounts: Option<&[MountView]>) {
    let Some(mounts) = mounts else {
        return;
    };
    let _ = writeln!(
        text,
        "{:<8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>5}  MOUNTED AT",
        "FS", "rMB/s", "wMB/s", "req/s", "rtt ms", "exe ms", "rexm/s", "wait"
    );
    for mount in mounts {
        // Of a block device none of these exist.
        let own = |text: String| match mount.no_values {
            Some(_) => "-".to_owned(),
            None => text,
        };
        let milliseconds =
            |time: Option<f64>| own(format_known(time, |time| format_three_digits(time / 1e6)));
        let rate = |rate: Option<f64>| format_known(rate, format_three_digits);
        let start = match mount.without_rates() {
            Some(reason) => format!(
                "{} {:<52}  ",
                type_cell(mount),
                no_values_text(mount, reason)
            ),
            None => format!(
                "{} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>5}  ",
                type_cell(mount),
                format_megabytes_per_s(mount.read_bytes_per_s),
                format_megabytes_per_s(mount.write_bytes_per_s),
                rate(mount.requests_per_s),
                milliseconds(mount.round_trip_ns),
                milliseconds(mount.execution_ns),
                own(rate(mount.retransmissions_per_s)),
                own(format_known(mount.waiting, |waiting| waiting.to_string())),
            ),
        };
        let start = fit_to_width(&start, TABLE_WIDTH);
        let room = DEFAULT_TERMINAL_WIDTH - TABLE_WIDTH;
        let _ = writeln!(text, "{start}{}", keep_end(&mount.mount_point, room));
        if let Some((device, mounts)) = mount.shared_device() {
            let _ = writeln!(text, "  of {device}, which {mounts} of these mounts share");
        }
        for errors in mount.errors.iter().filter(|errors| errors.total() > 0) {
            let _ = writeln!(text, "{}", error_text(errors));
        }
    }
}

/// Columns before the mount point.
const TABLE_WIDTH: usize = 63;

fn type_cell(mount: &MountView) -> String {
    fit_to_width(&file_system_name(mount), 8)
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
    format!("  {} {}", errors.device, error_counters(errors))
}

fn error_counters(errors: &MountErrors) -> String {
    format!(
        "errors: write {}, read {}, flush {}, corruption {}, generation {}",
        errors.write, errors.read, errors.flush, errors.corruption, errors.generation
    )
}

fn error_text(errors: &MountErrors) -> String {
    let counters = error_counters(errors);
    let start = format!("  {}", keep_end(&errors.device, 24));
    let room = DEFAULT_TERMINAL_WIDTH.saturating_sub(display_width(&start) + 1);
    format!("{start} {}", fit_to_width(&counters, room).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_have_their_values_or_say_where_they_are() {
        let mount = |mount_point: &str, file_system: &str| MountView {
            mount_point: mount_point.into(),
            file_system: file_system.into(),
            ..MountView::default()
        };
        let nfs = MountView {
            version: Some("4.2".into()),
            read_bytes_per_s: Some(1.2e6),
            write_bytes_per_s: Some(101e6),
            requests_per_s: Some(120.0),
            retransmissions_per_s: Some(0.0),
            round_trip_ns: Some(14.1e6),
            execution_ns: Some(250e6),
            ..mount("/srv/home", "nfs4")
        };
        let fuse = MountView {
            waiting: Some(3),
            ..mount("/mnt/ssh", "fuse.sshfs")
        };
        let btrfs = MountView {
            device: Some("sdb".into()),
            no_values: Some(NoMountValues::BlockDevice),
            mounts_on_device: Some(2),
            read_bytes_per_s: Some(5e6),
            write_bytes_per_s: Some(0.0),
            requests_per_s: Some(72.0),
            errors: vec![MountErrors {
                device: "/dev/sdb".into(),
                corruption: 2,
                ..MountErrors::default()
            }],
            ..mount("/srv/very/long/path/to/a/mount", "btrfs")
        };
        let shared = MountView {
            no_values: Some(NoMountValues::FileSystem),
            ..mount("/host", "virtiofs")
        };
        let mut text = String::new();
        append_mounts(&mut text, Some(&[nfs, fuse, btrfs, shared]));
        assert!(
            text.lines()
                .all(|line| display_width(line) <= DEFAULT_TERMINAL_WIDTH)
        );
        insta::assert_snapshot!(text);
        let mut nothing = String::new();
        append_mounts(&mut nothing, None);
        assert_eq!(nothing, "");
    }
}
