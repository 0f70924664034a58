//! Tuning advice for a drive: each item has a reason and the exact command. The program never runs
//! these commands itself.

use serde::Serialize;

use crate::drive::identity::{BlockDevice, DriveKind};
use crate::files::shell;
use crate::probe::file_systems::MountedFileSystem;
use crate::roots;

/// One item of tuning advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TuningAdvice {
    /// Identifier for scripts: `misaligned-partition`, `scheduler`, `read-ahead`, `access-time`,
    /// `loop-direct-io`.
    pub code: &'static str,
    /// What was observed and what it costs.
    pub reason: String,
    /// The command that changes the setting, or that shows it if no single command can change it.
    pub command: String,
}

/// The load observed on a drive, as means over an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ObservedLoad {
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Mean size of the reads in bytes.
    pub read_request_bytes: f64,
}

/// Sequential read throughput below which no change is advised, bytes per second.
const MIN_SEQUENTIAL_BYTES_PER_S: f64 = 10e6;
/// Read-ahead that needs no increase, in KiB.
const SUFFICIENT_READ_AHEAD_KIB: u32 = 1024;
/// Recommended read-ahead, in KiB.
const RECOMMENDED_READ_AHEAD_KIB: u32 = 4096;
/// The read-ahead window limits the request size if the mean request is this fraction of it. Larger requests
/// are not those of read-ahead.
const READ_AHEAD_LIMITED_FRACTION: std::ops::RangeInclusive<f64> = 0.75..=1.1;

/// All tuning advice for a drive; `load` is the observed load, if known.
#[must_use]
pub fn tuning_advice(
    drive: &BlockDevice,
    file_systems: &[MountedFileSystem],
    load: Option<ObservedLoad>,
) -> Vec<TuningAdvice> {
    let mut advice: Vec<TuningAdvice> = [
        misaligned_partition_advice(drive),
        scheduler_advice(drive),
        load.and_then(|load| read_ahead_advice(drive, load)),
        loop_direct_io_advice(drive),
    ]
    .into_iter()
    .flatten()
    .collect();
    let own = file_systems
        .iter()
        .filter(|file_system| file_system.block_device == drive.number);
    advice.extend(own.filter_map(access_time_advice));
    advice
}

/// A write to a misaligned partition covers parts of two physical blocks. The drive must read both
/// first.
fn misaligned_partition_advice(drive: &BlockDevice) -> Option<TuningAdvice> {
    if drive.aligned != Some(false) {
        return None;
    }
    let physical = drive.physical_block_bytes?;
    let start = drive.details.start_bytes?;
    let disk = drive.name.trim_end_matches(|it: char| it.is_ascii_digit());
    let number = &drive.name[disk.len()..];
    let parent = drive.parent.as_deref()?;
    Some(TuningAdvice {
        code: "misaligned-partition",
        reason: format!(
            "it starts at byte {start}, not at a multiple of the physical block size of {physical} bytes: every write reads two blocks first; save the data, and create the partition again at a multiple of 1 MiB"
        ),
        command: shell::command_line([
            // Without `--script` it asks whether to repair a table, and the next line pasted answers.
            "parted",
            "--script",
            &roots::device_node(parent)?,
            "align-check",
            "minimal",
            number,
        ])?,
    })
}

/// Kernel Documentation/block/: the schedulers order requests for a disk with one set of heads. On
/// a fast, parallel drive they only add waiting time.
fn scheduler_advice(drive: &BlockDevice) -> Option<TuningAdvice> {
    let now = drive.scheduler.as_deref()?;
    let virtual_disk = matches!(drive.transport.as_deref(), Some("virtio" | "xen" | "nbd"));
    let (wanted, reason) = match (drive.kind, drive.rotational?) {
        (DriveKind::Loop, _) if now != "none" => {
            ("none", "the underlying drive sorts the requests again")
        }
        (DriveKind::Disk, true) if now == "none" && !virtual_disk => (
            "mq-deadline",
            "a rotational disk completes sorted requests faster, and reads do not starve behind writes",
        ),
        (DriveKind::Disk, false) if drive.transport.as_deref() == Some("nvme") && now != "none" => {
            (
                "none",
                "the drive has hardware queues and gains nothing from sorting; the scheduler costs CPU time per request",
            )
        }
        (DriveKind::Disk, false) if now == "bfq" => (
            "mq-deadline",
            "the drive does not rotate: bfq's CPU time per request limits the IOPS",
        ),
        _ => return None,
    };
    let offered = drive.details.schedulers.iter().any(|name| name == wanted);
    let setting = roots::device_directory(&drive.name)? + "/queue/scheduler";
    let command = format!("echo {wanted} > {}", shell::quote_word(setting)?);
    offered.then(|| TuningAdvice {
        code: "scheduler",
        reason: format!("scheduler {now}: {reason}"),
        command,
    })
}

