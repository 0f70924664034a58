//! Differences between a medium and the one that the consent was given for.

use crate::drive::medium::identity_change::IdentityChange;

/// Why a medium is not the one that the consent was given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediumChange {
    /// It is another medium.
    Identity(IdentityChange),
    /// It is the same, and what is on it was changed.
    Contents,
}

impl std::fmt::Display for MediumChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Identity(change) => change.fmt(f),
            Self::Contents => f.write_str("what is on it has changed"),
        }
    }
}
