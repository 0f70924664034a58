//! Executes a plan with worker threads.

use super::cancellation::CancellationToken;
use super::error::EngineError;
use super::io_target::IoTarget;
use super::outcome::{ExecutionOutcome, ExecutionSnapshot};
use super::plan::Plan;
use super::worker::WorkerFactory;
use super::worker_pool::WorkerPool;

/// Executes a plan with `slots` threads per worker.
///
/// # Errors
/// When a worker thread cannot start. No request was submitted then.
pub fn execute_plan(
    plan: &Plan,
    slots: u32,
    factory: &WorkerFactory,
    cancellation: &CancellationToken,
    source: &IoTarget,
    observe: &mut dyn FnMut(&ExecutionSnapshot),
) -> Result<ExecutionOutcome, EngineError> {
    // Also for a phase that only reads: it keeps the target from others in the same way.
    let mut pool = WorkerPool::spawn(plan, slots, factory, source.gate.as_ref())?;
    pool.wait_until_ready(cancellation)?;
    let origin = pool.start();
    let cancelled = pool.observe_until_done(cancellation, origin, observe);
    Ok(pool.join(cancelled, origin))
}
