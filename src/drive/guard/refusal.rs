//! Refusals to write, and their reasons.

use std::fmt;
use std::io;

use crate::drive::guard::uses::{UnknownUse, Usage, User};
use crate::drive::medium::IdentityChange;
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::text;
use crate::units;

/// The way that is open where a target is not written.
const DIRECTORY_ADVICE: &str = "name a directory: a scratch file is created there";

/// A target is not written.
#[derive(Debug, thiserror::Error)]
#[error("{name} {reason}")]
pub struct Refusal {
    /// The target, as the user named it.
    pub name: String,
    /// Why.
    pub reason: Reason,
}

/// Why a target is not written: a sentence that begins with its name.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// No consent was given.
    #[error("would be overwritten by this test")]
    NoConsent,
    /// The consent names this other target.
    #[error("is the target, but the consent names {0}")]
    OtherPathNamed(String),
    /// Another user can redirect the name: how.
    #[error("is not overwritten: {0}")]
    Untrusted(String),
    /// The consent does not cover these file systems and other formats; never empty.
    #[error("holds {}", .0.join("; "))]
    SignaturesNotIncluded(Vec<String>),
    /// It is not what it was when consent was given.
    #[error("has changed since it was opened: {0}")]
    Changed(IdentityChange),
    /// It became another medium during the run.
    #[error("has changed while it was written: {0}")]
    ChangedWhileWriting(IdentityChange),
    /// Somebody uses it; never empty.
    #[error("is in use: {}", joined(.0))]
    InUse(Vec<User>),
    /// Whether somebody uses it cannot be found out, which counts as in use; never empty.
    #[error("may be in use: {}", joined(.0))]
    Unknown(Vec<UnknownUse>),
    /// An open of another process has broken the lease of the file during the run.
    #[error("was opened by another process while it was written, so the run ended and gave it up")]
    LeaseBroken,
    /// The block device has only so many bytes.
    #[error("has only {}: block devices of less than 16 MiB are not overwritten", units::format_size(*.0))]
    TooSmall(u64),
    /// It is flash memory (MTD, UBI), whose users do not claim its block device.
    #[error("is flash memory: file systems and UBI use it without claiming the block device")]
    FlashMemory,
    /// The kernel does not count the openers of files on this type of file system.
    #[error("is a file on {0}, where the kernel does not count who else has it open")]
    FileSystem(String),
    /// The file was removed.
    #[error("was removed")]
    Unnamed,
    /// The file belongs to another user: the kernel grants no lease without CAP_LEASE.
    #[error(
        "belongs to another user, so the kernel does not tell whether it is open elsewhere (no lease)"
    )]
    OtherOwner,
    /// The device, or the mount of the file, is read-only.
    #[error("is read-only, or on a file system that is mounted read-only")]
    ReadOnly,
    /// The file is immutable or append-only (chattr(1)), or protected by fs-verity.
    #[error("is immutable, append-only or protected by fs-verity (lsattr shows it)")]
    Attribute,
    /// It is being executed, or the kernel swaps to it.
    #[error("is being executed, or swapped to")]
    TextBusy,
    /// The kernel denies permission, also to root.
    #[error("may not be opened for writing")]
    Denied,
    /// A system call failed.
    #[error("cannot be {tried}: {source}")]
    Failed {
        /// What was tried, such as `examined`.
        tried: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
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
        let option = || overwrite_option(&self.name);
        match &self.reason {
            Reason::NoConsent => format!(
                "all data on it would be lost; to overwrite it, add {}, or {DIRECTORY_ADVICE}",
                option()
            ),
            Reason::OtherPathNamed(_) => {
                format!("--overwrite must name the target itself: {}", option())
            }
            Reason::SignaturesNotIncluded(_) => format!(
                "all of that would be lost; to overwrite it, add --overwrite-signatures to {}",
                option()
            ),
            Reason::Unknown(_) => {
                let place =
                    format!("on the host, with /proc and /sys mounted, or {DIRECTORY_ADVICE}");
                text::root_advice(&format!(" {place}"), &format!("run it {place}"))
            }
            Reason::OtherOwner => text::root_advice(
                &format!(", or {DIRECTORY_ADVICE}"),
                &format!("grant CAP_LEASE, or {DIRECTORY_ADVICE}"),
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

    fn advice(&self) -> &'static str {
        match self {
            Self::InUse(_) => {
                "unmount it, swapoff, or stop its users, if its content may be lost; no option overrides this"
            }
            Self::Untrusted(_) => "name the target by its real path, without links of other users",
            Self::ChangedWhileWriting(_) => {
                "writing was stopped; what was written within half a second after the change is on what is there now: check what it contains"
            }
            Self::LeaseBroken
            | Self::FlashMemory
            | Self::FileSystem(_)
            | Self::Unnamed
            | Self::TooSmall(_)
            | Self::Denied => DIRECTORY_ADVICE,
            Self::ReadOnly => {
                "remove the write protection (blockdev --setrw, a switch on the medium, mount -o remount,rw) if its content may be lost"
            }
            Self::Attribute => "chattr -i -a removes the attribute, if its content may be lost",
            Self::TextBusy => {
                "end the program that runs from it (see fuser FILE), or swapoff, first"
            }
            Self::Failed { .. } => "see the kernel's log (dmesg), or name another target",
            _ => "nothing was written; check what the target contains now, then start again",
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
