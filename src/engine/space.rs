//! Free space for a file, or a device in an image, that is not fully allocated.

use std::sync::Arc;

use super::EngineError;
use super::plan::Plan;
use crate::drive::{OpenMedium, TargetKind, scratch};

/// Checks the free space of a file system when a plan writes into holes.
#[derive(Debug)]
pub(super) struct WriteSpaceGuard {
    medium: Arc<OpenMedium>,
}

impl WriteSpaceGuard {
    /// For a plan that writes to a file or a device; `None` where no space can be needed.
    pub(super) fn new(medium: &Arc<OpenMedium>, plan: &Plan) -> Option<Self> {
        let may_have_holes = medium.target.kind != TargetKind::ScratchFile;
        (may_have_holes && plan.operation.writes()).then(|| Self {
            medium: Arc::clone(medium),
        })
    }

    /// Fails before the start when the space that the plan may allocate in the file's holes does
    /// not fit above the reserve of the file system.
    pub(super) fn check_before(&self, plan: &Plan) -> Result<(), EngineError> {
        let window = plan.window.clone();
        scratch::check_space_for_holes(&self.medium, window, plan.max_bytes())
            .map_err(EngineError::OpenMedium)
    }
}
