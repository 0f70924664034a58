//! A fio job equivalent to a plan.

use std::time::Duration;

use crate::drive::Target;
use crate::engine::{AccessPattern, BlockSize, CacheMode, DataKind, IoOperation, Plan, SyncMode};
use crate::session::document::FioGap;

/// A fio job without the file that it runs on.
#[derive(Debug, Clone, PartialEq)]
pub struct FioJob {
    /// Reads, writes, or both.
    pub operation: IoOperation,
    /// Sequential or random addresses.
    pub sequential: bool,
    /// Exponent of a Zipf distribution.
    pub zipf: Option<f64>,
    /// `--bs` or `--bsrange`.
    pub block_size: BlockSize,
    /// `--blockalign`, if it differs from the block size.
    pub block_align: Option<u64>,
    /// `--iodepth` of each job.
    pub depth: u32,
    /// `--numjobs`.
    pub numjobs: u32,
    /// First byte.
    pub offset: u64,
    /// Length of the address range in bytes.
    pub size: u64,
    /// Zones, if only part of each is measured.
    pub zones: Option<FioZones>,
    /// Limits of each job.
    pub limits: FioLimits,
    /// `--ramp_time`.
    pub ramp: Duration,
    /// `--direct` and `--invalidate`.
    pub cache_mode: CacheMode,
    /// `--sync`.
    pub sync_mode: SyncMode,
    /// Data pattern of writes.
    pub data_kind: DataKind,
    /// `--randseed`.
    pub seed: u64,
}

/// `--zonemode=strided`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioZones {
    /// Bytes to read or write from the beginning of each zone.
    pub zone_bytes: u64,
    /// Distance between the beginnings of two zones in bytes.
    pub zone_stride: u64,
}

/// Limits of each job; the first one reached ends it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FioLimits {
    /// Run time, excluding ramp time.
    pub runtime: Option<Duration>,
    /// Bytes, including ramp time.
    pub bytes: Option<u64>,
    /// Requests, excluding ramp time.
    pub requests: Option<u64>,
}

impl FioJob {
    /// The job equivalent to one plan of random requests.
    ///
    /// # Errors
    /// What fio cannot reproduce.
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
        if limits == FioLimits::default() {
            return Err(FioGap::NoLimit);
        }
        let (offset, size) = offset_and_size(plan, target)?;
        check_block_sizes(plan)?;
        let block = u64::from(plan.block_size.min_bytes());
        Ok(Self {
            zipf,
            sequential: false,
            block_align: (plan.alignment != block).then_some(plan.alignment),
            offset,
            size,
            limits,
            ..Self::from_plan(plan)?
        })
    }

    /// The job that reads or writes equidistant ranges of equal length in sequence.
    ///
    /// # Errors
    /// What fio cannot reproduce.
    pub fn sequential_job(plan: &Plan, ranges: &[std::ops::Range<u64>]) -> Result<Self, FioGap> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return Err(FioGap::Parameters);
        };
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let mut job = Self {
            sequential: true,
            offset: first.start,
            size: last.end - first.start,
            limits: FioLimits {
                bytes: Some(bytes),
                ..FioLimits::default()
            },
            ..Self::from_plan(plan)?
        };
        if ranges.windows(2).all(|pair| pair[0].end == pair[1].start) {
            return Ok(job);
        }
        let zones = FioZones {
            zone_bytes: first.end - first.start,
            zone_stride: ranges[1].start - first.start,
        };
        let even = ranges.iter().enumerate().all(|(number, range)| {
            range.start == first.start + number as u64 * zones.zone_stride
                && range.end - range.start == zones.zone_bytes
        });
        if !even {
            return Err(FioGap::UnevenZones);
        }
        job.zones = Some(zones);
        Ok(job)
    }

    /// The options that every job copies from a plan.
    fn from_plan(plan: &Plan) -> Result<Self, FioGap> {
        if let IoOperation::Mixed { reads } = plan.operation
            && (reads * 100.0 - (reads * 100.0).round()).abs() > 1e-6
        {
            return Err(FioGap::FractionalReadPercentage);
        }
        Ok(Self {
            operation: plan.operation,
            sequential: false,
            zipf: None,
            block_size: plan.block_size,
            block_align: None,
            depth: plan.depth,
            numjobs: plan.workers,
            offset: plan.window.start,
            size: plan.window.end - plan.window.start,
            zones: None,
            limits: FioLimits::default(),
            ramp: plan.ramp_time,
            cache_mode: plan.cache_mode,
            sync_mode: plan.sync_mode,
            data_kind: plan.data_kind,
            seed: plan.seed,
        })
    }

    /// Whether the job writes.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.operation.writes()
    }

    /// Maximum bytes that all jobs read and write together; `None` if only time limits them.
    #[must_use]
    pub fn max_bytes(&self) -> Option<u64> {
        let largest = u64::from(self.block_size.max_bytes());
        let of_requests = self.limits.requests.map(|it| it.saturating_mul(largest));
        // The last request of a job with several block sizes may extend beyond the limit.
        let beyond = match self.block_size {
            BlockSize::Fixed(_) => 0,
            BlockSize::Range(..) => largest.saturating_sub(1),
        };
        let of_bytes = self.limits.bytes.map(|bytes| bytes.saturating_add(beyond));
        let each = [of_requests, of_bytes].into_iter().flatten().min()?;
        Some(each.saturating_mul(u64::from(self.numjobs)))
    }

    /// Maximum bytes of the target that change; 0 for a read-only job.
    #[must_use]
    pub fn max_overwritten_bytes(&self) -> u64 {
        if !self.is_write() {
            return 0;
        }
        self.max_bytes().unwrap_or(u64::MAX).min(self.size)
    }

    /// The byte after the last one of the address range; `None` for a range that no file can have.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.size)
    }

    /// Whether [`FioJob::random_job`] or [`FioJob::sequential_job`] can have made it. With other limits
    /// or zones fio would leave the address range, and a value of 0 has a meaning of its own: a size of 0
    /// is the whole file.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let block = u64::from(self.block_size.min_bytes());
        let has_unusable_value = self.size < block
            || [block, self.depth.into(), self.numjobs.into()].contains(&0)
            || self.block_align == Some(0)
            || self.limits.bytes == Some(0)
            || self.limits.requests == Some(0)
            || self.limits.runtime.is_some_and(|runtime| runtime.is_zero());
        if has_unusable_value {
            return false;
        }
        if !self.sequential {
            return self.zones.is_none() && self.limits != FioLimits::default();
        }
        let bytes_in_ranges = match self.zones {
            None => Some(self.size),
            Some(zones) => zones.measured_bytes(self.size),
        };
        let limits = FioLimits {
            bytes: bytes_in_ranges,
            ..FioLimits::default()
        };
        bytes_in_ranges.is_some() && self.limits == limits
    }
}

impl FioZones {
    /// Bytes to read or write in an address range of that size; `None` if it does not end with the last
    /// of them.
    fn measured_bytes(self, size: u64) -> Option<u64> {
        let is_valid = self.zone_bytes > 0 && self.zone_stride >= self.zone_bytes;
        let before_last = size.checked_sub(self.zone_bytes).filter(|_| is_valid)?;
        let zones = before_last.checked_div(self.zone_stride)? + 1;
        before_last
            .is_multiple_of(self.zone_stride)
            .then(|| zones.checked_mul(self.zone_bytes))?
    }
}

/// Limits of each job, if the common limits divide evenly.
fn limits_per_job(plan: &Plan) -> Result<FioLimits, FioGap> {
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
        return Ok(FioLimits {
            runtime,
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
    Ok(FioLimits {
        runtime,
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
