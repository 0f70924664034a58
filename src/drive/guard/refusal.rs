//! Refusals to write, and their reasons.

use std::fmt;
use std::io;

use crate::drive::guard::uses::{UnknownUse, Usage, User};
use crate::drive::medium::IdentityChange;
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::text;
use crate::units;

/// A target is not written.
#[derive(Debug, thiserror::Error)]
#[error("{}", .reason.text(.name))]
pub struct Refusal {
    /// The target, as the user named it.
    pub name: String,
    /// Why.
    pub reason: Reason,
}

/// Why a target is not written.
#[derive(Debug)]
pub enum Reason {
    /// No consent was given.
    NoConsent,
    /// The consent names this other target.
    OtherPathNamed(String),
    /// Another user can redirect the name: how.
    Untrusted(String),
    /// The consent does not cover these file systems and other formats; never empty.
    SignaturesNotIncluded(Vec<String>),
    /// It is not what it was when consent was given.
    Changed(IdentityChange),
    /// It has other contents than those that were shown.
    ContentsChanged,
    /// It became another medium during the run.
    ChangedWhileWriting(IdentityChange),
    /// Somebody uses it; never empty.
    InUse(Vec<User>),
    /// Whether somebody uses it cannot be found out, which counts as in use; never empty.
    Unknown(Vec<UnknownUse>),
    /// An open of another process has broken the lease of the file during the run.
    LeaseBroken,
    /// The block device has only so many bytes.
    TooSmall(u64),
    /// It is flash memory (MTD, UBI), whose users do not claim its block device.
    FlashMemory,
    /// The kernel does not count the openers of files on this type of file system.
    FileSystem(String),
    /// The file was removed.
    Unnamed,
    /// The file belongs to another user: the kernel grants no lease without CAP_LEASE.
    OtherOwner,
    /// It cannot be written at all.
    Protected(Protection),
    /// A system call failed.
    Failed {
        /// What was tried.
        tried: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// Write protection of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// The device is read-only.
    ReadOnlyDevice,
    /// Its file system is mounted read-only.
    ReadOnlyMount,
    /// The file is immutable or append-only (chattr(1)), or protected by fs-verity.
    Attribute,
    /// It is being executed, or the kernel swaps to it.
    TextBusy,
    /// The kernel denies permission, also to root.
    Denied,
}

impl Refusal {
    pub(super) fn new(name: &str, reason: Reason) -> Self {
        Self {
            name: name.to_owned(),
            reason,
        }
    }

    /// What to do, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        let name = &self.name;
        match &self.reason {
            Reason::NoConsent => format!(
                "all data on it would be lost; to overwrite it, add {}, or name a directory: a scratch file is created there",
                overwrite_option(name)
            ),
            Reason::OtherPathNamed(_) => format!(
                "--overwrite must name the target itself: {}",
                overwrite_option(name)
            ),
            Reason::SignaturesNotIncluded(_) => format!(
                "all of that would be lost; to overwrite it, add --overwrite-signatures to {}",
                overwrite_option(name)
            ),
            Reason::Unknown(_) => text::root_advice(
                " on the host, with /proc and /sys mounted, or name a directory: a scratch file is created there",
                "run it on the host, with /proc and /sys mounted, or name a directory: a scratch file is created there",
            ),
            Reason::OtherOwner => text::root_advice(
                ", or name a directory: a scratch file is created there",
                "grant CAP_LEASE, or name a directory: a scratch file is created there",
            ),
            reason => reason.advice().to_owned(),
        }
    }
}

impl Reason {
    /// It has one user.
    pub(in crate::drive) fn in_use(device: &str, usage: Usage) -> Self {
        Self::InUse(vec![User::new(device, usage)])
    }

