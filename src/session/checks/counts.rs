//! Checks that compare the benchmark's own count of requests and bytes with the kernel's.

use std::borrow::Cow;

use serde_json::json;

use super::rule::{Rule, Run, fraction};
use crate::session::document::check::Found;
use crate::session::document::{Attribution, KernelCounts, LayerRelation, OtherUser, RunState};
use crate::units;

/// Traffic below this is noise: a file system journal, a log line, a page of a program.
const MIN_BYTES: u64 = 1 << 20;
/// Below this number of requests the comparison is not significant.
const MIN_REQUESTS: u64 = 100;
/// If the device reads less than was issued by more than this fraction, a cache answered.
const CACHED_FRACTION_LIMIT: f64 = 0.02;
/// Fraction of the written bytes that may still be in the page cache at the end of the run.
const UNFLUSHED_FRACTION_LIMIT: f64 = 0.1;
/// More device requests per issued request than this mean that the kernel splits requests.
const SPLIT_RATIO_LIMIT: f64 = 1.05;
/// Fraction of the requests that may be merged with a neighbour.
const MERGED_FRACTION_LIMIT: f64 = 0.05;
/// Fraction of the drive's traffic that may belong to other processes.
const OTHER_TRAFFIC_FRACTION_LIMIT: f64 = 0.01;
/// File systems on block devices which a container, or their own device number, may hide.
const ON_HIDDEN_DEVICES: [&str; 2] = ["btrfs", "overlay"];
/// Maximum number of other processes that the sentence names.
const MAX_NAMED_USERS: usize = 4;

pub(super) const RULES: &[Rule] = &[
    Rule::invalid(
        "served-from-cache",
        "Fewer bytes were read from the device than the benchmark issued: a cache served the rest.",
        "more than 2 % of the bytes read, of at least 1 MiB, did not reach the device, the devices of the \
         file system, or (btrfs and overlay whose device is hidden) the block layer; holes of a file are \
         not counted",
        served_from_cache,
    ),
    Rule::warning(
        "still-in-memory",
        "Much of the written data had not reached the device at the end of the run: the metrics show \
             the speed of memory.",
        "more than 10 % of the bytes written, and at least 1 MiB, are missing in the device's \
                    count",
        still_in_memory,
    ),
    Rule::invalid(
        "page-cache-backed",
        "A page cache below the target served a part of the I/O: the metrics exceed what the medium can \
             do.",
        "a loop device without direct I/O: more than 2 % of the bytes read, or 10 % of the bytes \
                    written, and at least 1 MiB, did not reach the device that holds its file",
        page_cache_backed,
    ),
    Rule::note(
        "device-unknown",
        "No block device is known below the target: the kernel's counters could not be compared with \
             the issued requests.",
        "the target is not simulated and not in memory, and no block device is known for it \
                    (overlay, FUSE, network file systems)",
        device_unknown,
    ),
    Rule::warning(
        "other-users",
        "Other processes used the drive during the run: the metrics lack their share of its \
             performance.",
        "the traffic of others is more than 1 % of the benchmark's bytes, and at least 1 MiB; on \
                    a file system, which also reads and writes metadata, only traffic of known processes \
                    counts",
        other_users,
    ),
    Rule::note(
        "requests-split",
        "The kernel split requests: IOPS and latency are those of whole requests, the drive saw smaller \
             ones.",
        "the device completed more than 5 % more requests than were issued, with about the same \
                    bytes",
        requests_split,
    ),
    Rule::note(
        "requests-merged",
        "The kernel merged adjacent requests: the drive saw fewer and larger ones.",
        "more than 5 % of the requests were merged, without the page cache",
        requests_merged,
    ),
];

fn capacity(bytes: u64) -> String {
    units::format_capacity(bytes as f64)
}

/// Where bytes were counted below the page cache, and how many.
struct Counted<'a> {
    place: Cow<'a, str>,
    read_bytes: u64,
    written_bytes: u64,
}

