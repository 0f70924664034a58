//! Compares the benchmark's own count of requests and bytes with the kernel's.

use super::ProvokedBy::ByIntegrationTest;
use super::{CheckRule, fraction, is_block_device, is_direct};
use crate::session::document::{
    Attribution, BenchmarkRun, KernelCounts, LayerRelation, OtherUser, RunEvidence, RunState,
    Severity,
};
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
/// Maximum number of other processes that the evidence names.
const MAX_NAMED_USERS: usize = 4;

pub(super) const COUNT_RULES: &[CheckRule] = &[
    CheckRule {
        code: "served-from-cache",
        severity: Severity::Invalid,
        meaning: "Fewer bytes were read at the device than the test asked for: something above it \
                answered.",
        condition: "more than 2 % of the bytes read, of at least 1 MiB, did not reach the device; holes of \
               a file are not counted",
        advice: "measure with --cache bypass, on a window larger than the machine's memory",
        provoked: ByIntegrationTest("full_file_has_no_holes_and_cached_file_is_served_from_memory"),
        find_evidence: served_from_cache,
    },
    CheckRule {
        code: "still-in-memory",
        severity: Severity::Warning,
        meaning: "Much of what was written had not reached the device when the run ended: the \
                figures are those of memory.",
        condition: "more than 10 % of the bytes written, and at least 1 MiB, are missing in the \
               device's count",
        advice: "write with --cache bypass or --sync dsync, or much more than the machine's memory",
        provoked: ByIntegrationTest("writes_into_page_cache_are_flagged"),
        find_evidence: writes_in_memory,
    },
    CheckRule {
        code: "other-users",
        severity: Severity::Warning,
        meaning: "Others used the drive during the run: what they took is missing in the figures.",
        condition: "requests of others are more than 1 % of the test's bytes, and at least 1 MiB; on a \
               file system only what is seen of named processes counts, for it writes on its own \
               account too",
        advice: "stop them and measure again, or take the figures for what is left beside them",
        provoked: ByIntegrationTest("competing_process_on_same_device_is_named"),
        find_evidence: other_users,
    },
    CheckRule {
        code: "requests-split",
        severity: Severity::Note,
        meaning: "The kernel cut requests into smaller ones: IOPS and response times are of the \
                whole ones, the drive saw others.",
        condition: "the device completed more than 5 % more requests than were made, with about the \
               same bytes",
        advice: "choose a --block-size up to max_sectors_kb of the device's queue; of a file, one \
                 that is not scattered",
        provoked: ByIntegrationTest("requests_above_queue_limit_are_flagged_as_split"),
        find_evidence: requests_split,
    },
    CheckRule {
        code: "requests-merged",
        severity: Severity::Note,
        meaning: "The kernel joined requests with their neighbours: the drive saw fewer and larger \
                ones.",
        condition: "more than 5 % of the requests were merged, past the page cache",
        advice: "a larger --block-size says what the drive does with requests of that size; for \
                 single ones set nomerges of the device's queue to 2",
        provoked: ByIntegrationTest("adjacent_requests_merged_by_kernel_are_flagged"),
        find_evidence: requests_merged,
    },
];

/// Traffic of one direction: as issued by the benchmark, and as counted at the device.
struct CountedFlow {
    issued_bytes: u64,
    issued_requests: u64,
    device_bytes: u64,
}

/// Reads as issued and as counted; reads of holes in a file never reach the device.
fn read_flow(run: &BenchmarkRun) -> Option<(CountedFlow, &KernelCounts)> {
    let (kernel, asked) = (run.kernel.as_ref()?, run.evidence.issued?);
    let real = run.evidence.extents.as_ref().map_or(1.0, |extents| {
        1.0 - fraction(extents.hole_bytes + extents.unwritten_bytes, extents.bytes).unwrap_or(0.0)
    });
    // Other processes may read as well: the benchmark's own reads are at most what this program
    // submitted to the block layer.
    let own = run
        .evidence
        .submitted_to_block_layer
        .map_or(u64::MAX, |it| it.read_bytes);
    Some((
        CountedFlow {
            issued_bytes: (asked.read_bytes as f64 * real) as u64,
            issued_requests: asked.reads,
            device_bytes: kernel.read_bytes.min(own),
        },
        kernel,
    ))
}

fn served_from_cache(run: &BenchmarkRun) -> Option<String> {
    let (flow, kernel) = read_flow(run)?;
    let encoded = run
        .evidence
        .extents
        .as_ref()
        .is_some_and(|it| it.encoded_bytes > 0);
    let missing = fraction(
        flow.issued_bytes.saturating_sub(flow.device_bytes),
        flow.issued_bytes,
    )?;
    let enough = flow.issued_bytes >= MIN_BYTES;
    (enough && !encoded && missing > CACHED_FRACTION_LIMIT).then(|| {
        format!(
            "{} were asked for in {} reads, {} reached {}: {} came from a cache",
            units::format_capacity(flow.issued_bytes as f64),
            flow.issued_requests,
            units::format_capacity(flow.device_bytes as f64),
            kernel.device,
            units::format_percent(missing)
        )
    })
}

fn writes_in_memory(run: &BenchmarkRun) -> Option<String> {
    let (kernel, asked) = (run.kernel.as_ref()?, run.evidence.issued?);
    let missing = asked.written_bytes.checked_sub(kernel.written_bytes)?;
    let encoded = run
        .evidence
        .extents
        .as_ref()
        .is_some_and(|it| it.encoded_bytes > 0);
    let much =
        missing >= MIN_BYTES && fraction(missing, asked.written_bytes)? > UNFLUSHED_FRACTION_LIMIT;
    (much && !encoded && run.state != RunState::Running).then(|| {
        format!(
            "{} were written, {} had reached {} when the run ended",
            units::format_capacity(asked.written_bytes as f64),
            units::format_capacity(kernel.written_bytes as f64),
            kernel.device
        )
    })
}

