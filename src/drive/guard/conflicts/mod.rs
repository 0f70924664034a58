//! Who uses the bytes of a medium: the medium itself, what lies on it, what it lies on, and
//! everything else that leads to the same bytes.
//!
//! What cannot be found out is kept as [`Unresolved`] and counts as a use.

pub mod device_mapper;
mod device_nodes;
mod device_stack;
pub mod exports;
pub mod file_locks;
mod loop_devices;
pub mod mappings;
mod mount_tables;
pub mod open_users;
mod overlay;
mod passthrough;
mod process_list;
mod same_disk;
mod same_file;
mod sole_opener;
mod words;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use self::device_stack::StackSearch;
use self::file_locks::{LOCK_RETRY_INTERVAL, LOCK_TIMEOUT};
use self::open_users::{OpenKind, OpenUsers, UnseenProcesses};
use self::overlay::UnderlyingFile;
use super::Refusal;
use super::hold::ExclusiveHold;
use crate::drive::identity::sanitized;
use crate::drive::medium::{FileId, OpenMedium, TargetKind};
use crate::roots::SysPaths;

/// One use that forbids writing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseConflict {
    /// A file system is mounted.
    Mounted {
        /// The device that it lies on, or the file.
        device: String,
        /// Where.
        at: String,
    },
    /// A file system is mounted in another mount namespace, such as a container's.
    MountedInOtherNamespace {
        /// The device that it lies on, or the file.
        device: String,
        /// Where in that namespace.
        at: String,
        /// A process of that namespace.
        process: u32,
    },
    /// A mounted file system of several devices has it among them.
    FileSystemMember {
        /// The device.
        device: String,
        /// Type and identity of the file system, such as `btrfs UUID`.
        file_system: String,
    },
    /// The kernel swaps to it.
    UsedAsSwap {
        /// The device or file.
        device: String,
    },
    /// A loop device is attached to it.
    AttachedLoopDevice {
        /// The device or file.
        device: String,
        /// The loop device.
        by: String,
    },
    /// Another device lies on it.
    HeldByDevice {
        /// The device.
        device: String,
        /// What lies on it.
        by: String,
    },
    /// Another device in use has, or may have, the same sectors.
    OverlappingSectors {
        /// The other device.
        device: String,
        /// What both lie on, or the disk that both are paths to.
        lower: String,
    },
    /// A device that came up meanwhile is another path to the same disk.
    OtherPath {
        /// The device.
        device: String,
        /// The disk, by the name of the path that is used.
        disk: String,
    },
    /// The kernel serves it to other machines.
    Exported {
        /// The device or file.
        device: String,
        /// By what, such as `nvmet subsystem NAME`.
        by: String,
    },
    /// A process has it open.
    OpenByProcess {
        /// The device or file.
        device: String,
        /// Its number.
        process: u32,
        /// Its name.
        command: String,
        /// Whether by a shared writable mapping, and not by a descriptor.
        mapped: bool,
    },
    /// A process has it mapped, for whatever purpose.
    MappedByProcess {
        /// The device or file.
        device: String,
        /// Its number.
        process: u32,
        /// Its name.
        command: String,
    },
    /// A process reads it and serves a FUSE file system, perhaps from it.
    Served {
        /// The device or file.
        device: String,
        /// Its number.
        process: u32,
        /// Its name.
        command: String,
    },
    /// Somebody whom /proc does not show has it open for writing.
    OpenByUnknown {
        /// The file.
        device: String,
    },
    /// Somebody holds a lock on it.
    Locked {
        /// The device or file.
        device: String,
        /// Number and name of the process, where they can be told.
        by: Option<(u32, String)>,
    },
    /// Another program, or a file system elsewhere, has taken a device with the same bytes for
    /// itself (`O_EXCL`).
    AliasOpenedExclusively {
        /// That device.
        device: String,
    },
    /// Another program, or a file system elsewhere, has taken it for itself (`O_EXCL`).
    OpenedExclusively,
}

/// One question about the use of a medium that could not be answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnresolvedUse {
    /// What a loop device is attached to.
    LoopDevice {
        /// The loop device.
        device: String,
        /// Why not.
        reason: String,
    },
    /// Which file a file system is mounted from.
    MountSource {
        /// Where it is mounted.
        at: String,
        /// What the table of mounts says.
        source: String,
    },
    /// Which file a file system is mounted from that no visible table of mounts may have.
    UnlistedMountSource {
        /// Its name in sysfs.
        name: String,
    },
    /// Who has a file open for reading.
    OpenForReading,
    /// Whether a device with the same bytes is taken.
    AliasInUse {
        /// The device.
        device: String,
        /// Why not.
        reason: String,
    },
    /// Which file of the upper directory an overlay's file is.
    OverlayUpperFile {
        /// The mount point of the overlay.
        at: String,
    },
    /// What is served to other machines.
    Export {
        /// By what.
        by: String,
    },
    /// Which processes have it open.
    OpenDescriptors(UnseenProcesses),
    /// What a table of the kernel says that cannot be read.
    UnreadableTable {
        /// The file or directory.
        path: String,
        /// Why not.
        reason: String,
    },
    /// Whether it came into use while it was written.
    UseWhileWriting {
        /// Why not.
        reason: &'static str,
    },
    /// What is mounted in other mount namespaces.
    OtherNamespaceMounts {
        /// Why not.
        reason: &'static str,
    },
    /// Whether anybody has the file open: no lease can be taken on it.
    LeaseUnavailable {
        /// Why not.
        reason: String,
    },
}

