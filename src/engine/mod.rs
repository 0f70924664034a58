//! Executes a [`Plan`] and records every completion.
//!
//! One trait, three implementations: `uring`, `pread` and [`simulated`]. An engine does not depend
//! on the benchmark that calls it.
//!
//! The hot path performs no allocation, locking, message passing or formatting per request: each
//! worker counts into its own statistics and publishes a copy a few times a second.

pub mod address;
mod aligned_buffer;
mod auto;
mod buffers;
mod cancellation;
mod completion_recorder;
mod data_pattern;
mod end_fsync;
mod error;
mod execution;
mod interface;
mod io_target;
mod open;
pub mod outcome;
pub mod pauses;
pub mod plan;
mod plan_error;
mod pread;
mod progress;
mod request_generator;
pub mod simulated;
#[cfg(test)]
mod tests;
mod threads;
mod uring;
mod validate;
pub mod wait;
mod worker;
mod worker_pool;
mod write_gate;

pub use self::address::ZoneMap;
pub use self::cancellation::CancellationToken;
pub use self::error::EngineError;
pub use self::interface::Engine;
pub use self::open::{EngineChoice, OpenError, OpenedTarget, open_medium, open_target};
pub use self::outcome::{
    CpuTime, DirectionStats, EndReason, ExecutionOutcome, ExecutionSnapshot, FailedRequest,
    FinishTimes, IoCounts, IoStats, LoggedRequest, RequestErrors,
};
pub use self::plan::{
    AccessPattern, BlockSize, CacheMode, DataKind, FlushMethod, IoOperation, IoSchedulingClass,
    Plan, PlanLimits, SyncMode,
};
pub use self::plan_error::PlanError;
pub use self::threads::WORKER_THREAD_PREFIX;
pub use self::wait::WaitMode;
