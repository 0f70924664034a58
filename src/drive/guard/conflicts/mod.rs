//! Finds the users of a medium's bytes: users of the medium itself, of its upper and lower devices,
//! and of all other devices and files with the same bytes.
//!
//! What cannot be determined is reported as [`UnresolvedUse`] and counts as a use.

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

/// A use that forbids writing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseConflict {
    /// A file system is mounted.
    Mounted {
        /// The device that holds it, or the file.
        device: String,
        /// Mount point.
        at: String,
    },
    /// A file system is mounted in another mount namespace, such as a container's.
    MountedInOtherNamespace {
        /// The device that holds it, or the file.
        device: String,
        /// Mount point in that namespace.
        at: String,
        /// A process of that namespace.
        process: u32,
    },
    /// It is a member of a mounted multi-device file system.
    FileSystemMember {
        /// The device.
        device: String,
        /// Type and identity of the file system, such as `btrfs UUID`.
        file_system: String,
    },
    /// The kernel uses it as swap.
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
    /// Another device is stacked on it.
    HeldByDevice {
        /// The device.
        device: String,
        /// The upper device.
        by: String,
    },
    /// Another device in use covers, or may cover, the same sectors.
    OverlappingSectors {
        /// The other device.
        device: String,
        /// The common lower device, or the disk that both are paths to.
        lower: String,
    },
    /// A device that appeared during the run is another path to the same disk.
    OtherPath {
        /// The device.
        device: String,
        /// The disk, by the name of the path in use.
        disk: String,
    },
    /// The kernel exports it to other machines.
    Exported {
        /// The device or file.
        device: String,
        /// The exporter, such as `nvmet subsystem NAME`.
        by: String,
    },
    /// A process has it open.
    OpenByProcess {
        /// The device or file.
        device: String,
        /// Process ID.
        process: u32,
        /// Name of the process.
        command: String,
        /// Whether by a shared writable mapping rather than by a descriptor.
        mapped: bool,
    },
    /// A process has it mapped, for any purpose.
    MappedByProcess {
        /// The device or file.
        device: String,
        /// Process ID.
        process: u32,
        /// Name of the process.
        command: String,
    },
    /// A process reads it and serves a FUSE file system, possibly from it.
    Served {
        /// The device or file.
        device: String,
        /// Process ID.
        process: u32,
        /// Name of the process.
        command: String,
    },
    /// A user that /proc does not show has it open for writing.
    OpenByUnknown {
        /// The file.
        device: String,
    },
    /// Another process holds a lock on it.
    Locked {
        /// The device or file.
        device: String,
        /// ID and name of the process, if known.
        by: Option<(u32, String)>,
    },
    /// Another program, or a file system in another namespace, has a device with the same bytes
    /// open exclusively (`O_EXCL`).
    AliasOpenedExclusively {
        /// That device.
        device: String,
    },
    /// Another program, or a file system in another namespace, has it open exclusively (`O_EXCL`).
    OpenedExclusively,
}

/// A possible use of a medium that could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnresolvedUse {
    /// The backing file of a loop device is unknown.
    LoopDevice {
        /// The loop device.
        device: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The file that a file system is mounted from is unknown.
    MountSource {
        /// Mount point.
        at: String,
        /// Source in the mount table.
        source: String,
    },
    /// The file is unknown that a file system is mounted from, and possibly no visible mount table
    /// lists it.
    UnlistedMountSource {
        /// Its name in sysfs.
        name: String,
    },
    /// The readers of a file are unknown.
    OpenForReading,
    /// Whether a device with the same bytes is in use is unknown.
    AliasInUse {
        /// The device.
        device: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The file of the upper directory behind an overlay file is unknown.
    OverlayUpperFile {
        /// The mount point of the overlay.
        at: String,
    },
    /// The device or file that is exported to other machines is unknown.
    Export {
        /// The exporter.
        by: String,
    },
    /// The processes that have it open are unknown.
    OpenDescriptors(UnseenProcesses),
    /// The content of a kernel table is unknown because it cannot be read.
    UnreadableTable {
        /// The file or directory.
        path: String,
        /// Reason of the failure.
        reason: String,
    },
    /// Whether it came into use during writing is unknown.
    UseWhileWriting {
        /// Reason of the failure.
        reason: &'static str,
    },
    /// The mounts of other mount namespaces are unknown.
    OtherNamespaceMounts {
        /// Reason of the failure.
        reason: &'static str,
    },
    /// Whether anyone has the file open is unknown: no lease can be taken on it.
    LeaseUnavailable {
        /// Reason of the failure.
        reason: String,
    },
}

impl UnresolvedUse {
    /// The question about a table that cannot be read.
    fn unreadable(path: &std::path::Path, error: &io::Error) -> Self {
        Self::UnreadableTable {
            path: sanitized(&path.to_string_lossy()),
            reason: error.to_string(),
        }
    }
}

/// Another device that shares bytes with a medium and is not in use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alias {
    /// Kernel name.
    pub name: String,
    /// Relation to the medium.
    pub kind: AliasKind,
}

