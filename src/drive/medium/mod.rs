//! The target of a benchmark and the ways to open it.

mod identity;
pub(in crate::drive) mod identity_change;
mod open;
pub(in crate::drive) mod open_medium;
mod path;
mod target;
#[cfg(test)]
mod tests;

pub use self::identity::MediumIdentity;
pub use self::identity_change::IdentityChange;
pub use self::open::{describe_directory, open_target};
pub use self::open_medium::{FileId, OpenMedium};
pub use self::path::{SIMULATED_PREFIX, is_simulated_name, strip_trailing_slash};
pub use self::target::{Target, TargetKind};
