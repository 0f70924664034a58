//! The engine of `--engine auto`: io_uring past the page cache, plain system calls through it.
//!
//! io_uring hands buffered writes that it cannot finish at once to kernel threads (io-wq), so that a
//! buffered write of 4 KiB through it measures the hand-over and not the page cache.

use std::sync::atomic::{AtomicBool, Ordering};

use super::plan::{CacheMode, Plan};
use super::pread::{MAX_THREADS, Pread};
use super::uring::Uring;
use super::{Control, Engine, EngineError, Outcome, Snapshot};

/// Feature that tells that buffered plans went through system calls beside io_uring.
pub const BUFFERED_BY_SYSTEM_CALLS: &str = "buffered-by-system-calls";

/// Chooses between two engines on one medium, plan by plan.
#[derive(Debug)]
pub struct Auto {
    direct: Uring,
    buffered: Pread,
    used: Used,
}

/// Which of the two has executed a plan.
#[derive(Debug, Default)]
struct Used {
    direct: AtomicBool,
    buffered: AtomicBool,
}

impl Auto {
    /// Of two engines on the same medium.
    #[must_use]
    pub fn new(direct: Uring, buffered: Pread) -> Self {
        Self {
            direct,
            buffered,
            used: Used::default(),
        }
    }

    /// Whether only buffered plans were executed.
    fn is_buffered(&self) -> bool {
        self.used.buffered.load(Ordering::Relaxed) && !self.used.direct.load(Ordering::Relaxed)
    }
}

impl Engine for Auto {
    fn name(&self) -> &'static str {
        match self.is_buffered() {
            true => self.buffered.name(),
            false => self.direct.name(),
        }
    }

    fn features(&self) -> Vec<String> {
        if self.is_buffered() {
            return self.buffered.features();
        }
        let mut features = self.direct.features();
        if self.used.buffered.load(Ordering::Relaxed) {
            features.push(BUFFERED_BY_SYSTEM_CALLS.to_owned());
        }
        features
    }

    fn reason(&self) -> Option<String> {
        self.used.buffered.load(Ordering::Relaxed).then(|| {
            "requests through the page cache use read(2) and write(2): io_uring would hand \
             buffered writes to kernel threads"
                .to_owned()
        })
    }

    fn execute(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Outcome, EngineError> {
        let threads = u64::from(plan.depth) * u64::from(plan.workers);
        if plan.cache == CacheMode::Bypass || threads > u64::from(MAX_THREADS) {
            self.used.direct.store(true, Ordering::Relaxed);
            self.direct.execute(plan, control, observe)
        } else {
            self.used.buffered.store(true, Ordering::Relaxed);
            self.buffered.execute(plan, control, observe)
        }
    }
}
