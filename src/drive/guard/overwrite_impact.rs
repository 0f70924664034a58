//! What a run that overwrites a target would destroy.

use std::sync::Arc;

use crate::drive::guard::consent::InspectedMedium;
use crate::drive::guard::refusal::Refusal;

/// What is known of a target that is about to be overwritten.
#[derive(Debug, Clone)]
pub struct OverwriteImpact {
    /// Path, model, serial number, size, last mount and partitions, one per line.
    pub target_facts: Vec<String>,
    /// Signatures of formats that would be lost, and areas that could not be examined, one per
    /// item.
    pub signatures: Vec<String>,
    /// The open medium that was inspected, kept until the run starts; or the reason why it must not
    /// be written despite any consent.
    pub medium: Result<Arc<InspectedMedium>, Arc<Refusal>>,
}