/// Traffic of other processes on the drive, in bytes. What exceeds `named` could not be attributed
/// to a process.
struct OtherTraffic {
    device: String,
    read_bytes: u64,
    written_bytes: u64,
}

fn other_users(run: &BenchmarkRun) -> Option<String> {
    let asked = run.evidence.issued?;
    let others = other_traffic(run)?;
    let bytes = others.read_bytes + others.written_bytes;
    let whole = asked.read_bytes + asked.written_bytes;
    if bytes < MIN_BYTES || fraction(bytes, whole)? <= OTHER_TRAFFIC_FRACTION_LIMIT {
        return None;
    }
    Some(format!(
        "beside the {} of the test {} did {}{}",
        units::format_capacity(whole as f64),
        others.device,
        other_traffic_text(others.read_bytes, others.written_bytes),
        other_user_names(&run.evidence),
    ))
}

/// Traffic that the kernel's counters leave for other processes, on the device or the partition's
/// whole disk, or the traffic attributed to individual processes, whichever is larger.
fn other_traffic(run: &BenchmarkRun) -> Option<OtherTraffic> {
    let kernel = run.kernel.as_ref()?;
    let submitted = run.evidence.submitted_to_block_layer?;
    let asked = run.evidence.issued?;
    let whole = run
        .evidence
        .underlying
        .iter()
        .find(|it| it.relation_to_upper == LayerRelation::WholeDisk);
    let counts = whole.map_or(kernel, |layer| &layer.counts);
    let seen = |bytes: fn(&OtherUser) -> u64, witness: fn(&OtherUser) -> bool| -> u64 {
        let known = run
            .evidence
            .other_users
            .iter()
            .filter(|other| witness(other));
        known.map(bytes).sum()
    };
    let side = |counted: u64, own: u64, bytes: fn(&OtherUser) -> u64| {
        let left = counted.saturating_sub(own);
        // A file system reads and writes metadata by itself: only attributed traffic counts.
        let left = if is_block_device(run) {
            left
        } else {
            left.min(seen(bytes, |_| true))
        };
        left.max(seen(bytes, |other| {
            other.attribution == Attribution::TracedRequests
        }))
    };
    Some(OtherTraffic {
        device: counts.device.clone().into(),
        read_bytes: side(
            counts.read_bytes,
            submitted
                .read_bytes
                .max(if is_direct(run) { asked.read_bytes } else { 0 }),
            |other| other.read_bytes,
        ),
        written_bytes: side(
            counts.written_bytes,
            submitted.written_bytes.max(asked.written_bytes),
            |other| other.written_bytes,
        ),
    })
}

/// Describes other traffic, such as `300 MB of reads and 2 MB of writes for others`.
fn other_traffic_text(read: u64, written: u64) -> String {
    let sides = [(read, "reads"), (written, "writes")];
    let some = sides.iter().filter(|(bytes, _)| *bytes > 0);
    let words: Vec<String> = some
        .map(|(bytes, word)| format!("{} of {word}", units::format_capacity(*bytes as f64)))
        .collect();
    format!("{} for others", words.join(" and "))
}

fn other_user_names(evidence: &RunEvidence) -> String {
    let name = |other: &OtherUser| {
        let how = match other.attribution {
            Attribution::TracedRequests => "",
            Attribution::HasOpenDescriptor => ", has it open",
            Attribution::AnyDrive => ", on some drive",
        };
        format!(
            "{} ({}: {}{how})",
            other.command,
            other.pid,
            units::format_capacity((other.read_bytes + other.written_bytes) as f64)
        )
    };
    let named: Vec<String> = evidence
        .other_users
        .iter()
        .take(MAX_NAMED_USERS)
        .map(name)
        .collect();
    match named.is_empty() {
        true => "; nobody is left who could have been it, or this user may not see them".to_owned(),
        false => format!(": {}", named.join(", ")),
    }
}

/// Requests at the device, requests issued with O_DIRECT, and the kernel's counts.
fn device_request_ratio(run: &BenchmarkRun) -> Option<(u64, u64, &KernelCounts)> {
    let (kernel, asked) = (run.kernel.as_ref()?, run.evidence.issued?);
    let made = asked.reads + asked.writes;
    let bytes = fraction(
        kernel.read_bytes + kernel.written_bytes,
        asked.read_bytes + asked.written_bytes,
    )?;
    let comparable = is_direct(run) && made >= MIN_REQUESTS && (0.98..1.02).contains(&bytes);
    comparable.then_some((made, kernel.reads + kernel.writes, kernel))
}

fn requests_split(run: &BenchmarkRun) -> Option<String> {
    let (made, completed, kernel) = device_request_ratio(run)?;
    (fraction(completed, made)? > SPLIT_RATIO_LIMIT).then(|| {
        let bytes = (kernel.read_bytes + kernel.written_bytes) as f64;
        format!(
            "{made} requests were made, {} completed {completed}, of {} on the average",
            kernel.device,
            units::format_block_size((bytes / completed as f64).round())
        )
    })
}

fn requests_merged(run: &BenchmarkRun) -> Option<String> {
    let (made, _, kernel) = device_request_ratio(run)?;
    let merged = kernel.reads_merged + kernel.writes_merged;
    (fraction(merged, made)? > MERGED_FRACTION_LIMIT).then(|| {
        format!(
            "of {made} requests to {} {merged} were joined with a neighbour",
            kernel.device
        )
    })
}
