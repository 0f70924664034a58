//! Checks that a plan fits its target.

use super::plan::{AccessPattern, BlockSize, CacheMode, DataKind, IoOperation, Plan};
use super::plan_error::{BufferDemand, PlanError, PlanField, PlanProblem};
use crate::drive::{Target, TargetKind};

/// Upper bound of the queue depth that any drive supports.
const MAX_DEPTH: u32 = 4096;
/// Upper bound of useful worker threads.
const MAX_WORKERS: u32 = 1024;
/// Upper bound of the size of all buffers.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// Returns an error unless the condition holds.
fn ensure(
    holds: bool,
    field: PlanField,
    problem: impl FnOnce() -> PlanProblem,
) -> Result<(), PlanError> {
    match holds {
        true => Ok(()),
        false => Err(PlanError {
            field,
            problem: problem(),
        }),
    }
}

fn ensure_range(field: PlanField, value: f64, min: f64, max: f64) -> Result<(), PlanError> {
    ensure((min..=max).contains(&value), field, || {
        PlanProblem::OutOfRange { value, min, max }
    })
}

fn ensure_positive(field: PlanField, value: f64) -> Result<(), PlanError> {
    ensure(value > 0.0 && value.is_finite(), field, || {
        PlanProblem::NotPositive { value }
    })
}

impl Plan {
    /// Checks that the plan can be executed on a target.
    ///
    /// # Errors
    /// The first field that does not fit.
    pub fn validate(&self, target: &Target) -> Result<(), PlanError> {
        self.validate_load()?;
        self.validate_fractions()?;
        self.validate_zones()?;
        self.validate_blocks(target)?;
        self.validate_window(target)?;
        self.validate_addresses(target)
    }

    fn validate_load(&self) -> Result<(), PlanError> {
        let (depth, workers) = (f64::from(self.depth), f64::from(self.workers));
        ensure_range(PlanField::Depth, depth, 1.0, f64::from(MAX_DEPTH))?;
        ensure_range(PlanField::Workers, workers, 1.0, f64::from(MAX_WORKERS))?;
        let demand = BufferDemand::of(self);
        ensure(
            demand.total_bytes <= MAX_BUFFER_BYTES,
            PlanField::Depth,
            || PlanProblem::TooMuchMemory {
                demand,
                limit: MAX_BUFFER_BYTES,
            },
        )
    }

    fn validate_fractions(&self) -> Result<(), PlanError> {
        if let IoOperation::Mixed { reads } = self.operation {
            ensure_range(PlanField::ReadFraction, reads, 0.0, 1.0)?;
        }
        if let AccessPattern::Zipf { theta } = self.pattern {
            ensure_positive(PlanField::ZipfTheta, theta)?;
        }
        if let Some(rate) = self.arrival_rate {
            ensure_positive(PlanField::ArrivalRate, rate)?;
        }
        if let DataKind::Compressible(percent) = self.data_kind {
            ensure_range(PlanField::DataKind, f64::from(percent), 0.0, 100.0)?;
        }
        Ok(())
    }

    fn validate_zones(&self) -> Result<(), PlanError> {
        let AccessPattern::Zones { zones, requests } = self.pattern else {
            return Ok(());
        };
        ensure(zones > 0 && requests > 0, PlanField::Zones, || {
            PlanProblem::EmptyZones { zones, requests }
        })?;
        let workers = self.workers;
        ensure(
            self.limits.duration.is_none() || workers == 1,
            PlanField::Workers,
            || PlanProblem::TimedZonesNeedOneWorker { workers },
        )
    }

    /// Whether the medium's block size restricts addresses and sizes. It does not through the page
    /// cache; a simulated drive has no page cache.
    fn requires_block_alignment(&self, target: &Target) -> bool {
        self.cache_mode == CacheMode::Bypass || target.kind == TargetKind::Simulated
    }

    fn validate_blocks(&self, target: &Target) -> Result<(), PlanError> {
        let (smallest, largest) = (self.block_size.min_bytes(), self.block_size.max_bytes());
        ensure_positive(PlanField::BlockSize, f64::from(smallest))?;
        ensure(smallest <= largest, PlanField::BlockSize, || {
            PlanProblem::ReversedRange {
                from: smallest,
                to: largest,
            }
        })?;
        ensure_positive(PlanField::Alignment, self.alignment as f64)?;
        if let BlockSize::Range(from, to) = self.block_size {
            let alignment = self.alignment;
            let largest_aligned = u64::from(to) / alignment * alignment;
            ensure(
                largest_aligned >= u64::from(from),
                PlanField::BlockSize,
                || PlanProblem::NoAlignedSize {
                    from,
                    to,
                    alignment,
                },
            )?;
        }
        if !self.requires_block_alignment(target) {
            return Ok(());
        }
        ensure(target.supports_direct_io, PlanField::CacheMode, || {
            PlanProblem::DirectIoUnsupported {
                target: target.name.clone(),
                file_system: target.file_system.as_ref().map(ToString::to_string),
            }
        })?;
        for (field, value) in [
            (PlanField::BlockSize, u64::from(smallest)),
            (PlanField::Alignment, self.alignment),
        ] {
            let block = target.logical_block_bytes;
            ensure(value.is_multiple_of(u64::from(block)), field, || {
                PlanProblem::NotBlockMultiple {
                    value,
                    block,
                    target: target.name.clone(),
                }
            })?;
        }
        Ok(())
    }

    fn validate_window(&self, target: &Target) -> Result<(), PlanError> {
        let (begin, end) = (self.window.start, self.window.end);
        ensure(end <= target.size_bytes, PlanField::WindowEnd, || {
            PlanProblem::BeyondTarget {
                end,
                target: target.name.clone(),
                size: target.size_bytes,
            }
        })?;
        ensure(begin < end, PlanField::WindowBegin, || {
            PlanProblem::EmptyWindow { begin, end }
        })?;
        let block = self.block_size.max_bytes();
        let first_end = begin
            .checked_next_multiple_of(self.alignment)
            .and_then(|first| first.checked_add(u64::from(block)));
        ensure(
            first_end.is_some_and(|first_end| first_end <= end),
            PlanField::BlockSize,
            || PlanProblem::WindowTooSmall {
                begin,
                length: end - begin,
                block,
            },
        )
    }

    fn validate_addresses(&self, target: &Target) -> Result<(), PlanError> {
        let AccessPattern::AddressList(list) = &self.pattern else {
            return Ok(());
        };
        let (begin, end) = (self.window.start, self.window.end);
        let bytes = self.block_size.max_bytes();
        let block = match self.requires_block_alignment(target) {
            true => u64::from(target.logical_block_bytes),
            false => 1,
        };
        let fits = |address: u64| {
            let request_end = address.checked_add(u64::from(bytes));
            address >= begin
                && request_end.is_some_and(|request_end| request_end <= end)
                && address.is_multiple_of(block)
        };
        match list.iter().find(|address| !fits(**address)) {
            None => Ok(()),
            Some(address) => Err(PlanError {
                field: PlanField::Addresses,
                problem: PlanProblem::MisplacedAddress {
                    address: *address,
                    bytes,
                    begin,
                    end,
                    block,
                },
            }),
        }
    }
}
