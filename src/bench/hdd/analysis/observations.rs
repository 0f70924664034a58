//! Checks of the number of observations.

use crate::session::document::check::{CheckEvidence, ProbeShortage, ProbedQuantity};

/// The check for a limit or a stop before the metric was certain.
#[must_use]
pub fn too_few_observations(
    quantity: ProbedQuantity,
    found: usize,
    needed: usize,
) -> CheckEvidence {
    CheckEvidence::TooFewProbes(ProbeShortage::FewReads {
        quantity,
        found,
        needed,
    })
}

/// The check for angles without detectable tracks: because of a limit, or for no known reason.
#[must_use]
pub fn tracks_undetermined(over: bool) -> CheckEvidence {
    match over {
        true => CheckEvidence::TooFewProbes(ProbeShortage::NoTrackLength),
        false => CheckEvidence::TracksUndetermined,
    }
}
