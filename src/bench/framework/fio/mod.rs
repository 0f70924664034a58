//! fio jobs that do the same as a benchmark: the options as data, rendered once.
//!
//! A job exists only where running it reads and writes the same ranges, the same amounts and in the
//! same way; where fio (measured with 3.33) cannot, there is a [`FioGap`] that says why. What fio's
//! options really do, found by counting on loop devices:
//!
//! * `--time_based` makes it ignore `--io_size`: the two are never used together. `--runtime` without
//!   it ends at whichever comes first.
//! * `--io_size` counts the ramp, `--number_ios` does not.
//! * Limits and rates are per job: `--numjobs=4` moves four times `--io_size`.
//! * `--filename` is split at colons and cut at `#`, `;` and white space at the end.

mod line;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::line::FioFile;

use crate::drive::Target;
use crate::engine::{AccessPattern, BlockSize, CacheMode, DataKind, IoOperation, Plan, SyncMode};
use crate::session::document::FioGap;

/// A job of fio: what it does, without the file that it does it to.
#[derive(Debug, Clone, PartialEq)]
pub struct FioJob {
    /// Reads, writes, or both.
    pub operation: IoOperation,
    /// In ascending order, or at random.
    pub sequential: bool,
    /// Exponent of a skewed distribution.
    pub zipf: Option<f64>,
    /// `--bs` or `--bsrange`.
    pub block_size: BlockSize,
    /// `--blockalign`, where it is not the block size.
    pub block_align: Option<u64>,
    /// `--iodepth` of each job.
    pub depth: u32,
    /// `--numjobs`.
    pub numjobs: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes from there on within which all requests lie.
    pub size: u64,
    /// Zones, of which each is measured in part.
    pub zones: Option<FioZones>,
    /// When each job ends.
    pub limits: FioLimits,
    /// `--ramp_time`.
    pub ramp: Duration,
    /// `--direct` and `--invalidate`.
    pub cache_mode: CacheMode,
    /// `--sync`.
    pub sync_mode: SyncMode,
    /// What is written.
    pub data_kind: DataKind,
    /// `--randseed`.
    pub seed: u64,
}

/// `--zonemode=strided`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioZones {
    /// Bytes that are read or written from the beginning of each zone on.
    pub zone_bytes: u64,
    /// Bytes from the beginning of one zone to the next.
    pub zone_stride: u64,
}

/// When each of the jobs ends; whichever comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FioLimits {
    /// After this time, the ramp not counted.
    pub runtime: Option<Duration>,
    /// After this many bytes, the ramp counted.
    pub bytes: Option<u64>,
    /// After this many requests, the ramp not counted.
    pub requests: Option<u64>,
}

impl FioJob {
    /// The job that does the same as one plan of random requests.
    ///
    /// # Errors
    /// What fio cannot do of it.
    pub fn random_job(plan: &Plan, target: &Target) -> Result<Self, FioGap> {
        let zipf = match &plan.pattern {
            AccessPattern::Random => None,
            // fio refuses 1 itself.
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

    /// The job that reads or writes ranges of equal length, equally far apart, one after the other.
    ///
    /// # Errors
    /// What fio cannot do of it.
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

    /// What all jobs take over from a plan as it is.
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

    /// Whether it writes.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.operation.writes()
    }

    /// The most bytes that all jobs together read and write; `None` where only time limits them.
    #[must_use]
    pub fn max_bytes(&self) -> Option<u64> {
        let largest = u64::from(self.block_size.max_bytes());
        let of_requests = self.limits.requests.map(|requests| requests * largest);
        let of_bytes = self.limits.bytes.map(|bytes| match self.block_size {
            BlockSize::Fixed(_) => bytes,
            // The last request may reach beyond the limit.
            BlockSize::Range(..) => bytes + largest - 1,
        });
        let each = [of_requests, of_bytes].into_iter().flatten().min()?;
        Some(each.saturating_mul(u64::from(self.numjobs)))
    }

    /// The most bytes of the target that are not any more what they were; 0 where it only reads.
    #[must_use]
    pub fn max_overwritten_bytes(&self) -> u64 {
        if !self.is_write() {
            return 0;
        }
        self.max_bytes().unwrap_or(u64::MAX).min(self.size)
    }
}

/// The limits of each job, where those of all jobs together can be divided evenly.
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
        // With one size for all, bytes and requests are the same limit.
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

/// Offset and size such that fio has the same places to choose from.
fn offset_and_size(plan: &Plan, target: &Target) -> Result<(u64, u64), FioGap> {
    let align = plan.alignment.max(1);
    let block = u64::from(plan.block_size.min_bytes());
    let first = plan.window.start.next_multiple_of(align);
    let room = plan.window.end.checked_sub(first + block);
    let places = room.ok_or(FioGap::Parameters)? / align + 1;
    if align <= block {
        if plan.block_size != BlockSize::Fixed(plan.block_size.min_bytes()) {
            return Ok((first, (plan.window.end - first) / align * align));
        }
        // fio's requests end within the size, whatever their alignment.
        return Ok((first, (places - 1) * align + block));
    }
    // fio counts whole units of the alignment: the last must be whole as well, although a request
    // takes only its beginning.
    let size = places * align;
    if first + size > target.size_bytes {
        return Err(FioGap::Alignment);
    }
    Ok((first, size))
}

/// Whether fio draws the same sizes, and places them alike.
fn check_block_sizes(plan: &Plan) -> Result<(), FioGap> {
    let zipf = matches!(plan.pattern, AccessPattern::Zipf { .. });
    match plan.block_size {
        BlockSize::Fixed(size) if zipf && plan.alignment != u64::from(size) => {
            Err(FioGap::Alignment)
        }
        BlockSize::Fixed(_) => Ok(()),
        // fio draws multiples of the smallest size, and keeps to them only for powers of two.
        BlockSize::Range(from, to) => {
            let same = !zipf
                && plan.alignment == u64::from(from)
                && from.is_power_of_two()
                && to.is_multiple_of(from);
            same.then_some(()).ok_or(FioGap::BlockSizes)
        }
    }
}
