//! What a target is: size, block sizes, alignment, identity, who uses it, and whether it may be
//! written. Knows nothing of tests.

pub mod identity;
pub mod target;

pub use identity::{Drive, DriveKind, Use};
pub use target::{Target, TargetKind};
