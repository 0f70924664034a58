//! Decides whether a target may be written. No other module gives out a descriptor for writing.
//!
//! 1. A block device is written only through one open file description that holds it with `O_EXCL`, kept until
//!    write-back ends (`claim`).
//! 2. What stores data through the kernel claims its devices in the same way, and claims propagate between
//!    partition and disk: the kernel answers "in use?".
//! 3. Few things do not claim: processes, loop devices, exports, a second path to the same disk, flash memory.
//!    Exactly these are searched for (`users`).
//! 4. An existing file is written only on a file system of this kernel that counts its openers, and under a write
//!    lease, which the kernel grants to a sole opener (`lease`).
//! 5. What cannot be read refuses. Consent names the target, and recognised content needs a second consent
//!    (`consent`).

mod claim;
mod consent;
mod contents;
mod exports;
mod inspect;
mod lease;
mod permit;
mod processes;
mod refusal;
mod regions;
mod signatures;
mod stack;
#[cfg(test)]
mod tests;
mod users;
mod uses;
mod watch;

pub use self::claim::{open_exclusively, open_node};
pub use self::consent::{Consent, InspectedMedium, OverwriteImpact};
pub use self::contents::{MediumContents, PartitionRange};
pub use self::inspect::{Inspection, inspect_target};
pub use self::permit::{PermittedFile, WritePermit, check_not_in_use, permit_writing};
pub use self::refusal::{Reason, Refusal};
pub use self::signatures::Signature;
pub(in crate::drive) use self::stack::devices_below;
pub use self::users::{find_kernel_users, find_users};
pub use self::uses::{Subject, UnknownUse, Usage, User, Uses};
pub use self::watch::WriteWatch;
