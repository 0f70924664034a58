//! The free space that a file needs which is not all on the medium yet.

use std::sync::Arc;

use super::EngineError;
use super::plan::Plan;
use crate::drive::{OpenMedium, TargetKind, scratch};

/// Looks after the file system of a target that may need room for what is written into its holes.
#[derive(Debug)]
pub(super) struct SpaceWatch {
    medium: Arc<OpenMedium>,
}

impl SpaceWatch {
    /// For a plan that writes to a file; `None` where nothing can be needed.
    pub(super) fn new(medium: &Arc<OpenMedium>, plan: &Plan) -> Option<Self> {
        let is_file = medium.target.kind == TargetKind::File;
        (is_file && plan.operation.writes()).then(|| Self {
            medium: Arc::clone(medium),
        })
    }

    /// Refuses to begin where what the plan may fill of the file's holes does not fit above the
    /// reserve of the file system.
    pub(super) fn check_before(&self, plan: &Plan) -> Result<(), EngineError> {
        let window = plan.window.clone();
        scratch::check_space_for_holes(&self.medium, window, plan.limits.bytes)
            .map_err(EngineError::OpenMedium)
    }
}
