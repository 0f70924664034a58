//! Whether a medium may be written. Nothing else in the program leads to a descriptor that writes.
//!
//! Consent names the target; use forbids it, and no option overrides that. While a [`WritePermit`]
//! for a block device lives, the kernel keeps file systems, swap and stacked devices off it.

mod bytes;
pub mod conflicts;
mod consent;
mod contents;
mod history;
mod hold;
mod inspect;
mod medium_reader;
mod obstacles;
mod partition_table;
mod siblings;
mod signatures;
#[cfg(test)]
mod tests;
mod watch;

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::room::Room;
use super::target::{FileId, Medium, TargetKind};
use super::{DriveError, ErrorKind};
use crate::privilege;
use crate::roots::Roots;

use conflicts::{Alias, Depth, Usage};
use hold::Hold;

pub use bytes::ReadFailure;
pub use conflicts::{Conflict, Unresolved};
pub use consent::{Change, Consent, InspectedMedium};
pub use contents::Contents;
pub use inspect::{Inspection, Part, inspect};
pub use obstacles::Obstacle;
pub use partition_table::PartitionRange;
pub use signatures::Signature;
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
    /// It is not what the consent was given for any more.
    #[error("{name} has changed since it was opened: {change}")]
    Changed {
        /// The target.
        name: String,
        /// What is different.
        change: Change,
    },
    /// File systems or other formats on it are not included in the consent.
    #[error("{name} holds {}", .found.join("; "))]
    Signatures {
        /// The target.
        name: String,
        /// What would be lost; never empty.
        found: Vec<String>,
    },
    /// Another user decides what the name leads to.
    #[error("{name} is not overwritten: {reason}")]
    Untrusted {
        /// The target.
        name: String,
        /// Who could redirect it, and how.
        reason: String,
    },
    /// Opening a file of a lower directory for writing copies it, and there is no room for that.
    #[error(
        "{name} lies in a lower directory of an overlay: writing copies all {size} of it, and {free} \
         are free of which {reserve} must stay free",
        size = crate::units::capacity(*.size as f64),
        free = crate::units::capacity(*.free as f64),
        reserve = crate::units::capacity(*.reserve as f64)
    )]
    NoRoomForCopy {
        /// The target.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Free bytes of the upper directory.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
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
            Self::Changed { .. } => {
                "nothing was written; look again what is there now, then start again".to_owned()
            }
            Self::Signatures { name, .. } => format!(
                "all of that would be lost; if that is meant, add --overwrite-signatures beside \
                 --overwrite {name}"
            ),
            Self::Untrusted { .. } => {
                "name the target by its real path, without links of other users".to_owned()
            }
            Self::NoRoomForCopy { .. } => {
                "make room on the file system of the upper directory, or name another file"
                    .to_owned()
            }
            Self::InUse { .. } => "unmount it, swapoff, or stop what holds it, if its content may \
                                   really go; no option overrides this"
                .to_owned(),
            Self::NotWritable { obstacle, .. } => obstacle.advice().to_owned(),
            Self::Unresolved { .. } => privilege::as_root_or(
                " on the host, with /proc and /sys mounted, or name a directory: a scratch file is \
                 made there",
                "run it on the host, with /proc and /sys mounted, or name a directory: a scratch \
                 file is made there",
            ),
            Self::Unknown { .. } => privilege::as_root_or(
                ", with /proc and /sys mounted",
                "mount /proc and /sys, then start again",
            ),
        }
    }
}

/// The permission to write one medium. There is no other way to one than [`permit`].
#[derive(Debug)]
pub struct WritePermit {
    id: FileId,
    known: Arc<KnownUse>,
    /// What keeps others off it meanwhile; nothing for a scratch file.
    _hold: Option<Hold>,
}

impl WritePermit {
    /// What it was given for.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// What was known of its users when it was given.
    pub(crate) fn known(&self) -> &Arc<KnownUse> {
        &self.known
    }
}

