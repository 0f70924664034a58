//! The target of a benchmark and the ways to open it.

mod identity;
mod open;
mod open_medium;
mod target;
#[cfg(test)]
mod tests;

pub use self::identity::{IdentityChange, MediumIdentity};
pub use self::open::{describe_directory, open_target};
pub use self::open_medium::{FileId, OpenMedium};
pub use self::target::{
    SIMULATED_PREFIX, Target, TargetKind, is_simulated_name, strip_trailing_slash,
};
