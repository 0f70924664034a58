//! Checks of the traffic: the kernel's counters, and the data on the medium.

use super::text::CheckText;
use crate::session::document::check::{
    CacheHits, CachedLayer, CompetingTraffic, MergedRequests, MissingExtents, SplitRequests,
    UncountedTarget, UnflushedWrites, WrittenPattern,
};
use crate::session::document::{Attribution, BlockSample, OtherUser};
use crate::units;

fn bytes(bytes: u64) -> String {
    units::format_capacity(bytes as f64)
}

pub(super) fn served_from_cache(reads: &CacheHits) -> CheckText {
    let missing = 1.0 - reads.device_bytes as f64 / reads.issued_bytes as f64;
    CheckText::new(
        format!(
            "{} were issued in {} reads, {} reached {}: {} came from a cache",
            bytes(reads.issued_bytes),
            reads.reads,
            bytes(reads.device_bytes),
            reads.device,
            units::format_percent(missing)
        ),
        "use --cache bypass, and a window larger than the machine's memory",
    )
}

pub(super) fn device_unknown(target: &UncountedTarget) -> CheckText {
    let file_system = target
        .file_system
        .as_deref()
        .unwrap_or("an unknown file system");
    CheckText::new(
        format!(
            "no block device is known for {} (on {file_system}): the kernel's counters could not be \
             compared, so a cache or other users of the drive would not be noticed",
            target.target
        ),
        "name a directory on a file system that lies on a local block device (see `findmnt`), or the \
         block device itself",
    )
}

pub(super) fn page_cache_backed(layer: &CachedLayer) -> CheckText {
    CheckText::new(
        format!(
            "{} were issued, {} reached {}, which holds the backing file: the page cache served the rest, \
             and the metrics are above those of the drive",
            bytes(layer.issued_bytes),
            bytes(layer.underlying_bytes),
            layer.underlying_device
        ),
        "attach the file with losetup --direct-io=on, or measure the file itself",
    )
}

pub(super) fn still_in_memory(writes: &UnflushedWrites) -> CheckText {
    CheckText::new(
        format!(
            "{} were issued as writes, {} had reached {} at the end of the run",
            bytes(writes.issued_bytes),
            bytes(writes.device_bytes),
            writes.device
        ),
        "use --cache bypass or --sync dsync, or write much more than the machine's memory",
    )
}

pub(super) fn other_users(traffic: &CompetingTraffic) -> CheckText {
    let sides = [
        (traffic.read_bytes, "reads"),
        (traffic.written_bytes, "writes"),
    ];
    let sides = sides.iter().filter(|(amount, _)| *amount > 0);
    let sides: Vec<String> = sides
        .map(|(amount, direction)| format!("{} of {direction}", bytes(*amount)))
        .collect();
    let users: Vec<String> = traffic.users.iter().map(user_name).collect();
    let users = match users.is_empty() {
        true => "; the processes have ended, or this user may not see them".to_owned(),
        false => format!(": {}", users.join(", ")),
    };
    CheckText::new(
        format!(
            "in addition to the benchmark's {}, {} served {} for other processes{users}",
            bytes(traffic.issued_bytes),
            traffic.device,
            sides.join(" and "),
        ),
        "stop the other processes and repeat the run, or read the metrics as those of a shared drive",
    )
}

/// Name, process id and traffic of another process.
fn user_name(user: &OtherUser) -> String {
    let certainty = match user.attribution {
        Attribution::TracedRequests => "",
        Attribution::HasOpenDescriptor => ", has it open",
        Attribution::AnyDrive => ", on some drive",
    };
    format!(
        "{} ({}: {}{certainty})",
        user.command,
        user.pid,
        bytes(user.read_bytes + user.written_bytes)
    )
}

pub(super) fn requests_split(requests: &SplitRequests) -> CheckText {
    let mean = requests.device_bytes as f64 / requests.device_requests as f64;
    CheckText::new(
        format!(
            "{} requests were issued, {} completed {} with a mean size of {}",
            requests.issued_requests,
            requests.device,
            requests.device_requests,
            units::format_block_size(mean.round())
        ),
        "use a --block-size up to max_sectors_kb of the device's queue; for a file, one without \
         fragmentation",
    )
}

pub(super) fn requests_merged(requests: &MergedRequests) -> CheckText {
    CheckText::new(
        format!(
            "{} of {} requests to {} were merged with adjacent ones",
            requests.merged_requests, requests.issued_requests, requests.device
        ),
        "use a larger --block-size to measure requests of that size, or set nomerges of the device's \
         queue to 2 to measure single ones",
    )
}

pub(super) fn missing_extents(extents: &MissingExtents) -> CheckText {
    let missing = extents.hole_bytes + extents.unwritten_bytes;
    CheckText::new(
        format!(
            "of {} of {}, {} are holes and {} were never written: {}",
            bytes(extents.bytes),
            extents.file,
            bytes(extents.hole_bytes),
            bytes(extents.unwritten_bytes),
            units::format_percent(missing as f64 / extents.bytes as f64)
        ),
        "write the whole file first, or name a directory: the scratch file has no holes",
    )
}

pub(super) fn never_written(sample: &BlockSample) -> CheckText {
    CheckText::new(
        format!(
            "{} of {} blocks at random addresses contain only zeros",
            sample.zero_blocks, sample.blocks
        ),
        "write the whole drive once before measuring reads",
    )
}

pub(super) fn compressible_data(pattern: &WrittenPattern) -> CheckText {
    CheckText::new(
        format!(
            "{} were written with --data {}",
            bytes(pattern.written_bytes),
            pattern.data
        ),
        "write random data (the default) unless compression is what you measure",
    )
}