/// The device's counters; the sum of the devices where the file system is on several; what this program
/// submitted to the block layer where the file system has a device that is not visible.
fn counted<'a>(run: &Run<'a>) -> Option<Counted<'a>> {
    if let Some(kernel) = run.kernel {
        return Some(Counted {
            place: Cow::Borrowed(&kernel.device),
            read_bytes: kernel.read_bytes,
            written_bytes: kernel.written_bytes,
        });
    }
    let layers = run.evidence.underlying.iter();
    let members: Vec<&KernelCounts> = layers
        .filter(|layer| layer.relation_to_upper == LayerRelation::FileSystem)
        .map(|layer| &layer.counts)
        .collect();
    if !members.is_empty() {
        let names: Vec<&str> = members.iter().map(|it| it.device.as_str()).collect();
        return Some(Counted {
            place: names.join(" and ").into(),
            read_bytes: members.iter().map(|it| it.read_bytes).sum(),
            written_bytes: members.iter().map(|it| it.written_bytes).sum(),
        });
    }
    let submitted = run.evidence.submitted_to_block_layer?;
    let file_system = run.target.file_system.as_deref()?;
    ON_HIDDEN_DEVICES.contains(&file_system).then_some(Counted {
        place: Cow::Borrowed("the block layer"),
        read_bytes: submitted.read_bytes,
        written_bytes: submitted.written_bytes,
    })
}

/// What a file system that stores the file compressed or encrypted has to do with missing bytes; empty
/// for another.
fn encoding(run: &Run<'_>) -> String {
    let extents = run.evidence.extents.as_ref();
    let encoded = extents.filter(|it| it.encoded_bytes > 0);
    encoded.map_or_else(String::new, |extents| {
        format!(
            "; {} of {} are stored compressed or encrypted, which saves bytes",
            capacity(extents.encoded_bytes),
            extents.file
        )
    })
}

fn served_from_cache(run: &Run<'_>) -> Option<Found> {
    let (counted, issued) = (counted(run)?, run.evidence.issued?);
    // Reads of holes in a file never reach the device.
    let allocated = run.evidence.extents.as_ref().map_or(1.0, |extents| {
        1.0 - fraction(extents.hole_bytes + extents.unwritten_bytes, extents.bytes).unwrap_or(0.0)
    });
    let issued_bytes = (issued.read_bytes as f64 * allocated) as u64;
    // Other processes may read as well: the benchmark's own reads are at most what this program
    // submitted to the block layer.
    let submitted = run.evidence.submitted_to_block_layer;
    let own = submitted.map_or(u64::MAX, |it| it.read_bytes);
    let device_bytes = counted.read_bytes.min(own);
    let missing = fraction(issued_bytes.saturating_sub(device_bytes), issued_bytes)?;
    if issued_bytes < MIN_BYTES || missing <= CACHED_FRACTION_LIMIT {
        return None;
    }
    Some(Found::new(
        format!(
            "{} were issued in {} reads, {} reached {}: {} came from a cache{}",
            capacity(issued_bytes),
            issued.reads,
            capacity(device_bytes),
            counted.place,
            units::format_percent(1.0 - device_bytes as f64 / issued_bytes as f64),
            encoding(run)
        ),
        run.advice(
            &["use --cache bypass, and a window larger than the machine's memory"],
            "use a window larger than the machine's memory",
        ),
        json!({
            "issued_bytes": issued_bytes, "reads": issued.reads, "device_bytes": device_bytes,
            "device": counted.place,
        }),
    ))
}

fn still_in_memory(run: &Run<'_>) -> Option<Found> {
    let (counted, issued) = (counted(run)?, run.evidence.issued?);
    let missing = issued.written_bytes.checked_sub(counted.written_bytes)?;
    let much =
        missing >= MIN_BYTES && fraction(missing, issued.written_bytes)? > UNFLUSHED_FRACTION_LIMIT;
    if !much || run.state == RunState::Running {
        return None;
    }
    Some(Found::new(
        format!(
            "{} were issued as writes, {} had reached {} at the end of the run{}",
            capacity(issued.written_bytes),
            capacity(counted.written_bytes),
            counted.place,
            encoding(run)
        ),
        run.advice(
            &[
                "use --cache bypass",
                "use --sync dsync",
                "write much more than the machine's memory",
            ],
            "",
        ),
        json!({
            "issued_bytes": issued.written_bytes, "device_bytes": counted.written_bytes,
            "device": counted.place,
        }),
    ))
}

/// The counters of the device that holds the backing file of a loop device.
pub(super) fn backing_device<'a>(run: &Run<'a>) -> Option<&'a KernelCounts> {
    let mut layers = run.evidence.underlying.iter();
    let backing = layers.find(|it| it.relation_to_upper == LayerRelation::BackingDevice)?;
    Some(&backing.counts)
}