/// Relation of a device to the medium whose bytes it shares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AliasKind {
    /// A loop device attached to the same backing file or device as the medium.
    SiblingLoopDevice {
        /// The backing file or device.
        lower: String,
    },
    /// A device-mapper or md device on a lower device of the medium.
    StackedDevice {
        /// The lower device.
        lower: String,
    },
    /// Another path to the same disk.
    DiskPath {
        /// The disk, by the name of the path used for the medium.
        disk: String,
    },
    /// The device that a loop device is attached to.
    BackingDevice {
        /// The loop device.
        upper: String,
    },
}

impl Alias {
    /// The conflict if it appears while a medium is written: it is not held exclusively, so it can
    /// be mounted in any mount namespace.
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

/// Users of a medium.
#[derive(Debug, Default)]
pub(super) struct MediumUsage {
    /// Uses that forbid writing, the most relevant first.
    pub conflicts: Vec<UseConflict>,
    /// Uses that could not be determined.
    pub unresolved: Vec<UnresolvedUse>,
    /// Uses that the kernel's tables left unresolved, before any other check.
    pub initially_unresolved: Vec<UnresolvedUse>,
    /// Other devices with the same bytes.
    pub aliases: Vec<Alias>,
    /// Descriptors of other devices with the same bytes, held exclusively so that nothing can be
    /// mounted or stacked on them.
    pub alias_holds: Vec<OwnedFd>,
}

/// Extent of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchDepth {
    /// Everything; the medium is not held exclusively yet.
    Full,
    /// Everything except locks and leases, which this program holds itself.
    HeldMedium,
    /// A few kernel tables only: mounts of this namespace, swap areas, loop devices, stacked
    /// devices.
    KernelTablesOnly,
}

/// Finds all uses that forbid writing a medium. `known` are the uses that were unresolved when the
/// kernel proved that no one else has the file open: from then on only new ones count.
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
        // The file of the overlay was determined before, and it is being written now.
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

/// Uses of a file as a medium by the kernel: it backs a loop device or file system, it is swap or
/// exported. Most unresolved uses do not count: the file was named as an output, and few outputs
/// are a medium. `written`: the file, open for writing, if its contents will change. Then an
/// unresolved file system mounted from a file counts unless no one else has this file open, because
/// no table lists all of its files. A loop device that may not be queried counts only if someone
/// else has the file open.
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
        // Many machines have such devices, always attached.
        UnresolvedUse::LoopDevice { .. } => is_open_elsewhere() == Some(true),
        _ => false,
    });
    Ok(search.into_usage())
}

/// All uses in the kernel's tables of the medium with that identity.
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

/// Whether opening a medium for writing copies all of it: it is a file in a lower directory of an
/// overlay.
pub(super) fn is_copied_when_opened(roots: &SysPaths, medium: &OpenMedium) -> bool {
    medium.target.kind == TargetKind::File
        && matches!(
            overlay::underlying_file(roots, medium.anchor()),
            UnderlyingFile::LowerLayer
        )
}

/// Collects locks and open descriptors.
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
        // The lease was queried before this program locked the file.
        FileId::Inode(..) => {}
        FileId::Device(..) => {
            let unseen = found.unseen.map(UnresolvedUse::OpenDescriptors);
            search.usage.unresolved.extend(unseen);
        }
    }
}

/// Users that have it open for writing for more than a brief moment.
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

/// Converts an error of reading a table to a [`Refusal`].
fn unreadable_table(name: &str, tried: &'static str) -> impl FnOnce(io::Error) -> Refusal {
    let name = name.to_owned();
    move |source| Refusal::UseUnknown {
        name,
        tried,
        source,
    }
}
