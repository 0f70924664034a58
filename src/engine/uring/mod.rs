//! The engine on io_uring: one ring and one thread for each worker.

mod completion_batch;
mod queue;
mod repeating_timer;
mod ring;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::queue::UringWorker;
use super::execution;
use super::io_target::IoTarget;
use super::plan::{CacheMode, SyncMode};
use super::pread::PreadEngine;
use super::wait::may_spin;
use super::worker::{Submitter, WorkerFactory};
use super::{
    CancellationToken, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot, Plan, end_fsync,
};
use crate::roots::SysPaths;

pub use self::ring::CompletionMode;

/// The io_uring engine.
#[derive(Debug)]
pub struct UringEngine {
    source: IoTarget,
    setup: CompletionMode,
    /// Whether requests are `IORING_OP_NOP`.
    is_nop: bool,
    used: Arc<UringFeatures>,
}

/// Optional features that the last execution used.
#[derive(Debug, Default)]
struct UringFeatures {
    file_not_registered: AtomicBool,
    buffers_not_registered: AtomicBool,
    buffered_writes: AtomicBool,
}

impl UringEngine {
    /// For a medium.
    ///
    /// # Errors
    /// When this kernel, container or sysctl allows no ring; [`unavailable_reason`] describes the
    /// cause.
    pub fn new(source: IoTarget) -> io::Result<Self> {
        Ok(Self {
            source,
            setup: CompletionMode::probe_best()?,
            is_nop: false,
            used: Arc::default(),
        })
    }

    /// As [`new`](Self::new), with `IORING_OP_NOP` in place of reads and writes: no request reaches
    /// the target.
    pub fn with_nop_requests(self) -> Self {
        Self {
            is_nop: true,
            ..self
        }
    }
}

/// Why io_uring is unavailable, as one sentence.
#[must_use]
pub fn unavailable_reason(roots: &SysPaths, error: &io::Error) -> String {
    let path = roots.proc.join("sys/kernel/io_uring_disabled");
    let switch = std::fs::read_to_string(path).unwrap_or_default();
    match (error.raw_os_error(), switch.trim()) {
        (Some(libc::EPERM), level @ ("1" | "2")) => {
            format!("io_uring is disabled: sysctl kernel.io_uring_disabled is {level}")
        }
        (Some(libc::EPERM | libc::EACCES), _) => {
            "io_uring is forbidden here, probably by the container's seccomp filter".to_owned()
        }
        (Some(libc::ENOSYS), _) => {
            "this kernel has no io_uring, or the container's seccomp filter hides it".to_owned()
        }
        (Some(libc::ENOMEM), _) => {
            "io_uring cannot allocate memory: raise the limit MEMLOCK (ulimit -l)".to_owned()
        }
        (None, _) => "io_uring of this kernel is too old: 5.11 is needed".to_owned(),
        _ => format!("io_uring cannot be set up: {error}"),
    }
}

impl Engine for UringEngine {
    fn name(&self) -> &'static str {
        "uring"
    }

    fn features(&self) -> Vec<String> {
        let mut features = self.setup.features().to_vec();
        if !self.used.file_not_registered.load(Ordering::Relaxed) {
            features.push("registered-files");
        }
        if !self.used.buffers_not_registered.load(Ordering::Relaxed) {
            features.push("registered-buffers");
        }
        features.into_iter().map(str::to_owned).collect()
    }

    fn selection_reason(&self) -> Option<String> {
        self.used.buffered_writes.load(Ordering::Relaxed).then(|| {
            "the kernel passes buffered writes of io_uring to its own threads (io-wq): their latency includes the hand-over; --engine auto uses write(2)"
                .to_owned()
        })
    }

    fn can_spin(&self, plan: &Plan) -> bool {
        may_spin(plan.workers) && plan.arrival_rate.is_none() && plan.sync_mode != SyncMode::Flush
    }

    fn execute_with_open_hook(
        &self,
        plan: &Plan,
        cancellation: &CancellationToken,
        on_open: &mut dyn FnMut(),
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError> {
        if plan.sync_mode == SyncMode::Flush && !self.is_nop {
            return PreadEngine::new(self.source.clone(), None).execute_with_open_hook(
                plan,
                cancellation,
                on_open,
                observe,
            );
        }
        let file = Arc::new(self.source.open(plan, on_open)?);
        self.used
            .file_not_registered
            .store(false, Ordering::Relaxed);
        self.used
            .buffers_not_registered
            .store(false, Ordering::Relaxed);
        if plan.operation.writes() && plan.cache_mode != CacheMode::Bypass {
            self.used.buffered_writes.store(true, Ordering::Relaxed);
        }
        let (setup, nop, used) = (self.setup, self.is_nop, Arc::clone(&self.used));
        let (source, shared_plan) = (self.source.clone(), plan.clone());
        let shared_file = Arc::clone(&file);
        let factory: WorkerFactory = Arc::new(move |_| {
            let file = Arc::clone(&shared_file);
            let queue = UringWorker::new(setup, nop, &shared_plan, &source, file)?;
            // Reported once for all workers: a feature that one worker lacks is not listed.
            used.file_not_registered
                .fetch_or(!queue.has_file(), Ordering::Relaxed);
            used.buffers_not_registered
                .fetch_or(!queue.has_buffers(), Ordering::Relaxed);
            Ok(Box::new(queue) as Box<dyn Submitter>)
        });
        let mut outcome =
            execution::execute_plan(plan, 1, &factory, cancellation, &self.source, observe)?;
        drop(factory);
        end_fsync::flush_and_close(plan, file, &self.source.medium.target.name, &mut outcome);
        Ok(outcome)
    }
}
