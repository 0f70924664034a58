//! The options of a fio job that is equivalent to a plan.

use std::ops::Range;
use std::time::Duration;

use crate::drive::Target;
use crate::engine::{
    AccessPattern, BlockSize, CacheMode, DataKind, IoOperation, Plan, PlanLimits, SyncMode, ZoneMap,
};
use crate::session::document::FioGap;

/// A job: its words behind `fio`, without those that name the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioJob {
    pub(super) words: Vec<String>,
    /// Whether it writes.
    pub is_write: bool,
    /// The range that it may touch in bytes.
    pub(super) range: Range<u64>,
    /// Upper limit of the bytes that it overwrites, where it writes.
    pub(super) max_overwritten_bytes: u64,
}

impl FioJob {
    /// The job of a plan.
    ///
    /// # Errors
    /// Why fio cannot run an equivalent job.
    pub fn of_plan(plan: &Plan, target: &Target) -> Result<Self, FioGap> {
        let AccessPattern::Zones { zones, requests } = plan.pattern else {
            return Self::random_job(plan, target);
        };
        if plan.limits.duration.is_some() {
            return Err(FioGap::TimeLimitedZones);
        }
        let block = u64::from(plan.block_size.max_bytes());
        let map = ZoneMap::new(plan, zones, requests);
        let range = |zone: u64| {
            let requests = map.requests_before(zone + 1) - map.requests_before(zone);
            let start = map.zone_begin(zone);
            start..start + requests * block
        };
        let ranges: Vec<Range<u64>> = (0..map.zones()).map(range).collect();
        Self::sequential_job(plan, &ranges)
    }

    /// The job of a plan with random addresses.
    ///
    /// # Errors
    /// Why fio cannot run an equivalent job.
    pub fn random_job(plan: &Plan, target: &Target) -> Result<Self, FioGap> {
        let zipf = match &plan.pattern {
            AccessPattern::Random => None,
            // fio rejects the value 1.
            AccessPattern::Zipf { theta } if (theta - 1.0).abs() < 1e-6 => {
                return Err(FioGap::ZipfExponent);
            }
            AccessPattern::Zipf { theta } => Some(*theta),
            AccessPattern::Sequential
            | AccessPattern::Zones { .. }
            | AccessPattern::AddressList(_) => {
                return Err(FioGap::ListedAddresses);
            }
        };
        if plan.arrival_rate.is_some() {
            return Err(FioGap::OpenLoopLatency);
        }
        let limits = limits_per_job(plan)?;
        if limits == PlanLimits::default() {
            return Err(FioGap::NoLimit);
        }
        let range = range_of_offsets(plan, target)?;
        let mut words = first_words(plan, false, &range)?;
        if plan.alignment != u64::from(plan.block_size.min_bytes()) {
            words.push(format!("--blockalign={}", plan.alignment));
        }
        words.extend(zipf.map(|theta| format!("--random_distribution=zipf:{theta}")));
        words.push(format!("--randseed={}", plan.seed));
        words.push("--norandommap".to_owned());
        words.extend(limit_words(plan, limits));
        let moved = limits
            .bytes
            .map(|each| each.saturating_mul(u64::from(plan.workers)));
        Ok(Self::complete(words, plan, range, moved))
    }

    /// The job of a plan that reads or writes these ranges one after the other.
    ///
    /// # Errors
    /// Why fio cannot run an equivalent job.
    pub fn sequential_job(plan: &Plan, ranges: &[Range<u64>]) -> Result<Self, FioGap> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return Err(FioGap::Parameters);
        };
        let range = first.start..last.end;
        let mut words = first_words(plan, true, &range)?;
        if ranges.windows(2).any(|pair| pair[0].end != pair[1].start) {
            let bytes = first.end - first.start;
            let stride = ranges[1].start - first.start;
            let is_even = ranges.iter().enumerate().all(|(number, range)| {
                let start = first.start + number as u64 * stride;
                *range == (start..start + bytes)
            });
            if !is_even {
                return Err(FioGap::UnevenZones);
            }
            words.push("--zonemode=strided".to_owned());
            words.push(format!("--zonesize={bytes}"));
            words.push(format!("--zonerange={bytes}"));
            words.push(format!("--zoneskip={}", stride - bytes));
        }
        let limits = PlanLimits {
            bytes: Some(ranges.iter().map(|range| range.end - range.start).sum()),
            ..PlanLimits::default()
        };
        words.extend(limit_words(plan, limits));
        Ok(Self::complete(words, plan, range, limits.bytes))
    }

    /// The words, with those of page cache and data. `moved` are the bytes of all jobs, if limited.
    fn complete(
        mut words: Vec<String>,
        plan: &Plan,
        range: Range<u64>,
        moved: Option<u64>,
    ) -> Self {
        words.extend(cache_words(plan));
        if plan.operation.writes() {
            words.extend(data_words(plan.data_kind));
        }
        if plan.continue_on_error {
            words.push("--continue_on_error=io".to_owned());
        }
        words.push("--lat_percentiles=1".to_owned());
        let size = range.end - range.start;
        Self {
            words,
            is_write: plan.operation.writes(),
            range,
            max_overwritten_bytes: moved.unwrap_or(size).min(size),
        }
    }
}