impl UnresolvedUse {
    /// That a table cannot be read.
    fn unreadable(path: &std::path::Path, error: &io::Error) -> Self {
        Self::UnreadableTable {
            path: sanitized(&path.to_string_lossy()),
            reason: error.to_string(),
        }
    }
}

/// Another device with bytes of a medium, which nobody uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alias {
    /// The kernel's name.
    pub name: String,
    /// How it comes to the same bytes.
    pub kind: AliasKind,
}

/// How a device comes to bytes of a medium.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AliasKind {
    /// A loop device that is attached to what the medium is attached to.
    SiblingLoopDevice {
        /// The file or device.
        lower: String,
    },
    /// A device-mapper or md device on what the medium lies on.
    StackedDevice {
        /// The lower device.
        lower: String,
    },
    /// Another path to the disk.
    DiskPath {
        /// The disk, by the name of the path that leads to the medium.
        disk: String,
    },
    /// The device that a loop device is attached to.
    BackingDevice {
        /// The loop device.
        upper: String,
    },
}

impl Alias {
    /// What it is when it came up while a medium is written: it is not held, and somebody can mount
    /// it in any mount namespace.
    pub(super) fn conflict(&self) -> UseConflict {
        let by = self.name.clone();
        match &self.kind {
            AliasKind::SiblingLoopDevice { lower } => UseConflict::AttachedLoopDevice {
                device: lower.clone(),
                by,
            },
            AliasKind::StackedDevice { lower } => UseConflict::HeldByDevice {
                device: lower.clone(),
                by,
            },
            AliasKind::DiskPath { disk } => UseConflict::OtherPath {
                device: by,
                disk: disk.clone(),
            },
            AliasKind::BackingDevice { upper } => UseConflict::AttachedLoopDevice {
                device: by,
                by: upper.clone(),
            },
        }
    }
}

