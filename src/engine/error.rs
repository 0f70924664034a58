//! Errors of an execution.

use super::plan_error::PlanError;

/// Errors of an execution. Each names the failed operation and its target.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan does not fit the medium.
    #[error(transparent)]
    InvalidPlan(#[from] PlanError),
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
    #[error("{method} of {target} failed: {source}: written data may not be durable")]
    FlushFailed {
        /// `fsync`, `fdatasync` or `sync_file_range`.
        method: &'static str,
        /// Name of the target.
        target: String,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// The limits were reached before any request was measured.
    #[error("nothing was measured: the ramp time used up the limit on bytes or requests")]
    NothingMeasured,
    /// A worker panicked: a bug in this program.
    #[error("a worker thread of the engine panicked; this is a defect of diskscope")]
    WorkerPanicked,
}
