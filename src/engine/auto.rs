//! The engine of `--engine auto`: io_uring for direct I/O, system calls for buffered I/O.
//!
//! io_uring passes buffered writes that it cannot complete at once to kernel threads (io-wq). A
//! buffered write of 4 KiB would then measure the handover instead of the page cache.

use std::sync::atomic::{AtomicBool, Ordering};

use super::plan::{CacheMode, Plan};
use super::pread::{MAX_SYNC_THREADS, PreadEngine};
use super::uring::UringEngine;
use super::{CancellationToken, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot};

/// Feature name that reports that buffered plans used system calls besides io_uring.
pub const BUFFERED_SYSCALLS_FEATURE: &str = "buffered-by-system-calls";

/// Selects one of two engines on the same medium for each plan.
#[derive(Debug)]
pub struct AutoEngine {
    direct_engine: UringEngine,
    buffered_engine: PreadEngine,
    used: UsedEngines,
}

/// Which of the two engines has executed a plan.
#[derive(Debug, Default)]
struct UsedEngines {
    direct: AtomicBool,
    buffered: AtomicBool,
}

impl AutoEngine {
    /// Combines two engines on the same medium.
    #[must_use]
    pub fn new(direct: UringEngine, buffered: PreadEngine) -> Self {
        Self {
            direct_engine: direct,
            buffered_engine: buffered,
            used: UsedEngines::default(),
        }
    }

    /// Whether only buffered plans were executed.
    fn is_buffered(&self) -> bool {
        self.used.buffered.load(Ordering::Relaxed) && !self.used.direct.load(Ordering::Relaxed)
    }
}

impl Engine for AutoEngine {
    fn name(&self) -> &'static str {
        match self.is_buffered() {
            true => self.buffered_engine.name(),
            false => self.direct_engine.name(),
        }
    }

    fn features(&self) -> Vec<String> {
        if self.is_buffered() {
            return self.buffered_engine.features();
        }
        let mut features = self.direct_engine.features();
        if self.used.buffered.load(Ordering::Relaxed) {
            features.push(BUFFERED_SYSCALLS_FEATURE.to_owned());
        }
        features
    }

    fn selection_reason(&self) -> Option<String> {
        self.used.buffered.load(Ordering::Relaxed).then(|| {
            "requests through the page cache use read(2) and write(2): io_uring would pass buffered writes to kernel threads"
                .to_owned()
        })
    }

    fn can_spin(&self, plan: &Plan) -> bool {
        plan.cache_mode == CacheMode::Bypass && self.direct_engine.can_spin(plan)
    }

    fn execute_with_open_hook(
        &self,
        plan: &Plan,
        cancellation: &CancellationToken,
        on_open: &mut dyn FnMut(),
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError> {
        let threads = u64::from(plan.depth) * u64::from(plan.workers);
        if plan.cache_mode == CacheMode::Bypass || threads > u64::from(MAX_SYNC_THREADS) {
            self.used.direct.store(true, Ordering::Relaxed);
            self.direct_engine
                .execute_with_open_hook(plan, cancellation, on_open, observe)
        } else {
            self.used.buffered.store(true, Ordering::Relaxed);
            self.buffered_engine
                .execute_with_open_hook(plan, cancellation, on_open, observe)
        }
    }
}
