//! Targets: size, block sizes, alignment, identity, users, and whether writing is allowed.
//! Independent of the benchmarks.

pub mod advice;
pub mod btrfs;
mod error;
mod error_kind;
pub mod extents;
pub mod fcntl;
pub mod file_systems;
mod free_space;
pub mod guard;
pub mod identity;
pub(crate) mod io_error;
pub mod ioctl;
pub mod medium;
pub mod mounts;
pub mod page_cache;
pub mod random;
pub mod scheduler;
pub mod scratch;
pub mod settings;
mod space_limit;
pub mod unplug;
mod user_namespace;
pub(crate) mod zfs_command;

pub use self::advice::TuningAdvice;
pub use self::error::DriveError;
pub(crate) use self::error::{QUOTA_ADVICE, io_error_context};
pub use self::error_kind::ErrorKind;
pub use self::file_systems::MountedFileSystem;
pub use self::free_space::{LowerSpace, RESERVE_BYTES, RESERVE_DIVISOR};
pub use self::guard::{
    Consent, HeldDescriptor, InspectedMedium, Inspection, MediumAccess, OverwriteImpact, Refusal,
    UseConflict, WriteDurability, WriteMode, WritePermit,
};
pub use self::identity::{BlockDevice, DeviceUse, DriveKind, VolumeKind};
pub use self::medium::{OpenMedium, Target, TargetKind};
pub use self::settings::SettingsManager;
pub use self::space_limit::SpaceLimit;