fn first_words(
    plan: &Plan,
    is_sequential: bool,
    range: &Range<u64>,
) -> Result<Vec<String>, FioGap> {
    let BlockSize::Fixed(block) = plan.block_size else {
        return Err(FioGap::BlockSizes);
    };
    let rw = match (plan.operation, is_sequential) {
        (IoOperation::Read, true) => "read",
        (IoOperation::Read, false) => "randread",
        (IoOperation::Write, true) => "write",
        (IoOperation::Write, false) => "randwrite",
        (IoOperation::Mixed { .. }, true) => "rw",
        (IoOperation::Mixed { .. }, false) => "randrw",
    };
    let mut words = vec![
        format!("--rw={rw}"),
        "--ioengine=io_uring".to_owned(),
        format!("--bs={block}"),
        format!("--iodepth={}", plan.depth),
        format!("--numjobs={}", plan.workers),
        "--thread".to_owned(),
        "--group_reporting".to_owned(),
        format!("--offset={}", range.start),
        format!("--size={}", range.end - range.start),
    ];
    if let IoOperation::Mixed { reads } = plan.operation {
        if (reads * 100.0 - (reads * 100.0).round()).abs() > 1e-6 {
            return Err(FioGap::FractionalReadPercentage);
        }
        words.push(format!("--rwmixread={:.0}", reads * 100.0));
    }
    Ok(words)
}

fn limit_words(plan: &Plan, limits: PlanLimits) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(runtime) = limits.duration {
        // fio ignores that limit if a limit in bytes is present.
        if limits.bytes.is_none() {
            words.push("--time_based".to_owned());
        }
        words.push(format!("--runtime={}", runtime_argument(runtime)));
    }
    if !plan.ramp_time.is_zero() {
        words.push(format!("--ramp_time={}", runtime_argument(plan.ramp_time)));
    }
    words.extend(limits.bytes.map(|bytes| format!("--io_size={bytes}")));
    words
}

fn cache_words(plan: &Plan) -> Vec<String> {
    let (direct, invalidate) = match plan.cache_mode {
        CacheMode::Bypass => (1, 0),
        CacheMode::Drop => (0, 1),
        CacheMode::Keep => (0, 0),
    };
    let mut words = vec![
        format!("--direct={direct}"),
        format!("--invalidate={invalidate}"),
    ];
    match plan.sync_mode {
        SyncMode::None => {}
        SyncMode::DataSync => words.push("--sync=dsync".to_owned()),
        SyncMode::Sync => words.push("--sync=sync".to_owned()),
        SyncMode::Flush => words.push("--fdatasync=1".to_owned()),
    }
    words
}

fn data_words(kind: DataKind) -> Vec<String> {
    match kind {
        DataKind::Random => vec!["--refill_buffers".to_owned()],
        DataKind::Zero => vec!["--zero_buffers".to_owned()],
        DataKind::Repeated => vec!["--dedupe_percentage=100".to_owned()],
        DataKind::Compressible(percent) => vec![
            "--refill_buffers".to_owned(),
            format!("--buffer_compress_percentage={percent}"),
            "--buffer_compress_chunk=4096".to_owned(),
        ],
    }
}

/// Limits of each job, if the common limits divide evenly: with a single block size, bytes and requests
/// are the same limit.
fn limits_per_job(plan: &Plan) -> Result<PlanLimits, FioGap> {
    let (jobs, block) = (
        u64::from(plan.workers),
        u64::from(plan.block_size.max_bytes()),
    );
    let needed = plan.limits.bytes.map(|bytes| bytes.div_ceil(block.max(1)));
    let requests = needed.into_iter().chain(plan.limits.requests).min();
    if requests.is_some_and(|requests| !requests.is_multiple_of(jobs)) {
        return Err(FioGap::SharedLimit);
    }
    Ok(PlanLimits {
        duration: plan.limits.duration,
        bytes: requests.map(|requests| (requests / jobs).saturating_mul(block)),
        requests: None,
    })
}

/// Offset and end that give fio the same set of addresses.
fn range_of_offsets(plan: &Plan, target: &Target) -> Result<Range<u64>, FioGap> {
    let (align, block) = (
        plan.alignment.max(1),
        u64::from(plan.block_size.min_bytes()),
    );
    if align != block && matches!(plan.pattern, AccessPattern::Zipf { .. }) {
        return Err(FioGap::Alignment);
    }
    // The plan may be one that the engine refuses.
    let first = plan.window.start.checked_next_multiple_of(align);
    let first = first.ok_or(FioGap::Parameters)?;
    let first_end = first.checked_add(block).ok_or(FioGap::Parameters)?;
    let room = plan.window.end.checked_sub(first_end);
    let last = first + room.ok_or(FioGap::Parameters)? / align * align;
    // fio counts complete units of the alignment: the last unit must be complete as well, even if a
    // request only uses its beginning.
    let end = last.checked_add(align.max(block));
    let end = end.filter(|end| align <= block || *end <= target.size_bytes);
    Ok(first..end.ok_or(FioGap::Alignment)?)
}

/// Formats a duration for fio with microsecond precision.
fn runtime_argument(time: Duration) -> String {
    let (seconds, micros) = (time.as_secs(), time.as_micros());
    if time == Duration::from_secs(seconds) {
        format!("{seconds}")
    } else if micros.is_multiple_of(1000) {
        format!("{}ms", micros / 1000)
    } else {
        format!("{}us", micros.max(1))
    }
}