/// Who uses a medium.
#[derive(Debug, Default)]
pub(super) struct MediumUsage {
    /// What forbids writing, the most telling first.
    pub conflicts: Vec<UseConflict>,
    /// What could not be found out.
    pub unresolved: Vec<UnresolvedUse>,
    /// What the tables of the kernel left open before anything else was asked.
    pub initially_unresolved: Vec<UnresolvedUse>,
    /// Other devices with the same bytes.
    pub aliases: Vec<Alias>,
    /// Other devices with the same bytes, held so that nobody can mount or stack anything on them.
    pub alias_holds: Vec<OwnedFd>,
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchDepth {
    /// Everything; nobody holds the medium for us yet.
    Full,
    /// Everything but locks and leases, which we hold ourselves by now.
    HeldMedium,
    /// What a few tables tell: mounts of this namespace, swaps, loop devices, what is stacked.
    KernelTablesOnly,
}

/// Everything that forbids writing a medium. Questions that are `known` were there when the kernel
/// proved that nobody else has the file open: from then on only new ones count.
pub(super) fn find_medium_usage(
    roots: &SysPaths,
    medium: &OpenMedium,
    depth: SearchDepth,
    known: &[UnresolvedUse],
) -> Result<MediumUsage, Refusal> {
    let name = &medium.target.name;
    let mut search = StackSearch::new(roots, name)?;
    search.search_target(medium.file_id(), name, Some(medium.anchor()))?;
    search.usage.initially_unresolved = search.usage.unresolved.clone();
    if depth != SearchDepth::Full {
        // Which file of an overlay it is was found out before, and it is being written now.
        search.usage.unresolved.retain(|question| {
            !known.contains(question) && !matches!(question, UnresolvedUse::OverlayUpperFile { .. })
        });
    }
    if depth == SearchDepth::KernelTablesOnly {
        search.usage.aliases = search.aliases();
    } else {
        search.take_aliases();
        if medium.target.kind != TargetKind::ScratchFile {
            collect_openers(roots, medium, &mut search, depth);
        }
    }
    Ok(search.into_usage())
}

/// How the kernel uses a file as a medium: a loop device or file system lies in it, it is swapped to
/// or exported. Most questions without an answer are no use here: what is asked about is a file that
/// somebody named as an output, and hardly any is a medium. `written`: the file, open for writing,
/// where its bytes are going to change: then a file system that is mounted from a file counts, for no
/// table shows all of its files, unless nobody else has this one open; and a loop device that may not
/// be asked, where somebody has.
pub(super) fn find_file_usage(
    roots: &SysPaths,
    id: FileId,
    name: &str,
    written: Option<&File>,
) -> Result<MediumUsage, Refusal> {
    let mut search = StackSearch::new(roots, name)?;
    search.search_target(id, name, written)?;
    search.collect_loops_by_path(name);
    let Some(written) = written else {
        search.usage.unresolved.clear();
        return Ok(search.into_usage());
    };
    let mut answer = None;
    let mut is_open_elsewhere =
        || *answer.get_or_insert_with(|| sole_opener::is_open_elsewhere(roots, written));
    search.usage.unresolved.retain(|question| match question {
        UnresolvedUse::MountSource { .. } | UnresolvedUse::UnlistedMountSource { .. } => {
            is_open_elsewhere() != Some(false)
        }
        // There are such devices on many machines, always attached.
        UnresolvedUse::LoopDevice { .. } => is_open_elsewhere() == Some(true),
        _ => false,
    });
    Ok(search.into_usage())
}

/// Everything that the tables of the kernel tell of what has that identity.
#[cfg(test)]
pub(super) fn find_usage_in_tables(
    roots: &SysPaths,
    id: FileId,
    name: &str,
) -> Result<MediumUsage, Refusal> {
    let mut search = StackSearch::new(roots, name)?;
    search.search_target(id, name, None)?;
    search.usage.aliases = search.aliases();
    Ok(search.into_usage())
}

/// Whether opening a medium for writing makes a copy of all of it: it is a file in a lower directory
/// of an overlay.
pub(super) fn is_copied_when_opened(roots: &SysPaths, medium: &OpenMedium) -> bool {
    medium.target.kind == TargetKind::File
        && matches!(
            overlay::underlying_file(roots, medium.anchor()),
            UnderlyingFile::LowerLayer
        )
}

/// Locks and open descriptors.
fn collect_openers(
    roots: &SysPaths,
    medium: &OpenMedium,
    search: &mut StackSearch<'_>,
    depth: SearchDepth,
) {
    let name = &medium.target.name;
    let is_device = matches!(medium.file_id(), FileId::Device(..));
    if depth == SearchDepth::Full
        && is_device
        && search.usage.conflicts.is_empty()
        && let Err(Refusal::InUse { conflicts, .. }) = ExclusiveHold::check_available(medium)
    {
        search.usage.conflicts.extend(conflicts);
    }
    if depth == SearchDepth::Full {
        let locked = file_locks::find_lock_conflict(
            roots,
            medium.anchor(),
            &search.shared_regular_files(),
            name,
        );
        match locked {
            Ok(locked) => search.usage.conflicts.extend(locked),
            Err(error) => {
                let question = UnresolvedUse::unreadable(&roots.proc.join("locks"), &error);
                search.usage.unresolved.push(question);
            }
        }
    }
    let found = persistent_users(roots, search);
    for user in found.users {
        let device = search.shared_name(user.id, name);
        let (process, command) = (user.process, user.command);
        let conflict = match user.kind {
            OpenKind::OpenForWriting | OpenKind::MappedForWriting => UseConflict::OpenByProcess {
                device,
                process,
                command,
                mapped: user.kind == OpenKind::MappedForWriting,
            },
            OpenKind::Mapped => UseConflict::MappedByProcess {
                device,
                process,
                command,
            },
            OpenKind::Served => UseConflict::Served {
                device,
                process,
                command,
            },
            OpenKind::Locked => UseConflict::Locked {
                device,
                by: Some((process, command)),
            },
        };
        search.usage.conflicts.push(conflict);
    }
    match medium.file_id() {
        FileId::Inode(..) if depth == SearchDepth::Full => {
            sole_opener::check_sole_opener(roots, medium, found.unseen, search);
        }
        // The lease was asked for before the file was locked for ourselves.
        FileId::Inode(..) => {}
        FileId::Device(..) => {
            let unseen = found.unseen.map(UnresolvedUse::OpenDescriptors);
            search.usage.unresolved.extend(unseen);
        }
    }
}

/// Who has it open for writing for longer than a moment.
fn persistent_users(roots: &SysPaths, search: &StackSearch<'_>) -> OpenUsers {
    let began = Instant::now();
    loop {
        let found =
            open_users::find_open_users(roots, &|id, path| search.may_share_bytes(id, path));
        if found.users.is_empty() || began.elapsed() > LOCK_TIMEOUT {
            return found;
        }
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
}

/// A [`Refusal`] for a table that cannot be read.
fn unreadable_table(name: &str, tried: &'static str) -> impl FnOnce(io::Error) -> Refusal {
    let name = name.to_owned();
    move |source| Refusal::UseUnknown {
        name,
        tried,
        source,
    }
}
