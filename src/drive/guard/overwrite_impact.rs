//! What a run that overwrites a target would destroy.

use std::sync::Arc;

use super::InspectedMedium;

/// What is known of a target that is about to be overwritten.
#[derive(Debug, Clone)]
pub struct OverwriteImpact {
    /// Path, model, serial number, size, last mount, partitions: a line each.
    pub target_facts: Vec<String>,
    /// Formats that would be lost, and what could not be examined: an item each.
    pub signatures: Vec<String>,
    /// The open medium that was looked at, kept until the run starts; or why it may not be written
    /// whatever anybody consents to, and what to do about it.
    pub medium: Result<Arc<InspectedMedium>, String>,
}
