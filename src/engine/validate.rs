//! Checks that a plan fits its target.

use super::plan::{AccessPattern, BlockSize, CacheMode, DataKind, IoOperation, Plan};
use super::plan_error::{PlanError, buffer_bytes, describe_buffers};
use crate::drive::{Target, TargetKind};
use crate::units::{format_block_size, format_exact_size};

/// Upper bound of the queue depth that any drive supports.
const MAX_DEPTH: u32 = 4096;
/// Upper bound of useful worker threads.
const MAX_WORKERS: u32 = 1024;
/// Upper bound of the size of all buffers.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), PlanError> {
    if holds {
        return Ok(());
    }
    Err(PlanError::new(problem()))
}

fn ensure_range(field: &str, value: f64, min: f64, max: f64) -> Result<(), PlanError> {
    ensure((min..=max).contains(&value), || {
        format!("{field} {value} must be from {min} to {max}")
    })
}

fn ensure_positive(field: &str, value: f64) -> Result<(), PlanError> {
    ensure(value > 0.0 && value.is_finite(), || {
        format!("{field} {value} must be above 0")
    })
}

/// Checks that a size or an alignment is one of whole logical blocks.
fn ensure_aligned(field: &str, value: u64, target: &Target) -> Result<(), PlanError> {
    let block = u64::from(target.logical_block_bytes);
    if value.is_multiple_of(block) {
        return Ok(());
    }
    // The last multiple below 2^64 where there is no next one.
    let next = value.checked_next_multiple_of(block);
    let nearest = next.unwrap_or(u64::MAX / block * block);
    Err(PlanError {
        problem: format!(
            "{field} {} is not a multiple of the logical block size of {}, {block} bytes: use {}",
            format_exact_size(value),
            target.name,
            format_exact_size(nearest)
        ),
        advice: "use a multiple of the block size, or the page cache (--cache keep)",
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
        ensure_range("--depth", depth, 1.0, f64::from(MAX_DEPTH))?;
        ensure_range("--workers", workers, 1.0, f64::from(MAX_WORKERS))?;
        ensure(buffer_bytes(self) <= MAX_BUFFER_BYTES, || {
            format!(
                "{} of memory, more than {}: use a smaller value for one of them",
                describe_buffers(self),
                format_block_size(MAX_BUFFER_BYTES as f64)
            )
        })
    }

    fn validate_fractions(&self) -> Result<(), PlanError> {
        if let IoOperation::Mixed { reads } = self.operation {
            ensure_range("--reads", reads, 0.0, 1.0)?;
        }
        if let AccessPattern::Zipf { theta } = self.pattern {
            ensure_positive("--zipf", theta)?;
        }
        if let Some(rate) = self.arrival_rate {
            ensure_positive("--rate", rate)?;
        }
        if let DataKind::Compressible(percent) = self.data_kind {
            ensure_range("--data", f64::from(percent), 0.0, 100.0)?;
        }
        Ok(())
    }

    fn validate_zones(&self) -> Result<(), PlanError> {
        let AccessPattern::Zones { zones, requests } = self.pattern else {
            return Ok(());
        };
        ensure(zones > 0 && requests > 0, || {
            format!("{zones} zones with {requests} requests: both must be at least 1")
        })?;
        let workers = self.workers;
        ensure(self.limits.duration.is_none() || workers == 1, || {
            format!("zones with a time limit need --workers 1, not {workers}")
        })
    }

    /// Whether the medium's block size restricts addresses and sizes. It does not through the page
    /// cache; a simulated drive has no page cache.
    fn requires_block_alignment(&self, target: &Target) -> bool {
        self.cache_mode == CacheMode::Bypass || target.kind == TargetKind::Simulated
    }

    fn validate_blocks(&self, target: &Target) -> Result<(), PlanError> {
        let (smallest, largest) = (self.block_size.min_bytes(), self.block_size.max_bytes());
        ensure_positive("--block-size", f64::from(smallest))?;
        ensure(smallest <= largest, || {
            format!("--block-size {smallest}-{largest} must begin with the smaller size")
        })?;
        ensure_positive("--align", self.alignment as f64)?;
        if let BlockSize::Range(from, to) = self.block_size {
            let alignment = self.alignment;
            let largest_aligned = u64::from(to) / alignment * alignment;
            ensure(largest_aligned >= u64::from(from), || {
                format!(
                    "--block-size {from}-{to} contains no multiple of --align {alignment}: use a smaller one"
                )
            })?;
        }
        if !self.requires_block_alignment(target) {
            return Ok(());
        }
        if !target.supports_direct_io {
            let file_system = target.file_system.as_deref().unwrap_or("this target");
            return Err(PlanError {
                problem: format!("{} ({file_system}) does not support O_DIRECT", target.name),
                advice: "use --cache drop or --cache keep",
            });
        }
        ensure_aligned("--block-size", u64::from(smallest), target)?;
        ensure_aligned("--align", self.alignment, target)
    }

    fn validate_window(&self, target: &Target) -> Result<(), PlanError> {
        let (begin, end) = (self.window.start, self.window.end);
        ensure(end <= target.size_bytes, || {
            format!(
                "--window-end {end} is beyond the end of {} at {}",
                target.name, target.size_bytes
            )
        })?;
        ensure(begin < end, || {
            format!("--window-begin {begin} must be before --window-end {end}")
        })?;
        let block = u64::from(self.block_size.max_bytes());
        let first_end = begin
            .checked_next_multiple_of(self.alignment)
            .and_then(|first| first.checked_add(block));
        ensure(first_end.is_some_and(|first_end| first_end <= end), || {
            format!(
                "the window of {} from byte {begin} on contains no block of --block-size {}: use a \
                 smaller block or a larger window",
                format_exact_size(end - begin),
                format_exact_size(block)
            )
        })
    }

    fn validate_addresses(&self, target: &Target) -> Result<(), PlanError> {
        let AccessPattern::AddressList(list) = &self.pattern else {
            return Ok(());
        };
        let (begin, end) = (self.window.start, self.window.end);
        let bytes = self.block_size.max_bytes();
        let block = if self.requires_block_alignment(target) {
            u64::from(target.logical_block_bytes)
        } else {
            1
        };
        let fits = |address: u64| {
            let request_end = address.checked_add(u64::from(bytes));
            address >= begin
                && request_end.is_some_and(|request_end| request_end <= end)
                && address.is_multiple_of(block)
        };
        list.iter().try_for_each(|address| {
            ensure(fits(*address), || {
                format!(
                    "a request of {bytes} bytes at byte {address} is outside of the window from {begin} \
                     to {end}, or not on a boundary of {block} bytes"
                )
            })
        })
    }
}
