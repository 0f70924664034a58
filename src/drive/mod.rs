//! What a target is: size, block sizes, alignment, identity, who uses it, and whether it may be
//! written. Knows nothing of tests.

pub mod advice;
mod error;
pub mod extents;
pub mod fcntl;
pub mod file_systems;
pub mod guard;
pub mod identity;
pub mod ioctl;
pub mod mounts;
pub mod random;
mod room;
pub mod scratch;
pub mod settings;
pub mod target;

pub use advice::Advice;
pub(crate) use error::failed;
pub use error::{DriveError, ErrorKind};
pub use file_systems::FileSystem;
pub use guard::{Conflict, Consent, InspectedMedium, Inspection, Refusal, WritePermit};
pub use identity::{Drive, DriveKind, Use};
pub use settings::Settings;
pub use target::{Access, Durability, Medium, Mode, Target, TargetKind};
