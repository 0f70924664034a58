//! Decides whether a medium may be written. No other module gives out a descriptor for writing.
//!
//! Consent names the target. A target in use is never written, and no option overrides that. During
//! the lifetime of a [`WritePermit`] for a block device the kernel refuses file systems, swap and
//! stacked devices on it.

mod busy_retry;
mod bytes;
pub mod conflicts;
mod consent;
mod contents;
mod device_keys;
mod file_uses;
mod history;
mod hold;
mod inspect;
mod map_tables;
mod medium_change;
mod medium_reader;
mod obstacle;
mod obstacles;
mod overwrite_impact;
mod partition_table;
mod partition_type;
mod permission;
mod process_watch;
mod refusal;
pub(super) mod siblings;
mod signatures;
#[cfg(test)]
mod tests;
mod usage_check;
mod watch;
mod write_access;
mod write_permit;

pub use self::bytes::ReadFailure;
pub use self::conflicts::device_users::{DeviceUsers, find_device_users};
pub use self::conflicts::file_change::FileChange;
pub use self::conflicts::use_conflict::{UnresolvedUse, UseConflict};
pub use self::consent::{Consent, InspectedMedium};
pub use self::contents::MediumContents;
pub use self::file_uses::{FileUses, find_file_uses};
pub use self::hold::HeldDescriptor;
pub use self::inspect::{Inspection, TargetPartition, inspect_target};
pub use self::medium_change::MediumChange;
pub use self::obstacle::Obstacle;
pub use self::overwrite_impact::OverwriteImpact;
pub use self::partition_table::PartitionRange;
pub use self::partition_type::PartitionType;
pub use self::permission::{check_not_in_use, permit_writing};
pub use self::refusal::Refusal;
pub use self::signatures::Signature;
pub use self::watch::WriteWatch;
pub use self::write_access::{MediumAccess, WriteDurability, WriteMode};
pub use self::write_permit::WritePermit;
pub(super) use self::write_permit::scratch_permit;