/// A loop device without direct I/O, whose backing device transferred less than was issued. The writes
/// may still arrive there: they count once the run has ended.
pub(super) fn page_cache_backed(run: &Run<'_>) -> Option<Found> {
    let setup = run.evidence.drive_setup.as_ref()?;
    let issued = run.evidence.issued?;
    let counts = backing_device(run)?;
    let is_missing = |issued: u64, device: u64, limit: f64| {
        let missing = issued.saturating_sub(device);
        missing >= MIN_BYTES && fraction(missing, issued).is_some_and(|part| part > limit)
    };
    let reads = is_missing(issued.read_bytes, counts.read_bytes, CACHED_FRACTION_LIMIT);
    let written = (issued.written_bytes, counts.written_bytes);
    let writes = run.state != RunState::Running
        && is_missing(written.0, written.1, UNFLUSHED_FRACTION_LIMIT);
    if setup.direct_io != Some(false) || !(reads || writes) {
        return None;
    }
    let issued_bytes = issued.read_bytes + issued.written_bytes;
    let underlying_bytes = counts.read_bytes + counts.written_bytes;
    Some(Found::new(
        format!(
            "{} were issued, {} reached {}, which holds the backing file: the page cache served the rest, \
             and the metrics are above those of the drive",
            capacity(issued_bytes),
            capacity(underlying_bytes),
            counts.device
        ),
        "attach the file with losetup --direct-io=on, or measure the file itself",
        json!({
            "issued_bytes": issued_bytes, "underlying_device": counts.device,
            "underlying_bytes": underlying_bytes,
        }),
    ))
}

/// A real target for which the kernel keeps no counters, such as a file on overlayfs or FUSE.
fn device_unknown(run: &Run<'_>) -> Option<Found> {
    let setup = run.evidence.drive_setup.as_ref()?;
    let is_counted = counted(run).is_some() || run.target.device.is_some();
    if is_counted || setup.memory_backing.is_some() {
        return None;
    }
    let file_system = run.target.file_system.as_deref();
    Some(Found::new(
        format!(
            "no block device is known for {} (on {}): the kernel's counters could not be compared, so a \
             cache or other users of the drive would not be noticed",
            run.target.path,
            file_system.unwrap_or("an unknown file system")
        ),
        "name a directory on a file system that lies on a local block device (see `findmnt`), or the \
         block device itself",
        json!({ "target": run.target.path, "file_system": file_system }),
    ))
}

fn other_users(run: &Run<'_>) -> Option<Found> {
    let issued = run.evidence.issued?;
    let (device, read_bytes, written_bytes) = other_traffic(run)?;
    let bytes = read_bytes + written_bytes;
    let issued_bytes = issued.read_bytes + issued.written_bytes;
    if bytes < MIN_BYTES || fraction(bytes, issued_bytes)? <= OTHER_TRAFFIC_FRACTION_LIMIT {
        return None;
    }
    let sides: Vec<String> = [(read_bytes, "reads"), (written_bytes, "writes")]
        .into_iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, direction)| format!("{} of {direction}", capacity(amount)))
        .collect();
    let users = &run.evidence.other_users;
    let users = &users[..users.len().min(MAX_NAMED_USERS)];
    let names: Vec<String> = users.iter().map(user_name).collect();
    let names = if names.is_empty() {
        "; the processes have ended, or this user may not see them".to_owned()
    } else {
        format!(": {}", names.join(", "))
    };
    Some(Found::new(
        format!(
            "in addition to the benchmark's {}, {device} served {} for other processes{names}",
            capacity(issued_bytes),
            sides.join(" and "),
        ),
        "stop the other processes and repeat the run, or read the metrics as those of a shared drive",
        json!({
            "issued_bytes": issued_bytes, "device": device, "read_bytes": read_bytes,
            "written_bytes": written_bytes, "users": users,
        }),
    ))
}

/// Name, process id and traffic of another process.
fn user_name(user: &OtherUser) -> String {
    let certainty = match user.attribution {
        Attribution::TracedRequests => "",
        Attribution::HasOpenDescriptor => ", has it open",
        Attribution::AnyDrive => ", on some drive",
        Attribution::EndedChildren => ", or its ended children, on some drive",
    };
    format!(
        "{} ({}: {}{certainty})",
        user.command,
        user.pid,
        capacity(user.read_bytes + user.written_bytes)
    )
}