/// A buffered sequential read requests at most one read-ahead window at a time (blockdev(8),
/// `--setra`).
fn read_ahead_advice(drive: &BlockDevice, load: ObservedLoad) -> Option<TuningAdvice> {
    let window = drive.read_ahead_kib.filter(|kib| *kib > 0)?;
    let fraction = load.read_request_bytes / 1024.0 / f64::from(window);
    let sequential = READ_AHEAD_LIMITED_FRACTION.contains(&fraction);
    // A partition has the limit of its drive. A request never exceeds the drive's maximum request
    // size.
    let could_grow = drive.max_request_kib.is_none_or(|most| most > window);
    let whole = drive.kind != DriveKind::Partition;
    if !(sequential
        && could_grow
        && whole
        && window < SUFFICIENT_READ_AHEAD_KIB
        && load.read_bytes_per_s >= MIN_SEQUENTIAL_BYTES_PER_S)
    {
        return None;
    }
    Some(TuningAdvice {
        code: "read-ahead",
        reason: format!(
            "sequential reads run at {} in requests of {}, the maximum for a read-ahead of {window} KiB: a larger one keeps the drive streaming",
            crate::units::format_throughput(load.read_bytes_per_s),
            crate::units::format_block_size((load.read_request_bytes / 1024.0).round() * 1024.0),
        ),
        command: shell::command_line([
            "blockdev",
            "--setra",
            // blockdev counts sectors of 512 bytes.
            &(RECOMMENDED_READ_AHEAD_KIB * 2).to_string(),
            &roots::device_node(&drive.name)?,
        ])?,
    })
}

/// losetup(8), `--direct-io`: without it the page cache holds all data twice.
fn loop_direct_io_advice(drive: &BlockDevice) -> Option<TuningAdvice> {
    let wanted = drive.kind == DriveKind::Loop
        && drive.backing_file.is_some()
        && drive.details.direct_io == Some(false);
    let node = roots::device_node(&drive.name)?;
    let command = shell::command_line(["losetup", "--direct-io=on", &node])?;
    wanted.then(|| TuningAdvice {
        code: "loop-direct-io",
        reason: "the backing file is accessed through the page cache: data is cached twice, and a flush takes longer"
            .to_owned(),
        command,
    })
}

/// mount(8), `relatime`.
fn access_time_advice(file_system: &MountedFileSystem) -> Option<TuningAdvice> {
    file_system.has_strictatime().then(|| TuningAdvice {
        code: "access-time",
        reason: format!(
            "{} on {} records the time of every access: reads cause writes",
            file_system.kind, file_system.mount_point
        ),
        command: relatime_command(file_system).unwrap_or_else(|| {
            "findmnt --real --list --output TARGET,OPTIONS -O norelatime,nonoatime,rw | cat -v"
                .to_owned()
        }),
    })
}

/// Remounts a file system with the options that it has now: by itself, mount(8) takes those of
/// /etc/fstab, which may lack `nosuid`, or contain `strictatime`. Only this mount (`bind`): otherwise an
/// option of it would become one of the file system, and of its other mounts. `None` where another file
/// system is mounted over it, which the command would remount.
fn relatime_command(file_system: &MountedFileSystem) -> Option<String> {
    let mount_point = file_system.path.as_ref()?.as_os_str();
    let remount = [
        "mount",
        "--options-source",
        "mtab",
        "-o",
        "remount,bind,relatime",
    ];
    let words = remount.map(str::as_bytes).into_iter();
    shell::command_line(words.chain([mount_point.as_encoded_bytes()]))
}

#[cfg(test)]
mod tests;
