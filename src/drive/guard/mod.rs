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
mod overwrite_impact;
mod partition_table;
mod siblings;
mod signatures;
#[cfg(test)]
mod tests;
mod watch;

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::free_space::FreeSpace;
use super::medium::{FileId, OpenMedium, TargetKind};
use super::{DriveError, ErrorKind};
use crate::privilege;
use crate::roots::SysPaths;

use self::conflicts::{Alias, MediumUsage, SearchDepth};
use self::hold::ExclusiveHold;

pub use self::bytes::ReadFailure;
pub use self::conflicts::{UnresolvedUse, UseConflict};
pub use self::consent::{Consent, InspectedMedium, MediumChange};
pub use self::contents::MediumContents;
pub use self::inspect::{Inspection, TargetPartition, inspect_target};
pub use self::obstacles::Obstacle;
pub use self::overwrite_impact::OverwriteImpact;
pub use self::partition_table::PartitionRange;
pub use self::signatures::Signature;
pub use self::watch::WriteWatch;

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
    ConsentPathMismatch {
        /// The target.
        name: String,
        /// What the consent names.
        given: String,
    },
    /// It is not what the consent was given for any more.
    #[error("{name} has changed since it was opened: {change}")]
    MediumChanged {
        /// The target.
        name: String,
        /// What is different.
        change: MediumChange,
    },
    /// File systems or other formats on it are not included in the consent.
    #[error("{name} holds {}", .found.join("; "))]
    SignaturesNotIncluded {
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
        size = crate::units::format_capacity(*.size as f64),
        free = crate::units::format_capacity(*.free as f64),
        reserve = crate::units::format_capacity(*.reserve as f64)
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
    #[error("{name} is in use: {}", conflicts_text(.conflicts))]
    InUse {
        /// The target.
        name: String,
        /// By whom, the most telling first; never empty.
        conflicts: Vec<UseConflict>,
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
    #[error("cannot find out whether {name} is in use: {}", unresolved_text(.unresolved))]
    Unresolved {
        /// The target.
        name: String,
        /// What could not be found out; never empty.
        unresolved: Vec<UnresolvedUse>,
    },
    /// Whether it is in use cannot be found out.
    #[error("cannot find out who uses {name}: {tried}: {source}")]
    UseUnknown {
        /// The target.
        name: String,
        /// What was tried.
        tried: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Conflicts one after the other.
fn conflicts_text(conflicts: &[UseConflict]) -> String {
    let words: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    words.join("; ")
}

/// Questions one after the other.
fn unresolved_text(unresolved: &[UnresolvedUse]) -> String {
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
            Self::ConsentPathMismatch { name, .. } => {
                format!("--overwrite must name the target itself: --overwrite {name}")
            }
            Self::MediumChanged { .. } => {
                "nothing was written; look again what is there now, then start again".to_owned()
            }
            Self::SignaturesNotIncluded { name, .. } => format!(
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
            Self::Unresolved { .. } => privilege::root_advice(
                " on the host, with /proc and /sys mounted, or name a directory: a scratch file is \
                 made there",
                "run it on the host, with /proc and /sys mounted, or name a directory: a scratch \
                 file is made there",
            ),
            Self::UseUnknown { .. } => privilege::root_advice(
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
    known_use: Arc<KnownUse>,
    /// What keeps others off it meanwhile; nothing for a scratch file.
    _hold: Option<ExclusiveHold>,
}

impl WritePermit {
    /// What it was given for.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// What was known of its users when it was given.
    pub(crate) fn known(&self) -> &Arc<KnownUse> {
        &self.known_use
    }
}

/// What was known of the users of a medium when a permit was given. Anything new ends the writing.
#[derive(Debug, Default)]
pub(crate) struct KnownUse {
    /// Questions that were open and did not matter: the kernel proved that nobody else had the file
    /// open.
    unresolved: Vec<UnresolvedUse>,
    /// Other devices with the same bytes, which the permit holds.
    aliases: Vec<String>,
}

/// Looks for what forbids writing a medium whatever anybody consents to, so that nobody is asked in
/// vain. A block device is held for that moment.
///
/// # Errors
/// When it is in use or read-only.
pub fn check_not_in_use(roots: &SysPaths, medium: &OpenMedium) -> Result<(), Refusal> {
    check_writable_and_unused(roots, medium)?;
    match medium.target.kind {
        TargetKind::BlockDevice => ExclusiveHold::check_available(medium),
        _ => Ok(()),
    }
}

/// Permits writing a medium, or refuses. A scratch file needs no consent.
///
/// # Errors
/// Without consent, with consent to something else or to less than would be lost, or when the
/// medium is in use or read-only.
pub fn permit_writing(
    roots: &SysPaths,
    medium: &OpenMedium,
    consent: Option<&Consent>,
) -> Result<WritePermit, Refusal> {
    if medium.target.kind == TargetKind::ScratchFile {
        return Ok(permit_without_hold(medium));
    }
    let mut known = KnownUse {
        unresolved: check_writable_and_unused(roots, medium)?.initially_unresolved,
        aliases: Vec::new(),
    };
    consent::check_path(medium, consent)?;
    check_copy(roots, medium, consent)?;
    let mut hold = ExclusiveHold::acquire(medium)?;
    // Whoever came between the first look and the hold is seen now.
    let held = check_unused(roots, medium, SearchDepth::HeldMedium, &known)?;
    known.aliases = held.aliases.into_iter().map(|one| one.name).collect();
    let others = held.alias_holds;
    siblings::write_back_held_aliases(&others);
    hold.add_aliases(others);
    // Nobody can make a file system known to the kernel from here on, neither on the medium nor on
    // another device with its bytes: what is there now stays.
    if let Some(consent) = consent {
        consent::check_medium(roots, medium, consent, Some(hold.file()))?;
    }
    Ok(WritePermit {
        id: medium.file_id(),
        known_use: Arc::new(known),
        _hold: Some(hold),
    })
}

/// Opening a file of a lower directory of an overlay for writing copies it to the upper one, which is
/// not taken back: what can be refused is refused before, and all of it must fit.
fn check_copy(
    roots: &SysPaths,
    medium: &OpenMedium,
    consent: Option<&Consent>,
) -> Result<(), Refusal> {
    if !conflicts::is_copied_when_opened(roots, medium) {
        return Ok(());
    }
    if let Some(consent) = consent {
        consent::check_medium(roots, medium, consent, None)?;
    }
    let (name, size) = (&medium.target.name, medium.target.size_bytes);
    match FreeSpace::of_file(roots, medium.anchor(), name) {
        Ok(room) if room.usable_bytes() < size => Err(Refusal::NoRoomForCopy {
            name: name.clone(),
            size,
            free: room.free_bytes,
            reserve: room.reserve_bytes,
        }),
        _ => Ok(()),
    }
}

/// How the kernel uses a regular file as a medium.
#[derive(Debug, Default)]
pub struct FileUses {
    /// Its bytes are those of a loop device, a mounted file system, swap or an export.
    pub conflicts: Vec<UseConflict>,
    /// What leaves open whether they are.
    pub unresolved: Vec<UnresolvedUse>,
}

/// How the kernel uses a regular file as a medium. Nothing for an ordinary file, and where /proc and
/// /sys are missing. `written`: the file, open for writing, where it is going to be written in place.
///
/// # Errors
/// When the tables of the kernel cannot be read.
pub fn find_file_uses(
    roots: &SysPaths,
    id: FileId,
    name: &str,
    written: Option<&File>,
) -> Result<FileUses, Refusal> {
    match conflicts::find_file_usage(roots, id, name, written) {
        Err(Refusal::UseUnknown { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(FileUses::default())
        }
        found => found.map(|usage| FileUses {
            conflicts: usage.conflicts,
            unresolved: usage.unresolved,
        }),
    }
}

/// The permit that every scratch file carries: nobody else can ever have opened it.
pub(super) fn scratch_permit(medium: &OpenMedium) -> Result<WritePermit, Refusal> {
    if medium.target.kind == TargetKind::ScratchFile {
        return Ok(permit_without_hold(medium));
    }
    Err(Refusal::NoConsent {
        name: medium.target.name.clone(),
    })
}

fn permit_without_hold(medium: &OpenMedium) -> WritePermit {
    WritePermit {
        id: medium.file_id(),
        known_use: Arc::default(),
        _hold: None,
    }
}

/// What is asked again as soon as a descriptor that writes is open.
pub(super) fn check_after_open(
    roots: &SysPaths,
    medium: &OpenMedium,
    permit: &WritePermit,
) -> Result<(), DriveError> {
    if medium.target.kind != TargetKind::ScratchFile {
        check_unused(
            roots,
            medium,
            SearchDepth::KernelTablesOnly,
            &permit.known_use,
        )?;
    }
    Ok(())
}

/// Whether it is read-only or used by anybody, as far as the kernel tells.
fn check_writable_and_unused(
    roots: &SysPaths,
    medium: &OpenMedium,
) -> Result<MediumUsage, Refusal> {
    if let Some(obstacle) = obstacles::find_obstacle(medium) {
        return Err(Refusal::NotWritable {
            name: medium.target.name.clone(),
            obstacle,
        });
    }
    check_unused(roots, medium, SearchDepth::Full, &KnownUse::default())
}

/// Whether anybody uses it; other devices with the same bytes are held as long as the result lives.
fn check_unused(
    roots: &SysPaths,
    medium: &OpenMedium,
    depth: SearchDepth,
    known: &KnownUse,
) -> Result<MediumUsage, Refusal> {
    let name = medium.target.name.clone();
    let mut usage = conflicts::find_medium_usage(roots, medium, depth, &known.unresolved)?;
    if depth == SearchDepth::KernelTablesOnly {
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
