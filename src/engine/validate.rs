//! Checks that a plan fits its target. Each error names the command-line option.

use super::plan::{AccessPattern, BlockSize, CacheMode, IoOperation, Plan};
use super::{DataKind, EngineError};
use crate::drive::{Target, TargetKind};
use crate::units::{format_block_size, format_exact_size};

/// Upper bound of the queue depth that any drive supports.
const MAX_DEPTH: u32 = 4096;
/// Upper bound of useful worker threads.
const MAX_WORKERS: u32 = 256;
/// Upper bound of the size of all buffers.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// Returns an error unless the condition holds.
fn ensure_plan(holds: bool, complaint: impl FnOnce() -> String) -> Result<(), EngineError> {
    if holds {
        return Ok(());
    }
    Err(EngineError::InvalidPlan(complaint()))
}

impl Plan {
    /// Checks that the plan can be executed on a target.
    ///
    /// # Errors
    /// [`EngineError::InvalidPlan`] with one sentence: the option, the problem and the remedy.
    pub fn validate(&self, target: &Target) -> Result<(), EngineError> {
        self.validate_load()?;
        self.validate_fractions()?;
        self.validate_blocks(target)?;
        self.validate_window(target)?;
        self.validate_addresses(target)
    }

    /// Bytes of the buffers of one worker. A mixed plan needs twice as many: data that was read
    /// must not be written.
    pub(super) fn buffers_per_worker(&self) -> u64 {
        let sets = match self.operation {
            IoOperation::Mixed { .. } => 2,
            IoOperation::Read | IoOperation::Write => 1,
        };
        u64::from(self.depth) * u64::from(self.block_size.max_bytes()) * sets
    }

    fn validate_load(&self) -> Result<(), EngineError> {
        ensure_plan((1..=MAX_DEPTH).contains(&self.depth), || {
            format!("--depth {} must be from 1 to {MAX_DEPTH}", self.depth)
        })?;
        ensure_plan((1..=MAX_WORKERS).contains(&self.workers), || {
            format!("--workers {} must be from 1 to {MAX_WORKERS}", self.workers)
        })?;
        let bytes = self.buffers_per_worker() * u64::from(self.workers);
        ensure_plan(bytes <= MAX_BUFFER_BYTES, || {
            format!(
                "--depth {} x --workers {} x --block-size {} need {} of memory, more than {}: \
                 make one of them smaller",
                self.depth,
                self.workers,
                format_exact_size(u64::from(self.block_size.max_bytes())),
                format_block_size(bytes as f64),
                format_block_size(MAX_BUFFER_BYTES as f64),
            )
        })
    }

    fn validate_fractions(&self) -> Result<(), EngineError> {
        if let IoOperation::Mixed { reads } = self.operation {
            ensure_plan((0.0..=1.0).contains(&reads), || {
                format!("--reads {reads} must be a share from 0 to 1")
            })?;
        }
        if let AccessPattern::Zipf { theta } = self.pattern {
            ensure_plan(theta > 0.0 && theta.is_finite(), || {
                format!("--theta {theta} must be above 0, such as 0.99")
            })?;
        }
        if let AccessPattern::Zones { zones, requests } = self.pattern {
            ensure_plan(zones > 0 && requests > 0, || {
                format!("{zones} zones with {requests} requests must be at least one of each")
            })?;
            ensure_plan(self.limits.duration.is_none() || self.workers == 1, || {
                format!(
                    "zones under a time limit need --workers 1, not {}",
                    self.workers
                )
            })?;
        }
        if let Some(rate) = self.arrival_rate {
            ensure_plan(rate > 0.0 && rate.is_finite(), || {
                format!("--rate {rate} must be above 0, such as 1000/s")
            })?;
        }
        if let DataKind::Compressible(percent) = self.data_kind {
            ensure_plan(percent <= 100, || {
                format!("--data {percent} must be a percentage from 0 to 100")
            })?;
        }
        Ok(())
    }

