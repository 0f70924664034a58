//! Whether a plan fits its target. Each complaint names the option as the user knows it.

use super::plan::{BlockSize, CacheMode, Operation, Pattern, Plan};
use super::{DataKind, EngineError};
use crate::drive::{Target, TargetKind};
use crate::units::{block_size, exact_size};

/// More requests in flight than any drive takes.
const MAX_DEPTH: u32 = 4096;
/// More threads than any machine needs for this.
const MAX_WORKERS: u32 = 256;
/// All buffers together.
const MAX_BUFFERS: u64 = 1 << 30;

/// Complains unless the condition holds.
fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Result<(), EngineError> {
    if holds {
        return Ok(());
    }
    Err(EngineError::Plan(complaint()))
}

impl Plan {
    /// Checks that the plan can be executed on a target.
    ///
    /// # Errors
    /// [`EngineError::Plan`] with one sentence: which option, what is wrong, how to mend it.
    pub fn validate(&self, target: &Target) -> Result<(), EngineError> {
        self.validate_load()?;
        self.validate_shares()?;
        self.validate_blocks(target)?;
        self.validate_window(target)?;
        self.validate_addresses(target)
    }

    /// Bytes of one worker's buffers, a mixed plan's twice: what is read must not be written.
    pub(super) fn buffers_per_worker(&self) -> u64 {
        let sets = match self.operation {
            Operation::Mixed { .. } => 2,
            Operation::Read | Operation::Write => 1,
        };
        u64::from(self.depth) * u64::from(self.block_size.largest()) * sets
    }

    fn validate_load(&self) -> Result<(), EngineError> {
        ensure((1..=MAX_DEPTH).contains(&self.depth), || {
            format!("--depth {} must be from 1 to {MAX_DEPTH}", self.depth)
        })?;
        ensure((1..=MAX_WORKERS).contains(&self.workers), || {
            format!("--workers {} must be from 1 to {MAX_WORKERS}", self.workers)
        })?;
        let bytes = self.buffers_per_worker() * u64::from(self.workers);
        ensure(bytes <= MAX_BUFFERS, || {
            format!(
                "--depth {} x --workers {} x --block-size {} need {} of memory, more than {}: \
                 make one of them smaller",
                self.depth,
                self.workers,
                exact_size(u64::from(self.block_size.largest())),
                block_size(bytes as f64),
                block_size(MAX_BUFFERS as f64),
            )
        })
    }

    fn validate_shares(&self) -> Result<(), EngineError> {
        if let Operation::Mixed { reads } = self.operation {
            ensure((0.0..=1.0).contains(&reads), || {
                format!("--reads {reads} must be a share from 0 to 1")
            })?;
        }
        if let Pattern::Zipf { theta } = self.pattern {
            ensure(theta > 0.0 && theta.is_finite(), || {
                format!("--theta {theta} must be above 0, such as 0.99")
            })?;
        }
        if let Pattern::Zones { zones, requests } = self.pattern {
            ensure(zones > 0 && requests > 0, || {
                format!("{zones} zones with {requests} requests must be at least one of each")
            })?;
            ensure(self.limits.duration.is_none() || self.workers == 1, || {
                format!(
                    "zones under a time limit need --workers 1, not {}",
                    self.workers
                )
            })?;
        }
        if let Some(rate) = self.rate {
            ensure(rate > 0.0 && rate.is_finite(), || {
                format!("--rate {rate} must be above 0, such as 1000/s")
            })?;
        }
        if let DataKind::Compressible(percent) = self.data {
            ensure(percent <= 100, || {
                format!("--data {percent} must be a percentage from 0 to 100")
            })?;
        }
        Ok(())
    }

    /// Whether the medium's own blocks limit what can be asked for: not through the page cache,
    /// which a simulated drive has none of.
    fn is_direct(&self, target: &Target) -> bool {
        self.cache == CacheMode::Bypass || target.kind == TargetKind::Simulated
    }

    fn validate_blocks(&self, target: &Target) -> Result<(), EngineError> {
        let (smallest, largest) = (self.block_size.smallest(), self.block_size.largest());
        ensure(smallest > 0, || {
            "--block-size 0 must be larger, such as 4KiB".to_owned()
        })?;
        ensure(smallest <= largest, || {
            format!("--block-size range {smallest}-{largest} must begin with the smaller size")
        })?;
        ensure(self.align > 0, || {
            "--align 0 must be larger, such as 4KiB".to_owned()
        })?;
        if let BlockSize::Range(from, to) = self.block_size {
            ensure(
                u64::from(to) / self.align * self.align >= u64::from(from),
                || {
                    format!(
                        "--block-size range {from}-{to} holds no multiple of --align {}: make --align \
                     smaller",
                        self.align
                    )
                },
            )?;
        }
        if !self.is_direct(target) {
            return Ok(());
        }
        ensure(target.direct, || {
            format!(
                "{} ({}) does not take O_DIRECT: use --cache drop or --cache keep",
                target.name,
                target.file_system.as_deref().unwrap_or("this target"),
            )
        })?;
        let logical = target.logical_block;
        ensure(smallest.is_multiple_of(logical), || {
            format!(
                "--block-size {} is no multiple of the {logical} bytes that {} takes at least: \
                 use {} or --cache keep",
                exact_size(u64::from(smallest)),
                target.name,
                exact_size(u64::from(smallest).next_multiple_of(u64::from(logical))),
            )
        })?;
        ensure(self.align.is_multiple_of(u64::from(logical)), || {
            format!(
                "--align {} is no multiple of the {logical} bytes that {} takes at least: use {}",
                exact_size(self.align),
                target.name,
                exact_size(self.align.next_multiple_of(u64::from(logical))),
            )
        })
    }

    fn validate_window(&self, target: &Target) -> Result<(), EngineError> {
        let window = &self.window;
        ensure(window.end <= target.size, || {
            format!(
                "--window-end {} lies behind the end of {} at {}",
                window.end, target.name, target.size
            )
        })?;
        ensure(window.start < window.end, || {
            format!(
                "--window-begin {} must lie before --window-end {}",
                window.start, window.end
            )
        })?;
        let first = window.start.checked_next_multiple_of(self.align);
        let last = first.and_then(|first| first.checked_add(u64::from(self.block_size.largest())));
        ensure(last.is_some_and(|last| last <= window.end), || {
            format!(
                "the window of {} from byte {} on holds no block of --block-size {}: make the \
                 block smaller or the window larger",
                exact_size(window.end - window.start),
                window.start,
                exact_size(u64::from(self.block_size.largest())),
            )
        })
    }

    fn validate_addresses(&self, target: &Target) -> Result<(), EngineError> {
        let Pattern::Addresses(list) = &self.pattern else {
            return Ok(());
        };
        let bytes = u64::from(self.block_size.largest());
        let block = match self.is_direct(target) {
            true => u64::from(target.logical_block),
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
            Some(address) => Err(EngineError::Plan(format!(
                "a request of {bytes} bytes at byte {address} does not lie in --window-begin {} to \
                 --window-end {}, or not on a boundary of {block} bytes",
                self.window.start, self.window.end
            ))),
        }
    }
}
