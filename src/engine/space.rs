//! Free space for a file that is not fully allocated.

use std::sync::Arc;

use super::EngineError;
use super::plan::Plan;
use crate::drive::{OpenMedium, TargetKind, scratch};

/// Checks the free space of a file system when a plan writes into the holes of a file.
#[derive(Debug)]
pub(super) struct SpaceWatch {
    medium: Arc<OpenMedium>,
}

impl SpaceWatch {
    /// For a plan that writes to a file; `None` where no space can be needed.
    pub(super) fn new(medium: &Arc<OpenMedium>, plan: &Plan) -> Option<Self> {
        let is_file = medium.target.kind == TargetKind::File;
        (is_file && plan.operation.writes()).then(|| Self {
            medium: Arc::clone(medium),
        })
    }

    /// Fails before the start when the space that the plan may allocate in the file's holes does
    /// not fit above the reserve of the file system.
    pub(super) fn check_before(&self, plan: &Plan) -> Result<(), EngineError> {
        let window = plan.window.clone();
        scratch::check_space_for_holes(&self.medium, window, plan.limits.bytes)
            .map_err(EngineError::OpenMedium)
    }
}
