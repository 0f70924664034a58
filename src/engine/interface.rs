//! What a benchmark knows of an engine.

use super::cancellation::CancellationToken;
use super::error::EngineError;
use super::outcome::{ExecutionOutcome, ExecutionSnapshot};
use super::plan::Plan;

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

    /// Whether the workers of this plan can wait for completions without sleeping.
    fn can_spin(&self, plan: &Plan) -> bool {
        let _ = plan;
        false
    }

    /// Executes the plan until it completes, fails or is cancelled. Blocks the caller;
    /// calls `observe` on the calling thread 5 to 10 times a second.
    ///
    /// # Errors
    /// When the execution cannot start: the plan does not fit the medium, or there is no memory or
    /// no ring. A failure during the execution is not an error: it is the outcome's
    /// [`EndReason::Failed`](super::outcome::EndReason::Failed).
    fn execute(
        &self,
        plan: &Plan,
        cancellation: &CancellationToken,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError> {
        self.execute_with_open_hook(plan, cancellation, &mut || {}, observe)
    }

    /// As [`execute`](Self::execute). Calls `on_open` on the calling thread as soon as the medium is open for
    /// the plan, before its cached pages are dropped and before the first request.
    ///
    /// # Errors
    /// As [`execute`](Self::execute). If the medium cannot be opened, `on_open` is not called.
    fn execute_with_open_hook(
        &self,
        plan: &Plan,
        cancellation: &CancellationToken,
        on_open: &mut dyn FnMut(),
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError>;
}
