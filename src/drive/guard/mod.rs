//! Whether a medium may be written. Nothing else in the program leads to a descriptor that writes.
//!
//! Consent names the target; use forbids it, and no option overrides that. While a [`WritePermit`]
//! for a block device lives, the kernel keeps file systems, swap and stacked devices off it.

pub mod conflicts;
mod history;
mod hold;
mod inspect;
mod obstacles;
mod signatures;
#[cfg(test)]
mod tests;
mod watch;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::target::{FileId, Medium, TargetKind, without_slash};
use super::{DriveError, ErrorKind};
use crate::roots::Roots;

use conflicts::Depth;
pub use conflicts::{Conflict, Unresolved};
use hold::Hold;
pub use inspect::{Inspection, Part, inspect};
pub use obstacles::Obstacle;
pub use watch::WriteWatch;

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
    #[error("{name} {obstacle}")]
    NotWritable {
        /// The target.
        name: String,
        /// Why not.
        obstacle: Obstacle,
    },
    /// Some of the questions about its use have no answer, and that counts as a use.
    #[error("cannot find out whether {name} is in use: {}", questions(.unresolved))]
    Unresolved {
        /// The target.
        name: String,
        /// What could not be found out; never empty.
        unresolved: Vec<Unresolved>,
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

/// Questions one after the other.
fn questions(unresolved: &[Unresolved]) -> String {
    let words: Vec<String> = unresolved.iter().map(ToString::to_string).collect();
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
            Self::NotWritable { obstacle, .. } => obstacle.advice().to_owned(),
            Self::Unresolved { .. } => "try as root on the host, with /proc and /sys mounted, or \
                                        name a directory: a scratch file is made there"
                .to_owned(),
            Self::Unknown { .. } => "try as root, with /proc and /sys mounted".to_owned(),
        }
    }
}

/// The permission to write one medium. There is no other way to one than [`permit`].
#[derive(Debug)]
pub struct WritePermit {
    id: FileId,
    /// What keeps others off it meanwhile; nothing for a scratch file.
    _hold: Option<Hold>,
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
        TargetKind::BlockDevice => Hold::is_free(medium),
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
    let mut hold = Hold::take(medium)?;
    // Whoever came between the first look and the hold is seen now.
    hold.add(check(roots, medium, Depth::Held)?);
    Ok(WritePermit {
        id: medium.id(),
        _hold: Some(hold),
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
        check(roots, medium, Depth::Tables)?;
    }
    Ok(())
}

/// Whether it is read-only or used by anybody, as far as the kernel tells.
fn check_use(roots: &Roots, medium: &Medium) -> Result<(), Refusal> {
    if let Some(obstacle) = obstacles::known(medium) {
        return Err(Refusal::NotWritable {
            name: medium.target.name.clone(),
            obstacle,
        });
    }
    check(roots, medium, Depth::Full).map(drop)
}

/// Whether anybody uses it; other devices with the same bytes are held as long as the result lives.
fn check(roots: &Roots, medium: &Medium, depth: Depth) -> Result<Vec<OwnedFd>, Refusal> {
    let name = medium.target.name.clone();
    let usage = conflicts::find(roots, medium, depth)?;
    if !usage.conflicts.is_empty() {
        return Err(Refusal::InUse {
            name,
            conflicts: usage.conflicts,
        });
    }
    if !usage.unresolved.is_empty() {
        return Err(Refusal::Unresolved {
            name,
            unresolved: usage.unresolved,
        });
    }
    Ok(usage.holds)
}

/// Whether the consent names this very medium, by whatever path.
fn check_consent(medium: &Medium, consent: Option<&Path>) -> Result<(), Refusal> {
    let name = medium.target.name.clone();
    let Some(path) = consent else {
        return Err(Refusal::NoConsent { name });
    };
    let named = fs::metadata(without_slash(path)).map(|metadata| FileId::of(&metadata));
    if named.is_ok_and(|id| id == medium.id()) {
        return Ok(());
    }
    Err(Refusal::OtherPath {
        name,
        given: super::identity::harmless(&path.to_string_lossy()),
    })
}
