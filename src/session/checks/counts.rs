//! Compares the benchmark's own count of requests and bytes with the kernel's.

use super::rule::{CheckRule, fraction, is_direct};
use crate::files::safe_text::SafeText;
use crate::session::document::check::{
    CacheHits, CachedLayer, CheckEvidence, CheckId, CompetingTraffic, MergedRequests,
    SplitRequests, UncountedTarget, UnflushedWrites,
};
use crate::session::document::{
    Attribution, BenchmarkRun, KernelCounts, LayerRelation, OtherUser, RunState,
};

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
    CheckRule::new(CheckId::ServedFromCache, served_from_cache),
    CheckRule::new(CheckId::StillInMemory, unflushed_writes),
    CheckRule::new(CheckId::PageCacheBacked, page_cache_backed),
    CheckRule::new(CheckId::DeviceUnknown, device_unknown),
    CheckRule::new(CheckId::OtherUsers, competing_traffic),
    CheckRule::new(CheckId::RequestsSplit, requests_split),
    CheckRule::new(CheckId::RequestsMerged, requests_merged),
];

/// Traffic of one direction: as issued by the benchmark, and as counted at the device.
struct CountedFlow {
    issued_bytes: u64,
    issued_requests: u64,
    device_bytes: u64,
}

/// Reads as issued and as counted; reads of holes in a file never reach the device.
fn read_flow(run: &BenchmarkRun) -> Option<(CountedFlow, &KernelCounts)> {
    let (kernel, issued) = (run.kernel.as_ref()?, run.evidence.issued?);
    let allocated = run.evidence.extents.as_ref().map_or(1.0, |extents| {
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
            issued_bytes: (issued.read_bytes as f64 * allocated) as u64,
            issued_requests: issued.reads,
            device_bytes: kernel.read_bytes.min(own),
        },
        kernel,
    ))
}

fn served_from_cache(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let (flow, kernel) = read_flow(run)?;
    let missing = fraction(
        flow.issued_bytes.saturating_sub(flow.device_bytes),
        flow.issued_bytes,
    )?;
    let enough = flow.issued_bytes >= MIN_BYTES;
    (enough && !is_encoded(run) && missing > CACHED_FRACTION_LIMIT).then(|| {
        CheckEvidence::ServedFromCache(CacheHits {
            issued_bytes: flow.issued_bytes,
            reads: flow.issued_requests,
            device_bytes: flow.device_bytes,
            device: kernel.device.clone(),
        })
    })
}

/// Whether the file system stores the file compressed or encrypted: the device then transfers other
/// numbers of bytes.
fn is_encoded(run: &BenchmarkRun) -> bool {
    let extents = run.evidence.extents.as_ref();
    extents.is_some_and(|it| it.encoded_bytes > 0)
}

fn unflushed_writes(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let (kernel, issued) = (run.kernel.as_ref()?, run.evidence.issued?);
    let missing = issued.written_bytes.checked_sub(kernel.written_bytes)?;
    let much =
        missing >= MIN_BYTES && fraction(missing, issued.written_bytes)? > UNFLUSHED_FRACTION_LIMIT;
    (much && !is_encoded(run) && run.state != RunState::Running).then(|| {
        CheckEvidence::StillInMemory(UnflushedWrites {
            issued_bytes: issued.written_bytes,
            device_bytes: kernel.written_bytes,
            device: kernel.device.clone(),
        })
    })
}

/// A loop device without direct I/O, whose backing device transferred less than was issued. The writes
/// may still arrive there: they count once the run has ended.
fn page_cache_backed(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let setup = run.evidence.drive_setup.as_ref()?;
    let issued = run.evidence.issued?;
    let mut layers = run.evidence.underlying.iter();
    let backing = layers.find(|it| it.relation_to_upper == LayerRelation::BackingDevice)?;
    let counts = &backing.counts;
    let is_missing = |issued: u64, device: u64, limit: f64| {
        let missing = issued.saturating_sub(device);
        missing >= MIN_BYTES && fraction(missing, issued).is_some_and(|part| part > limit)
    };
    let reads = is_missing(issued.read_bytes, counts.read_bytes, CACHED_FRACTION_LIMIT);
    let writes = run.state != RunState::Running
        && is_missing(
            issued.written_bytes,
            counts.written_bytes,
            UNFLUSHED_FRACTION_LIMIT,
        );
    (setup.direct_io == Some(false) && (reads || writes)).then(|| {
        CheckEvidence::PageCacheBacked(CachedLayer {
            issued_bytes: issued.read_bytes + issued.written_bytes,
            underlying_device: counts.device.clone(),
            underlying_bytes: counts.read_bytes + counts.written_bytes,
        })
    })
}