    fn text(&self, name: &str) -> String {
        match self {
            Self::NoConsent => format!("this test would overwrite {name}"),
            Self::OtherPathNamed(given) => {
                format!("the consent names {given}, but the target is {name}")
            }
            Self::Untrusted(reason) => format!("{name} is not overwritten: {reason}"),
            Self::SignaturesNotIncluded(found) => format!("{name} holds {}", found.join("; ")),
            Self::Changed(change) => format!("{name} has changed since it was opened: {change}"),
            Self::ContentsChanged => {
                format!("{name} has changed since it was opened: what is on it has changed")
            }
            Self::ChangedWhileWriting(change) => {
                format!("{name} has changed while it was written: {change}")
            }
            Self::InUse(users) => format!("{name} is in use: {}", joined(users)),
            Self::Unknown(unknown) => {
                format!(
                    "cannot determine whether {name} is in use: {}",
                    joined(unknown)
                )
            }
            Self::LeaseBroken => format!(
                "{name} was opened by another process while it was written, so the run ended and gave it up"
            ),
            Self::TooSmall(bytes) => format!(
                "{name} has only {}: block devices of less than 16 MiB are not overwritten",
                units::format_size(*bytes)
            ),
            Self::FlashMemory => format!(
                "{name} is flash memory: file systems and UBI use it without claiming the block device"
            ),
            Self::FileSystem(kind) => format!(
                "{name} is a file on {kind}, where the kernel does not count who else has it open"
            ),
            Self::Unnamed => format!("{name} was removed"),
            Self::OtherOwner => format!(
                "{name} belongs to another user, so the kernel does not tell whether it is open elsewhere (no lease)"
            ),
            Self::Protected(protection) => format!("{name} {protection}"),
            Self::Failed { tried, source } => format!("cannot {tried} {name}: {source}"),
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::InUse(_) => {
                "unmount it, swapoff, or stop its users, if its content may be lost; no option overrides this"
            }
            Self::Untrusted(_) => "name the target by its real path, without links of other users",
            Self::ChangedWhileWriting(_) => {
                "writing was stopped; what was written within half a second after the change is on what is there now: check what it contains"
            }
            Self::LeaseBroken => {
                "end what opens it, or name a directory: a scratch file is created there"
            }
            Self::FlashMemory | Self::FileSystem(_) | Self::Unnamed => {
                "name a directory: a scratch file is created there"
            }
            Self::TooSmall(_) => {
                "name a larger device, or a directory: a scratch file is created there"
            }
            Self::Protected(protection) => protection.advice(),
            Self::Failed { .. } => "see the kernel's log (dmesg), or name another target",
            _ => "nothing was written; check what the target contains now, then start again",
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ReadOnlyDevice => "is read-only",
            Self::ReadOnlyMount => "is on a file system that is mounted read-only",
            Self::Attribute => {
                "is immutable, append-only or protected by fs-verity (lsattr shows it)"
            }
            Self::TextBusy => "is being executed, or swapped to",
            Self::Denied => "may not be opened for writing",
        })
    }
}

impl Protection {
    fn advice(self) -> &'static str {
        match self {
            Self::ReadOnlyDevice => {
                "remove the write protection (blockdev --setrw, or a switch on the medium) if its content may be lost"
            }
            Self::ReadOnlyMount => "name it below a writable mount",
            Self::Attribute => "chattr -i -a removes the attribute, if its content may be lost",
            Self::TextBusy => {
                "end the program that runs from it (see fuser FILE), or swapoff, first"
            }
            Self::Denied => {
                "some virtual machines protect their root disk in this way: name a directory, a scratch file is created there"
            }
        }
    }
}

fn joined(items: &[impl fmt::Display]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    words.join("; ")
}

/// The option that names this target, to be pasted; of a target whose name is only known as it is displayed, in
/// words.
fn overwrite_option(name: &str) -> String {
    let name = SafeText::from(name);
    let option = name.original().and_then(|name| {
        if name.starts_with('-') {
            shell::quote_word(format!("--overwrite={name}"))
        } else {
            shell::command_line(["--overwrite", name])
        }
    });
    let option = option.map(shell::for_terminal);
    option.unwrap_or_else(|| "--overwrite with the name of the target".to_owned())
}
