//! The options of a fio job that is equivalent to a plan.

use std::ops::Range;
use std::time::Duration;

use crate::drive::Target;
use crate::engine::{
    AccessPattern, BlockSize, CacheMode, DataKind, IoOperation, Plan, PlanLimits, SyncMode, ZoneMap,
};
use crate::session::document::FioGap;

/// A job: its words from `fio` on, without those that name the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioJob {
    pub(super) words: Vec<String>,
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
        let (offset, size) = offset_and_size(plan, target)?;
        check_block_sizes(plan)?;
        let mut words = first_words(plan, false, offset, size)?;
        if plan.alignment != u64::from(plan.block_size.min_bytes()) {
            words.push(format!("--blockalign={}", plan.alignment));
        }
        words.extend(zipf.map(|theta| format!("--random_distribution=zipf:{theta}")));
        words.push(format!("--randseed={}", plan.seed));
        words.push("--norandommap".to_owned());
        words.extend(limit_words(plan, limits));
        Ok(Self::complete(words, plan))
    }

    /// The job of a plan that reads or writes these ranges one after the other.
    ///
    /// # Errors
    /// Why fio cannot run an equivalent job.
    pub fn sequential_job(plan: &Plan, ranges: &[Range<u64>]) -> Result<Self, FioGap> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return Err(FioGap::Parameters);
        };
        let mut words = first_words(plan, true, first.start, last.end - first.start)?;
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
        Ok(Self::complete(words, plan))
    }

    /// The words, with those of page cache and data.
    fn complete(mut words: Vec<String>, plan: &Plan) -> Self {
        words.extend(cache_words(plan));
        if plan.operation.writes() {
            words.extend(data_words(plan.data_kind));
        }
        words.push("--lat_percentiles=1".to_owned());
        Self { words }
    }

    /// The value of an option.
    fn value(&self, name: &str) -> Option<&str> {
        let mut values = self.words.iter().filter_map(|word| {
            let (option, value) = word.split_once('=')?;
            (option.strip_prefix("--") == Some(name)).then_some(value)
        });
        values.next_back()
    }

    /// The value of an option that is a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// Whether it writes.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.value("rw"), Some("read" | "randread"))
    }

    /// The range that it may touch in bytes.
    pub(super) fn range(&self) -> Option<Range<u64>> {
        let offset = self.number("offset")?;
        Some(offset..offset.checked_add(self.number("size")?)?)
    }

    /// Upper limit of the bytes that it overwrites.
    pub(super) fn max_overwritten_bytes(&self) -> Option<u64> {
        let range = self.range()?;
        let size = range.end - range.start;
        let Some(each) = self.number("io_size") else {
            return Some(size);
        };
        // The last request of a job with several block sizes may extend beyond the limit.
        let sizes = self
            .value("bsrange")
            .and_then(|range| range.split_once('-'));
        let beyond = sizes
            .map_or(Ok(0), |(_, largest)| largest.parse::<u64>())
            .ok()?;
        let amount = each.saturating_add(beyond);
        Some(amount.saturating_mul(self.number("numjobs")?).min(size))
    }
}

