//! Targets: size, block sizes, alignment, identity, users, and whether writing is allowed.
//! Independent of the benchmarks.

pub mod device_mapper;
mod error;
pub mod extents;
pub mod fcntl;
pub(crate) mod foreign_tree;
pub mod free_space;
pub mod guard;
pub mod identity;
pub mod ioctl;
pub mod medium;
pub(crate) mod memory;
pub(crate) mod mountinfo;
pub mod mounts;
pub mod scheduler;
pub mod scratch;
pub mod settings;
pub(crate) mod stores;
pub mod unplug;

pub use self::error::{DriveError, ErrorKind};
pub(crate) use self::error::{QUOTA_ADVICE, io_error_context, is_gone};
pub use self::guard::{
    Consent, InspectedMedium, Inspection, OverwriteImpact, PermittedFile, Reason, Refusal, User,
    WritePermit,
};
pub use self::identity::{BlockDevice, DeviceUse, DriveKind, VolumeKind};
pub use self::medium::{OpenMedium, Target, TargetKind};
pub use self::settings::SettingsManager;
