//! Targets: size, block sizes, alignment, identity, users, and whether writing is allowed.
//! Independent of the benchmarks.

pub mod advice;
mod error;
pub mod extents;
pub mod fcntl;
pub mod file_systems;
mod free_space;
pub mod guard;
pub mod identity;
pub mod ioctl;
pub mod medium;
pub mod mounts;
pub mod random;
pub mod scratch;
pub mod settings;

pub use self::advice::TuningAdvice;
pub(crate) use self::error::io_error_context;
pub use self::error::{DriveError, ErrorKind};
pub use self::file_systems::MountedFileSystem;
pub use self::free_space::SpaceLimit;
pub use self::guard::{
    Consent, InspectedMedium, Inspection, OverwriteImpact, Refusal, UseConflict, WritePermit,
};
pub use self::identity::{BlockDevice, DeviceUse, DriveKind};
pub use self::medium::{MediumAccess, OpenMedium, Target, TargetKind, WriteDurability, WriteMode};
pub use self::settings::SettingsManager;