/// A real target for which the kernel keeps no counters, such as a file on overlayfs or FUSE.
fn device_unknown(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let setup = run.evidence.drive_setup.as_ref()?;
    let is_uncounted = run.kernel.is_none() && run.target.device.is_none();
    (is_uncounted && setup.memory_backing.is_none()).then(|| {
        CheckEvidence::DeviceUnknown(UncountedTarget {
            target: run.target.path.clone(),
            file_system: run.target.file_system.clone(),
        })
    })
}

/// Traffic of other processes on the drive, in bytes. What exceeds `named` could not be attributed
/// to a process.
struct OtherTraffic {
    device: SafeText,
    read_bytes: u64,
    written_bytes: u64,
}

fn competing_traffic(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let issued = run.evidence.issued?;
    let others = other_traffic(run)?;
    let bytes = others.read_bytes + others.written_bytes;
    let issued_bytes = issued.read_bytes + issued.written_bytes;
    if bytes < MIN_BYTES || fraction(bytes, issued_bytes)? <= OTHER_TRAFFIC_FRACTION_LIMIT {
        return None;
    }
    let users = run.evidence.other_users.iter().take(MAX_NAMED_USERS);
    Some(CheckEvidence::OtherUsers(CompetingTraffic {
        issued_bytes,
        device: others.device,
        read_bytes: others.read_bytes,
        written_bytes: others.written_bytes,
        users: users.cloned().collect(),
    }))
}

/// Traffic that the kernel's counters leave for other processes, on the device or the partition's
/// whole disk, or the traffic attributed to individual processes, whichever is larger.
fn other_traffic(run: &BenchmarkRun) -> Option<OtherTraffic> {
    let kernel = run.kernel.as_ref()?;
    let submitted = run.evidence.submitted_to_block_layer?;
    let issued = run.evidence.issued?;
    let whole_disk = run
        .evidence
        .underlying
        .iter()
        .find(|it| it.relation_to_upper == LayerRelation::WholeDisk);
    let counts = whole_disk.map_or(kernel, |layer| &layer.counts);
    let seen = |bytes: fn(&OtherUser) -> u64, is_counted: fn(&OtherUser) -> bool| -> u64 {
        let known = run
            .evidence
            .other_users
            .iter()
            .filter(|other| is_counted(other));
        known.map(bytes).sum()
    };
    let side = |counted: u64, own: u64, bytes: fn(&OtherUser) -> u64| {
        let left = counted.saturating_sub(own);
        // A file system reads and writes metadata by itself: only attributed traffic counts.
        let left = if run.target.is_block_device() {
            left
        } else {
            left.min(seen(bytes, |_| true))
        };
        left.max(seen(bytes, |other| {
            other.attribution == Attribution::TracedRequests
        }))
    };
    Some(OtherTraffic {
        device: counts.device.clone(),
        read_bytes: side(
            counts.read_bytes,
            submitted
                .read_bytes
                .max(if is_direct(run) { issued.read_bytes } else { 0 }),
            |other| other.read_bytes,
        ),
        written_bytes: side(
            counts.written_bytes,
            submitted.written_bytes.max(issued.written_bytes),
            |other| other.written_bytes,
        ),
    })
}

/// Requests at the device, requests issued with O_DIRECT, and the kernel's counts.
fn device_request_ratio(run: &BenchmarkRun) -> Option<(u64, u64, &KernelCounts)> {
    let (kernel, issued) = (run.kernel.as_ref()?, run.evidence.issued?);
    let requests = issued.reads + issued.writes;
    let bytes = fraction(
        kernel.read_bytes + kernel.written_bytes,
        issued.read_bytes + issued.written_bytes,
    )?;
    let comparable = is_direct(run) && requests >= MIN_REQUESTS && (0.98..1.02).contains(&bytes);
    comparable.then_some((requests, kernel.reads + kernel.writes, kernel))
}

fn requests_split(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let (issued_requests, device_requests, kernel) = device_request_ratio(run)?;
    (fraction(device_requests, issued_requests)? > SPLIT_RATIO_LIMIT).then(|| {
        CheckEvidence::RequestsSplit(SplitRequests {
            issued_requests,
            device_requests,
            device_bytes: kernel.read_bytes + kernel.written_bytes,
            device: kernel.device.clone(),
        })
    })
}

fn requests_merged(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let (issued_requests, _, kernel) = device_request_ratio(run)?;
    let merged_requests = kernel.reads_merged + kernel.writes_merged;
    (fraction(merged_requests, issued_requests)? > MERGED_FRACTION_LIMIT).then(|| {
        CheckEvidence::RequestsMerged(MergedRequests {
            issued_requests,
            merged_requests,
            device: kernel.device.clone(),
        })
    })
}