    /// Whether the medium's block size restricts addresses and sizes. It does not through the page
    /// cache; a simulated drive has no page cache.
    fn requires_block_alignment(&self, target: &Target) -> bool {
        self.cache_mode == CacheMode::Bypass || target.kind == TargetKind::Simulated
    }

    fn validate_blocks(&self, target: &Target) -> Result<(), EngineError> {
        let (smallest, largest) = (self.block_size.min_bytes(), self.block_size.max_bytes());
        ensure_plan(smallest > 0, || {
            "--block-size 0 must be larger, such as 4KiB".to_owned()
        })?;
        ensure_plan(smallest <= largest, || {
            format!("--block-size range {smallest}-{largest} must begin with the smaller size")
        })?;
        ensure_plan(self.alignment > 0, || {
            "--align 0 must be larger, such as 4KiB".to_owned()
        })?;
        if let BlockSize::Range(from, to) = self.block_size {
            ensure_plan(
                u64::from(to) / self.alignment * self.alignment >= u64::from(from),
                || {
                    format!(
                        "--block-size range {from}-{to} holds no multiple of --align {}: make --align \
                     smaller",
                        self.alignment
                    )
                },
            )?;
        }
        if !self.requires_block_alignment(target) {
            return Ok(());
        }
        ensure_plan(target.supports_direct_io, || {
            format!(
                "{} ({}) does not take O_DIRECT: use --cache drop or --cache keep",
                target.name,
                target.file_system.as_deref().unwrap_or("this target"),
            )
        })?;
        let logical = target.logical_block_bytes;
        ensure_plan(smallest.is_multiple_of(logical), || {
            format!(
                "--block-size {} is no multiple of the {logical} bytes that {} takes at least: \
                 use {} or --cache keep",
                format_exact_size(u64::from(smallest)),
                target.name,
                format_exact_size(u64::from(smallest).next_multiple_of(u64::from(logical))),
            )
        })?;
        ensure_plan(self.alignment.is_multiple_of(u64::from(logical)), || {
            format!(
                "--align {} is no multiple of the {logical} bytes that {} takes at least: use {}",
                format_exact_size(self.alignment),
                target.name,
                format_exact_size(self.alignment.next_multiple_of(u64::from(logical))),
            )
        })
    }

    fn validate_window(&self, target: &Target) -> Result<(), EngineError> {
        let window = &self.window;
        ensure_plan(window.end <= target.size_bytes, || {
            format!(
                "--window-end {} lies behind the end of {} at {}",
                window.end, target.name, target.size_bytes
            )
        })?;
        ensure_plan(window.start < window.end, || {
            format!(
                "--window-begin {} must lie before --window-end {}",
                window.start, window.end
            )
        })?;
        let first = window.start.checked_next_multiple_of(self.alignment);
        let last =
            first.and_then(|first| first.checked_add(u64::from(self.block_size.max_bytes())));
        ensure_plan(last.is_some_and(|last| last <= window.end), || {
            format!(
                "the window of {} from byte {} on holds no block of --block-size {}: make the \
                 block smaller or the window larger",
                format_exact_size(window.end - window.start),
                window.start,
                format_exact_size(u64::from(self.block_size.max_bytes())),
            )
        })
    }

    fn validate_addresses(&self, target: &Target) -> Result<(), EngineError> {
        let AccessPattern::AddressList(list) = &self.pattern else {
            return Ok(());
        };
        let bytes = u64::from(self.block_size.max_bytes());
        let block = match self.requires_block_alignment(target) {
            true => u64::from(target.logical_block_bytes),
            false => 1,
        };
        let fits = |address: u64| {
            address >= self.window.start
                && address
                    .checked_add(bytes)
                    .is_some_and(|end| end <= self.window.end)
                && address.is_multiple_of(block)
        };
        match list.iter().find(|address| !fits(**address)) {
            None => Ok(()),
            Some(address) => Err(EngineError::InvalidPlan(format!(
                "a request of {bytes} bytes at byte {address} does not lie in --window-begin {} to \
                 --window-end {}, or not on a boundary of {block} bytes",
                self.window.start, self.window.end
            ))),
        }
    }
}