/// Device, bytes read and bytes written that the kernel's counters leave for other processes, on the
/// device or the partition's whole disk, or that are attributed to individual processes, whichever is
/// larger.
fn other_traffic<'a>(run: &Run<'a>) -> Option<(Cow<'a, str>, u64, u64)> {
    let submitted = run.evidence.submitted_to_block_layer?;
    let issued = run.evidence.issued?;
    let mut layers = run.evidence.underlying.iter();
    let whole_disk = layers.find(|it| it.relation_to_upper == LayerRelation::WholeDisk);
    let whole_disk = whole_disk
        .filter(|_| run.kernel.is_some())
        .map(|layer| Counted {
            place: Cow::Borrowed(&layer.counts.device),
            read_bytes: layer.counts.read_bytes,
            written_bytes: layer.counts.written_bytes,
        });
    let counts = whole_disk.or_else(|| counted(run))?;
    let users = &run.evidence.other_users;
    let side = |counted: u64, own: u64, bytes: fn(&OtherUser) -> u64| {
        let traced = |user: &&OtherUser| user.attribution == Attribution::TracedRequests;
        let left = counted.saturating_sub(own);
        // A file system reads and writes metadata by itself: only attributed traffic counts.
        let left = if run.target.is_block_device() {
            left
        } else {
            left.min(users.iter().map(bytes).sum())
        };
        left.max(users.iter().filter(traced).map(bytes).sum())
    };
    let own_reads = if run.is_direct() {
        submitted.read_bytes.max(issued.read_bytes)
    } else {
        submitted.read_bytes
    };
    let own_writes = submitted.written_bytes.max(issued.written_bytes);
    Some((
        counts.place,
        side(counts.read_bytes, own_reads, |it| it.read_bytes),
        side(counts.written_bytes, own_writes, |it| it.written_bytes),
    ))
}

/// The kernel's counts and the requests issued with O_DIRECT, where both are about the same bytes.
fn comparable_requests<'a>(run: &Run<'a>) -> Option<(&'a KernelCounts, u64)> {
    let (kernel, issued) = (run.kernel?, run.evidence.issued?);
    let requests = issued.reads + issued.writes;
    let bytes = fraction(
        kernel.read_bytes + kernel.written_bytes,
        issued.read_bytes + issued.written_bytes,
    )?;
    let comparable = run.is_direct() && requests >= MIN_REQUESTS && (0.98..1.02).contains(&bytes);
    comparable.then_some((kernel, requests))
}

fn requests_split(run: &Run<'_>) -> Option<Found> {
    let (kernel, issued_requests) = comparable_requests(run)?;
    let device_requests = kernel.reads + kernel.writes;
    let device_bytes = kernel.read_bytes + kernel.written_bytes;
    if fraction(device_requests, issued_requests)? <= SPLIT_RATIO_LIMIT {
        return None;
    }
    Some(Found::new(
        format!(
            "{issued_requests} requests were issued, {} completed {device_requests} with a mean size of {}",
            kernel.device,
            units::format_block_size((device_bytes as f64 / device_requests as f64).round())
        ),
        run.advice(
            &["use a --block-size up to max_sectors_kb of the device's queue, and up to max_segments pages of \
               4 KiB; for a file, one without fragmentation"],
            "raise max_sectors_kb of the device's queue, unless max_segments pages of 4 KiB are less; for a \
             file, use one without fragmentation",
        ),
        json!({
            "issued_requests": issued_requests, "device_requests": device_requests,
            "device_bytes": device_bytes, "device": kernel.device,
        }),
    ))
}

fn requests_merged(run: &Run<'_>) -> Option<Found> {
    let (kernel, issued_requests) = comparable_requests(run)?;
    let merged_requests = kernel.reads_merged + kernel.writes_merged;
    if fraction(merged_requests, issued_requests)? <= MERGED_FRACTION_LIMIT {
        return None;
    }
    Some(Found::new(
        format!(
            "{merged_requests} of {issued_requests} requests to {} were merged with adjacent ones",
            kernel.device
        ),
        run.advice(
            &[
                "use a larger --block-size to measure requests of that size",
                "set nomerges of the device's queue to 2 to measure single ones",
            ],
            "",
        ),
        json!({
            "issued_requests": issued_requests, "merged_requests": merged_requests,
            "device": kernel.device,
        }),
    ))
}
