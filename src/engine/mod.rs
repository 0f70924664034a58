//! Executes a [`Plan`] and records every completion.
//!
//! One trait, three implementations: `uring`, `pread` and [`simulated`]. None of them knows
//! why it is asked.
//!
//! The hot path allocates, locks, sends and formats nothing per request: each worker counts into
//! a tally of its own and hands a copy of it out a few times a second.

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

    /// What it makes use of, such as `registered-buffers`.
    fn features(&self) -> Vec<String>;

    /// Why this engine and no other, where there was a reason.
    fn selection_reason(&self) -> Option<String> {
        None
    }

    /// Whether its time is no real time: two executions of it cannot overlap.
    fn has_virtual_time(&self) -> bool {
        false
    }

    /// Executes the plan to its end, to its failure or until `control` stops it. Blocks; `observe`
    /// is called on the calling thread 5 to 10 times a second.
    ///
    /// # Errors
    /// When nothing could be started: the plan does not fit the medium, no memory, no ring. A
    /// failure in the middle is not an error: it is the outcome's [`End::Failed`].
    fn execute(
        &self,
        plan: &Plan,
        control: &CancellationToken,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError>;
}

/// The hand on the switch: stops an execution from another thread.
#[derive(Debug, Default)]
pub struct CancellationToken {
    cancelled: AtomicBool,
}

impl CancellationToken {
    /// Asks everything that runs under this control to stop at once.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// What went wrong, on what, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan does not fit the medium.
    #[error("{0}")]
    InvalidPlan(String),
    /// The engine could not be started.
    #[error("cannot {tried}: {source}")]
    EngineStart {
        /// What was tried.
        tried: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A request failed.
    #[error("{operation} of {bytes} bytes at byte {address} of {target} failed: {source}")]
    RequestFailed {
        /// `read` or `write`.
        operation: &'static str,
        /// Name of the target.
        target: String,
        /// Where.
        address: u64,
        /// How much.
        bytes: u32,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The medium could not be opened as the plan wants it.
    #[error(transparent)]
    OpenMedium(#[from] crate::drive::DriveError),
    /// What was written could not be made durable.
    #[error("{method} of {target} failed: {source}: what was written may not be on it")]
    FlushFailed {
        /// `fsync`, `fdatasync` or `sync_file_range`.
        method: &'static str,
        /// Name of the target.
        target: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The limits were used up before anything was measured.
    #[error("nothing was measured: the ramp alone used up --bytes or --requests")]
    NothingMeasured,
    /// A worker panicked: a defect of this program.
    #[error("a worker of the engine ended unexpectedly; this is a defect of diskscope")]
    WorkerPanicked,
}

impl EngineError {
    /// What to do about it, one sentence.
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
            // What the kernel answers for a drive that it has given up: its size is 0 then.
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