fn first_words(
    plan: &Plan,
    is_sequential: bool,
    offset: u64,
    size: u64,
) -> Result<Vec<String>, FioGap> {
    let rw = match (plan.operation, is_sequential) {
        (IoOperation::Read, true) => "read",
        (IoOperation::Read, false) => "randread",
        (IoOperation::Write, true) => "write",
        (IoOperation::Write, false) => "randwrite",
        (IoOperation::Mixed { .. }, true) => "rw",
        (IoOperation::Mixed { .. }, false) => "randrw",
    };
    let mut words = vec![
        "fio".to_owned(),
        "--name=diskscope".to_owned(),
        format!("--rw={rw}"),
        "--ioengine=io_uring".to_owned(),
        match plan.block_size {
            BlockSize::Fixed(size) => format!("--bs={size}"),
            BlockSize::Range(from, to) => format!("--bsrange={from}-{to}"),
        },
        format!("--iodepth={}", plan.depth),
        format!("--numjobs={}", plan.workers),
        "--thread".to_owned(),
        "--group_reporting".to_owned(),
        format!("--offset={offset}"),
        format!("--size={size}"),
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
        if limits.bytes.is_none() && limits.requests.is_none() {
            words.push("--time_based".to_owned());
        }
        words.push(format!("--runtime={}", runtime_argument(runtime)));
    }
    if !plan.ramp_time.is_zero() {
        words.push(format!("--ramp_time={}", runtime_argument(plan.ramp_time)));
    }
    // Without more room than the size, requests beyond it would not be sent.
    let largest = u64::from(plan.block_size.max_bytes());
    let room = limits
        .requests
        .map(|requests| requests.saturating_mul(largest).saturating_mul(2));
    words.extend(
        limits
            .bytes
            .or(room)
            .map(|bytes| format!("--io_size={bytes}")),
    );
    words.extend(
        limits
            .requests
            .map(|requests| format!("--number_ios={requests}")),
    );
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

/// Limits of each job, if the common limits divide evenly.
fn limits_per_job(plan: &Plan) -> Result<PlanLimits, FioGap> {
    let jobs = u64::from(plan.workers);
    let even = |amount: u64| {
        amount
            .is_multiple_of(jobs)
            .then_some(amount / jobs)
            .ok_or(FioGap::SharedLimit)
    };
    let runtime = plan.limits.duration;
    if let BlockSize::Fixed(size) = plan.block_size {
        // With a single block size, bytes and requests are the same limit.
        let size = u64::from(size.max(1));
        let needed = plan.limits.bytes.map(|bytes| bytes.div_ceil(size));
        let requests = [needed, plan.limits.requests].into_iter().flatten().min();
        return Ok(PlanLimits {
            duration: runtime,
            bytes: requests
                .map(even)
                .transpose()?
                .map(|n| n.saturating_mul(size)),
            requests: None,
        });
    }
    if plan.limits.requests.is_some() && !plan.ramp_time.is_zero() {
        return Err(FioGap::RampLimit);
    }
    Ok(PlanLimits {
        duration: runtime,
        bytes: plan.limits.bytes.map(even).transpose()?,
        requests: plan.limits.requests.map(even).transpose()?,
    })
}

/// Offset and size that give fio the same set of addresses.
fn offset_and_size(plan: &Plan, target: &Target) -> Result<(u64, u64), FioGap> {
    let align = plan.alignment.max(1);
    let block = u64::from(plan.block_size.min_bytes());
    // The plan may be one that the engine refuses.
    let first = plan.window.start.checked_next_multiple_of(align);
    let first = first.ok_or(FioGap::Parameters)?;
    let first_end = first.checked_add(block).ok_or(FioGap::Parameters)?;
    let room = plan.window.end.checked_sub(first_end);
    let blocks = room.ok_or(FioGap::Parameters)? / align + 1;
    if align <= block {
        if plan.block_size != BlockSize::Fixed(plan.block_size.min_bytes()) {
            return Ok((first, (plan.window.end - first) / align * align));
        }
        // fio's requests end within the size, whatever their alignment.
        return Ok((first, (blocks - 1) * align + block));
    }
    // fio counts complete units of the alignment: the last unit must be complete as well, even if a
    // request only uses its beginning.
    let size = blocks.checked_mul(align).ok_or(FioGap::Alignment)?;
    let end = first.checked_add(size);
    if end.is_none_or(|end| end > target.size_bytes) {
        return Err(FioGap::Alignment);
    }
    Ok((first, size))
}

/// Whether fio draws the same sizes with the same alignment.
fn check_block_sizes(plan: &Plan) -> Result<(), FioGap> {
    let zipf = matches!(plan.pattern, AccessPattern::Zipf { .. });
    match plan.block_size {
        BlockSize::Fixed(size) if zipf && plan.alignment != u64::from(size) => {
            Err(FioGap::Alignment)
        }
        BlockSize::Fixed(_) => Ok(()),
        // fio draws multiples of the smallest size, and only for powers of two stays within them.
        BlockSize::Range(from, to) => {
            let same = !zipf
                && plan.alignment == u64::from(from)
                && from.is_power_of_two()
                && to.is_multiple_of(from);
            same.then_some(()).ok_or(FioGap::BlockSizes)
        }
    }
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
