//! Executes a [`Plan`] and records every completion.
//!
//! One trait, three implementations: `uring`, `pread` and [`simulated`]. An engine does not depend
//! on the benchmark that calls it.
//!
//! The hot path performs no allocation, locking, message passing or formatting per request: each
//! worker counts into its own statistics and publishes a copy a few times a second.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::privilege;

pub mod address;
mod aligned_buffer;
mod auto;
mod buffers;
mod completion_recorder;
mod data_pattern;
mod end_fsync;
mod execution;
mod io_target;
mod open;
pub mod outcome;
pub mod pauses;
pub mod plan;
mod pread;
mod progress;
mod request_generator;
pub mod simulated;
mod space;
#[cfg(test)]
mod tests;
mod threads;
mod uring;
mod validate;
mod worker_pool;
mod write_gate;

pub use self::address::ZoneMap;
pub use self::threads::WORKER_THREAD_PREFIX;

pub use self::open::{EngineChoice, OpenError, OpenedTarget, open_medium, open_target};
pub use self::outcome::{
    CpuTime, DirectionStats, EndReason, ExecutionOutcome, ExecutionSnapshot, FinishTimes, IoCounts,
    IoStats, LoggedRequest,
};
pub use self::plan::{
    AccessPattern, BlockSize, CacheMode, DataKind, FlushMethod, IoOperation, IoSchedulingClass,
    Plan, PlanLimits, SyncMode,
};

/// Executes plans on one medium.
pub trait Engine: std::fmt::Debug + Send + Sync {
    /// `uring`, `pread` or `simulated`.
    fn name(&self) -> &'static str;

    /// Optional capabilities in use, such as `registered-buffers`.
    fn features(&self) -> Vec<String>;

    /// Why this engine was selected; `None` where there was no choice.
    fn selection_reason(&self) -> Option<String> {
        None
    }

    /// Whether the engine runs in virtual time. Two executions in virtual time cannot overlap.
    fn has_virtual_time(&self) -> bool {
        false
    }

    /// Executes the plan until it completes, fails or `control` cancels it. Blocks the caller;
    /// calls `observe` on the calling thread 5 to 10 times a second.
    ///
    /// # Errors
    /// When the execution cannot start: the plan does not fit the medium, or there is no memory or
    /// no ring. A failure during the execution is not an error: it is the outcome's
    /// [`EndReason::Failed`].
    fn execute(
        &self,
        plan: &Plan,
        control: &CancellationToken,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError>;
}

/// Cancels an execution from another thread.
#[derive(Debug, Default)]
pub struct CancellationToken {
    cancelled: AtomicBool,
}

impl CancellationToken {
    /// Cancels every execution that holds this token.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Errors of an execution. Each names the failed operation, its target and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan does not fit the medium.
    #[error("{0}")]
    InvalidPlan(String),
    /// The engine failed to start.
    #[error("cannot {tried}: {source}")]
    EngineStart {
        /// The operation that failed.
        tried: String,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// A request failed.
    #[error("{operation} of {bytes} bytes at byte {address} of {target} failed: {source}")]
    RequestFailed {
        /// `read` or `write`.
        operation: &'static str,
        /// Name of the target.
        target: String,
        /// Byte address of the request.
        address: u64,
        /// Length of the request in bytes.
        bytes: u32,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// The medium cannot be opened in the mode that the plan requires.
    #[error(transparent)]
    OpenMedium(#[from] crate::drive::DriveError),
    /// Written data could not be made durable.
    #[error("{method} of {target} failed: {source}: what was written may not be on it")]
    FlushFailed {
        /// `fsync`, `fdatasync` or `sync_file_range`.
        method: &'static str,
        /// Name of the target.
        target: String,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// The limits were reached before any request was measured.
    #[error("nothing was measured: the ramp alone used up --bytes or --requests")]
    NothingMeasured,
    /// A worker panicked: a bug in this program.
    #[error("a worker of the engine ended unexpectedly; this is a defect of diskscope")]
    WorkerPanicked,
}

impl EngineError {
    /// A remedy, as one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        let text = match self {
            Self::NothingMeasured => "raise --bytes or --requests, or make --ramp shorter",
            Self::InvalidPlan(_) => "change the parameter that the message names",
            Self::EngineStart { source, .. }
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                return privilege::root_advice(
                    " (sudo)",
                    "a security module or a container forbids it: try --engine pread",
                );
            }
            Self::FlushFailed { .. } => "see the kernel's log (dmesg)",
            Self::EngineStart { .. } => "try --engine pread, or fewer workers and a smaller depth",
            // The kernel reports size 0 for a drive that it has taken offline.
            Self::RequestFailed { source, .. }
                if source.kind() == std::io::ErrorKind::UnexpectedEof =>
            {
                "a drive that ends early is gone, or its medium: check cable and power; a file was \
                 cut off by somebody"
            }
            Self::RequestFailed { source, .. } => match source.raw_os_error() {
                Some(libc::EIO | libc::ENODATA | libc::EREMOTEIO) => {
                    "the drive could not do it: see the kernel's log (dmesg) and the drive's SMART \
                     values, and save what is on it"
                }
                Some(libc::ENODEV | libc::ENXIO | libc::ENOTCONN | libc::ECONNABORTED) => {
                    "the drive is gone: check cable and power, or the program that serves it"
                }
                Some(libc::ENOSPC) => "make room, or choose a smaller size",
                Some(libc::EINVAL) => "try a larger --block-size, or --cache keep",
                _ => "see the kernel's log (dmesg)",
            },
            Self::OpenMedium(error) => return error.advice(),
            Self::WorkerPanicked => "please report it together with what was printed",
        };
        text.to_owned()
    }
}
