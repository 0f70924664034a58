//! Whether a medium may be written. Nothing else in the program leads to a descriptor that writes.
//!
//! Consent names the target; use forbids it, and no option overrides that. While a [`WritePermit`]
//! for a block device lives, the kernel keeps file systems, swap and stacked devices off it.

mod conflicts;
mod history;
mod inspect;
mod signatures;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode as Permissions, OFlags};
use rustix::io::Errno;

use super::target::{FileId, Medium, TargetKind};
use super::{DriveError, ErrorKind, ioctl};
use crate::roots::Roots;

pub use conflicts::Conflict;
pub use inspect::{Inspection, Part, inspect};

/// Why writing is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Nobody has consented.
    #[error("this test would overwrite {name}")]
    NoConsent {
        /// The target.
        name: String,
    },
    /// The consent names something else.
    #[error("the consent names {given}, but the target is {name}")]
    OtherPath {
        /// The target.
        name: String,
        /// What the consent names.
        given: String,
    },
    /// It is in use.
    #[error("{name} is in use: {}", sentence(.conflicts))]
    InUse {
        /// The target.
        name: String,
        /// By whom, the most telling first; never empty.
        conflicts: Vec<Conflict>,
    },
    /// It cannot be written at all.
    #[error("{name} is read-only")]
    ReadOnly {
        /// The target.
        name: String,
    },
    /// Whether it is in use cannot be found out.
    #[error("cannot find out who uses {name}: {tried}: {source}")]
    Unknown {
        /// The target.
        name: String,
        /// What was tried.
        tried: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Conflicts one after the other.
fn sentence(conflicts: &[Conflict]) -> String {
    let words: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    words.join("; ")
}

impl Refusal {
    /// A refusal always counts as one.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Refused
    }

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::NoConsent { name } => format!(
                "everything on it would be lost; if that is meant, add --overwrite {name}, else \
                 name a directory: a scratch file is made there"
            ),
            Self::OtherPath { name, .. } => {
                format!("--overwrite must name the target itself: --overwrite {name}")
            }
            Self::InUse { .. } => "unmount it, swapoff, or stop what holds it, if its content may \
                                   really go; no option overrides this"
                .to_owned(),
            Self::ReadOnly { .. } => {
                "lift the write protection (blockdev --setrw, or a switch on the medium) if its \
                 content may really go"
                    .to_owned()
            }
            Self::Unknown { .. } if rustix::process::geteuid().is_root() => {
                "mount /proc and /sys, then start again".to_owned()
            }
            Self::Unknown { .. } => "try as root, with /proc and /sys mounted".to_owned(),
        }
    }
}

/// The permission to write one medium. There is no other way to one than [`permit`].
#[derive(Debug)]
pub struct WritePermit {
    id: FileId,
    /// Of a block device: opened with `O_EXCL`, so that nobody can mount or stack anything on it.
    _hold: Option<OwnedFd>,
}

impl WritePermit {
    /// What it was given for.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }
}

/// Looks for what forbids writing a medium whatever anybody consents to, so that nobody is asked in
/// vain. A block device is held for that moment.
///
/// # Errors
/// When it is in use or read-only.
pub fn check_free(roots: &Roots, medium: &Medium) -> Result<(), Refusal> {
    check_use(roots, medium)?;
    match medium.target.kind {
        TargetKind::BlockDevice => hold(medium).map(drop),
        _ => Ok(()),
    }
}

/// Permits writing a medium, or refuses. `consent` is the path that the user named as the one to
/// overwrite; a scratch file needs none.
///
/// # Errors
/// Without consent, with consent to something else, or when the medium is in use or read-only.
pub fn permit(
    roots: &Roots,
    medium: &Medium,
    consent: Option<&Path>,
) -> Result<WritePermit, Refusal> {
    if medium.target.kind == TargetKind::Scratch {
        return Ok(unheld(medium));
    }
    check_use(roots, medium)?;
    check_consent(medium, consent)?;
    let hold = match medium.target.kind {
        TargetKind::BlockDevice => Some(hold(medium)?),
        _ => None,
    };
    // Whoever came between the first look and the hold is seen now.
    check_use(roots, medium)?;
    Ok(WritePermit {
        id: medium.id(),
        _hold: hold,
    })
}

/// The permit that every scratch file carries: nobody else can ever have opened it.
pub(super) fn scratch_permit(medium: &Medium) -> Result<WritePermit, Refusal> {
    if medium.target.kind == TargetKind::Scratch {
        return Ok(unheld(medium));
    }
    Err(Refusal::NoConsent {
        name: medium.target.name.clone(),
    })
}

fn unheld(medium: &Medium) -> WritePermit {
    WritePermit {
        id: medium.id(),
        _hold: None,
    }
}

/// What is asked again as soon as a descriptor that writes is open.
pub(super) fn check_opened(roots: &Roots, medium: &Medium) -> Result<(), DriveError> {
    if medium.target.kind != TargetKind::Scratch {
        check_use(roots, medium)?;
    }
    Ok(())
}

/// Whether it is read-only or used by anybody, as far as /proc and /sys tell.
fn check_use(roots: &Roots, medium: &Medium) -> Result<(), Refusal> {
    let name = &medium.target.name;
    if medium.device_number().is_some() && ioctl::is_read_only(medium.anchor()).unwrap_or(false) {
        return Err(Refusal::ReadOnly { name: name.clone() });
    }
    let conflicts = conflicts::find(roots, medium)?;
    if conflicts.is_empty() {
        return Ok(());
    }
    Err(Refusal::InUse {
        name: name.clone(),
        conflicts,
    })
}

/// Whether the consent names this very medium, by whatever path.
fn check_consent(medium: &Medium, consent: Option<&Path>) -> Result<(), Refusal> {
    let name = medium.target.name.clone();
    let Some(path) = consent else {
        return Err(Refusal::NoConsent { name });
    };
    let named = fs::metadata(path).map(|metadata| FileId::of(&metadata));
    if named.is_ok_and(|id| id == medium.id()) {
        return Ok(());
    }
    Err(Refusal::OtherPath {
        name,
        given: super::identity::harmless(&path.to_string_lossy()),
    })
}

/// Takes a block device for ourselves: fails when a file system, swap, a stacked device or
/// another program has done so, also in a place that /proc does not show us (open(2), `O_EXCL`
/// without `O_CREAT`).
fn hold(medium: &Medium) -> Result<OwnedFd, Refusal> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let path = format!(
        "/proc/self/fd/{}",
        std::os::fd::AsRawFd::as_raw_fd(&medium.anchor().as_fd())
    );
    rustix::fs::open(path, flags, Permissions::empty()).map_err(|error| match error {
        Errno::BUSY => Refusal::InUse {
            name: medium.target.name.clone(),
            conflicts: vec![Conflict::Exclusive],
        },
        _ => Refusal::Unknown {
            name: medium.target.name.clone(),
            tried: "open it exclusively",
            source: error.into(),
        },
    })
}
