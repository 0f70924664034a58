//! Why a plan cannot be executed.

use super::plan::Plan;
use crate::units::{format_block_size, format_exact_size};

/// Why a plan cannot be executed. Fields of the plan have the names of the options that set them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct PlanError {
    /// What does not fit, with the values.
    pub problem: String,
    /// What to do, as one sentence.
    pub advice: &'static str,
}

impl PlanError {
    /// A problem that another value of the field solves.
    pub(super) fn new(problem: String) -> Self {
        Self {
            problem,
            advice: "change the parameter that the message names",
        }
    }
}

/// Memory for the buffers of a plan in bytes.
pub(super) fn buffer_bytes(plan: &Plan) -> u64 {
    plan.buffers_per_worker() * u64::from(plan.workers)
}

/// `--depth 64 x --workers 1 x --block-size 1MiB need 64 MiB`.
pub(super) fn describe_buffers(plan: &Plan) -> String {
    format!(
        "--depth {} x --workers {} x --block-size {} need {}",
        plan.depth,
        plan.workers,
        format_exact_size(u64::from(plan.block_size.max_bytes())),
        format_block_size(buffer_bytes(plan) as f64),
    )
}