/// What was known of the users of a medium when a permit was given. Anything new ends the writing.
#[derive(Debug, Default)]
pub(crate) struct KnownUse {
    /// Questions that were open and did not matter: the kernel proved that nobody else had the file
    /// open.
    questions: Vec<Unresolved>,
    /// Other devices with the same bytes, which the permit holds.
    aliases: Vec<String>,
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

/// Permits writing a medium, or refuses. A scratch file needs no consent.
///
/// # Errors
/// Without consent, with consent to something else or to less than would be lost, or when the
/// medium is in use or read-only.
pub fn permit(
    roots: &Roots,
    medium: &Medium,
    consent: Option<&Consent>,
) -> Result<WritePermit, Refusal> {
    if medium.target.kind == TargetKind::Scratch {
        return Ok(unheld(medium));
    }
    let mut known = KnownUse {
        questions: check_use(roots, medium)?.questions,
        aliases: Vec::new(),
    };
    consent::check_path(medium, consent)?;
    check_copy(roots, medium, consent)?;
    let mut hold = Hold::take(medium)?;
    // Whoever came between the first look and the hold is seen now.
    let held = check(roots, medium, Depth::Held, &known)?;
    known.aliases = held.aliases.into_iter().map(|one| one.name).collect();
    let others = held.holds;
    siblings::write_back_held(&others);
    hold.add(others);
    // Nobody can make a file system known to the kernel from here on, neither on the medium nor on
    // another device with its bytes: what is there now stays.
    if let Some(consent) = consent {
        consent::check_medium(roots, medium, consent, Some(hold.file()))?;
    }
    Ok(WritePermit {
        id: medium.id(),
        known: Arc::new(known),
        _hold: Some(hold),
    })
}

/// Opening a file of a lower directory of an overlay for writing copies it to the upper one, which is
/// not taken back: what can be refused is refused before, and all of it must fit.
fn check_copy(roots: &Roots, medium: &Medium, consent: Option<&Consent>) -> Result<(), Refusal> {
    if !conflicts::is_copied_when_opened(roots, medium) {
        return Ok(());
    }
    if let Some(consent) = consent {
        consent::check_medium(roots, medium, consent, None)?;
    }
    let (name, size) = (&medium.target.name, medium.target.size);
    match Room::around(roots, medium.anchor(), name) {
        Ok(room) if room.usable() < size => Err(Refusal::NoRoomForCopy {
            name: name.clone(),
            size,
            free: room.free,
            reserve: room.reserve,
        }),
        _ => Ok(()),
    }
}

/// How the kernel uses a regular file as a medium.
#[derive(Debug, Default)]
pub struct FileUses {
    /// Its bytes are those of a loop device, a mounted file system, swap or an export.
    pub conflicts: Vec<Conflict>,
    /// What leaves open whether they are.
    pub unresolved: Vec<Unresolved>,
}

/// How the kernel uses a regular file as a medium. Nothing for an ordinary file, and where /proc and
/// /sys are missing. `written`: the file, open for writing, where it is going to be written in place.
///
/// # Errors
/// When the tables of the kernel cannot be read.
pub fn uses_of_file(
    roots: &Roots,
    id: FileId,
    name: &str,
    written: Option<&File>,
) -> Result<FileUses, Refusal> {
    match conflicts::find_for_file(roots, id, name, written) {
        Err(Refusal::Unknown { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(FileUses::default())
        }
        found => found.map(|usage| FileUses {
            conflicts: usage.conflicts,
            unresolved: usage.unresolved,
        }),
    }
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
        known: Arc::default(),
        _hold: None,
    }
}

/// What is asked again as soon as a descriptor that writes is open.
pub(super) fn check_opened(
    roots: &Roots,
    medium: &Medium,
    permit: &WritePermit,
) -> Result<(), DriveError> {
    if medium.target.kind != TargetKind::Scratch {
        check(roots, medium, Depth::Tables, &permit.known)?;
    }
    Ok(())
}

/// Whether it is read-only or used by anybody, as far as the kernel tells.
fn check_use(roots: &Roots, medium: &Medium) -> Result<Usage, Refusal> {
    if let Some(obstacle) = obstacles::known(medium) {
        return Err(Refusal::NotWritable {
            name: medium.target.name.clone(),
            obstacle,
        });
    }
    check(roots, medium, Depth::Full, &KnownUse::default())
}

/// Whether anybody uses it; other devices with the same bytes are held as long as the result lives.
fn check(roots: &Roots, medium: &Medium, depth: Depth, known: &KnownUse) -> Result<Usage, Refusal> {
    let name = medium.target.name.clone();
    let mut usage = conflicts::find(roots, medium, depth, &known.questions)?;
    if depth == Depth::Tables {
        // Nobody holds it: it could be mounted in any mount namespace.
        let new = usage
            .aliases
            .iter()
            .filter(|one| !known.aliases.contains(&one.name));
        usage.conflicts.extend(new.map(Alias::conflict));
    }
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
    Ok(usage)
}
