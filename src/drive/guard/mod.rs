//! Decides whether a medium may be written. No other module gives out a descriptor for writing.
//!
//! Consent names the target. A target in use is never written, and no option overrides that. During
//! the lifetime of a [`WritePermit`] for a block device the kernel refuses file systems, swap and
//! stacked devices on it.

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
pub(super) mod siblings;
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

/// Reason why writing is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No consent was given.
    #[error("this test would overwrite {name}")]
    NoConsent {
        /// The target.
        name: String,
    },
    /// The consent names another target.
    #[error("the consent names {given}, but the target is {name}")]
    ConsentPathMismatch {
        /// The target.
        name: String,
        /// The target that the consent names.
        given: String,
    },
    /// The medium has changed since consent was given.
    #[error("{name} has changed since it was opened: {change}")]
    MediumChanged {
        /// The target.
        name: String,
        /// The difference.
        change: MediumChange,
    },
    /// The consent does not cover file systems or other formats on it.
    #[error("{name} holds {}", .found.join("; "))]
    SignaturesNotIncluded {
        /// The target.
        name: String,
        /// What would be destroyed; never empty.
        found: Vec<String>,
    },
    /// Another user can redirect the name.
    #[error("{name} is not overwritten: {reason}")]
    Untrusted {
        /// The target.
        name: String,
        /// Who can redirect it, and how.
        reason: String,
    },
    /// Opening a file of a lower directory for writing copies it, and there is not enough free
    /// space for the copy.
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
    /// The target is in use.
    #[error("{name} is in use: {}", conflicts_text(.conflicts))]
    InUse {
        /// The target.
        name: String,
        /// Its users, the most relevant first; never empty.
        conflicts: Vec<UseConflict>,
    },
    /// The target cannot be written at all.
    #[error("{name} {obstacle}")]
    NotWritable {
        /// The target.
        name: String,
        /// The reason.
        obstacle: Obstacle,
    },
    /// Some uses cannot be determined, which counts as in use.
    #[error("cannot find out whether {name} is in use: {}", unresolved_text(.unresolved))]
    Unresolved {
        /// The target.
        name: String,
        /// What could not be determined; never empty.
        unresolved: Vec<UnresolvedUse>,
    },
    /// Its users cannot be determined.
    #[error("cannot find out who uses {name}: {tried}: {source}")]
    UseUnknown {
        /// The target.
        name: String,
        /// The operation.
        tried: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// Joins the descriptions of the conflicts.
fn conflicts_text(conflicts: &[UseConflict]) -> String {
    let words: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    words.join("; ")
}

/// Joins the descriptions of the unresolved uses.
fn unresolved_text(unresolved: &[UnresolvedUse]) -> String {
    let words: Vec<String> = unresolved.iter().map(ToString::to_string).collect();
    words.join("; ")
}

impl Refusal {
    /// A refusal always maps to the class `Refused`.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Refused
    }

    /// Advice on how to resolve the refusal, one sentence.
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

/// The permission to write one medium. [`permit_writing`] grants it; scratch files carry their own.
#[derive(Debug)]
pub struct WritePermit {
    id: FileId,
    known_use: Arc<KnownUse>,
    /// Excludes other users for the lifetime of the permit; `None` for a scratch file.
    _hold: Option<ExclusiveHold>,
}

impl WritePermit {
    /// The medium that the permit is valid for.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// The users known when the permit was given.
    pub(crate) fn known(&self) -> &Arc<KnownUse> {
        &self.known_use
    }
}

/// The users of a medium known when a permit was given. Any new user ends the writing.
#[derive(Debug, Default)]
pub(crate) struct KnownUse {
    /// Uses that are unresolved but irrelevant: the kernel proved that no one else had the file
    /// open.
    unresolved: Vec<UnresolvedUse>,
    /// Other devices with the same bytes, which the permit holds exclusively.
    aliases: Vec<String>,
}

/// Checks for conditions that forbid writing regardless of consent, so that consent is not
/// requested for nothing. A block device is held exclusively during the check.
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

/// Gives permission to write a medium, or refuses. A scratch file needs no consent.
///
/// # Errors
/// Without consent, when the consent names another target or covers less than would be destroyed,
/// or when the medium is in use or read-only.
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
    // Detects users that appeared between the first check and the exclusive open.
    let held = check_unused(roots, medium, SearchDepth::HeldMedium, &known)?;
    known.aliases = held.aliases.into_iter().map(|one| one.name).collect();
    let others = held.alias_holds;
    siblings::write_back_held_aliases(&others);
    hold.add_aliases(others);
    // From here on no file system can be mounted on the medium or on another device with its bytes:
    // the contents no longer change.
    if let Some(consent) = consent {
        consent::check_medium(roots, medium, consent, Some(hold.file()))?;
    }
    Ok(WritePermit {
        id: medium.file_id(),
        known_use: Arc::new(known),
        _hold: Some(hold),
    })
}

/// Opening a file of a lower directory of an overlay for writing copies it to the upper directory,
/// which cannot be undone. So all checks come first, and the whole file must fit.
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

/// Uses of a regular file as a medium by the kernel.
#[derive(Debug, Default)]
pub struct FileUses {
    /// Uses as the backing file of a loop device, a mounted file system, swap or an export.
    pub conflicts: Vec<UseConflict>,
    /// Uses that cannot be determined.
    pub unresolved: Vec<UnresolvedUse>,
}

/// Uses of a regular file as a medium by the kernel. Empty for an ordinary file, and without /proc
/// and /sys. `written`: the file, open for writing, if it will be written in place.
///
/// # Errors
/// When the kernel's tables cannot be read.
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

/// The permit of a scratch file: it has no name, so no one else can have opened it.
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

/// Checks again once a descriptor for writing is open.
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

/// Checks that the medium is writable and has no users that the kernel reports.
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

/// Checks that the medium has no users. Other devices with the same bytes are held exclusively
/// during the lifetime of the result.
fn check_unused(
    roots: &SysPaths,
    medium: &OpenMedium,
    depth: SearchDepth,
    known: &KnownUse,
) -> Result<MediumUsage, Refusal> {
    let name = medium.target.name.clone();
    let mut usage = conflicts::find_medium_usage(roots, medium, depth, &known.unresolved)?;
    if depth == SearchDepth::KernelTablesOnly {
        // It is not held exclusively, so it could be mounted in any mount namespace.
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
