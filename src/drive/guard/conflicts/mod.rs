//! Finds the users of a medium's bytes: users of the medium itself, of its upper and lower devices,
//! and of all other devices and files with the same bytes.
//!
//! What cannot be determined is reported as [`UnresolvedUse`] and counts as a use.

pub(super) mod alias;
mod describe;
pub mod device_mapper;
mod device_nodes;
mod device_stack;
pub mod device_users;
mod exported_path;
pub mod exports;
pub mod file_change;
pub mod file_locks;
mod flash_memory;
pub mod lock_line;
mod loop_devices;
pub mod mappings;
pub(super) mod medium_usage;
mod mount_tables;
pub(super) mod new_openers;
mod nfs_clients;
mod open_file;
pub mod open_users;
mod overlay;
mod partition_layout;
mod passthrough;
pub(super) mod process_list;
mod process_numbers;
mod process_schedule;
mod same_disk;
pub(super) mod same_file;
mod sector_extent;
mod sole_opener;
mod storage_servers;
pub mod unseen_processes;
pub mod use_conflict;

use std::time::Instant;

use crate::drive::guard::conflicts::device_stack::StackSearch;
use crate::drive::guard::conflicts::file_change::FileChange;
use crate::drive::guard::conflicts::file_locks::{LOCK_RETRY_INTERVAL, LOCK_TIMEOUT};
use crate::drive::guard::conflicts::medium_usage::{MediumUsage, SearchDepth};
use crate::drive::guard::conflicts::open_file::IsWanted;
use crate::drive::guard::conflicts::open_users::OpenUsers;
use crate::drive::guard::conflicts::overlay::UnderlyingFile;
use crate::drive::guard::conflicts::use_conflict::UnresolvedUse;
use crate::drive::guard::hold::ExclusiveHold;
use crate::drive::guard::refusal::Refusal;
use crate::drive::medium::open_medium::OpenMedium;
use crate::drive::medium::{FileId, TargetKind};
use crate::roots::SysPaths;

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
        // That nobody has a file open now says nothing about the time of writing: exports that
        // cannot be listed cannot be watched.
        let unwatchable = search.usage.unresolved.iter();
        let unwatchable: Vec<_> = unwatchable
            .filter(|question| matches!(question, UnresolvedUse::UnlistedExports { .. }))
            .cloned()
            .collect();
        if medium.target.kind != TargetKind::ScratchFile {
            collect_openers(roots, medium, &mut search, depth);
        }
        search.usage.unresolved.extend(unwatchable);
        search.usage.images = search.images();
    }
    Ok(search.into_usage())
}

/// Uses of a file as a medium: it backs a loop device or file system, it is swap or exported, or a process that
/// serves a file system, a block device or a virtual machine has it open. Of a file that is written in place
/// most unresolved uses do not count, either: it was named as an output. An unresolved file system mounted from
/// a file counts unless no one else has this file open, because no table lists all of its files. A loop device
/// that may not be queried counts only if someone else has the file open.
pub(super) fn find_file_usage(
    roots: &SysPaths,
    id: FileId,
    name: &str,
    change: FileChange<'_>,
) -> Result<MediumUsage, Refusal> {
    let mut search = StackSearch::new(roots, name)?;
    if matches!(change, FileChange::Emptied) {
        search.exclude_files_with_names(id);
    }
    search.search_target(id, name, change.descriptor())?;
    search.collect_loops_by_path(name);
    let written = match change {
        FileChange::InPlace(written) => {
            collect_servers(roots, name, &mut search);
            written
        }
        // It is a log: no server has its data in one.
        FileChange::Emptied => return Ok(search.into_usage()),
        FileChange::Replaced => {
            collect_servers(roots, name, &mut search);
            search.usage.unresolved.clear();
            return Ok(search.into_usage());
        }
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
    let questions = search.collect_nfs_clients();
    search.usage.unresolved.extend(questions);
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
    let mut questions = search.collect_nfs_clients();
    let found = persistent_users(roots, search);
    search.usage.processes = found.processes;
    for user in found.users {
        let device = search.shared_name(user.id, name);
        search.usage.conflicts.extend(user.into_conflict(device));
    }
    if found.incomparable {
        questions.push(search.incomparable_file(name));
    }
    match medium.file_id() {
        FileId::Inode(..) if depth == SearchDepth::Full => {
            search.usage.unresolved.extend(questions);
            sole_opener::check_sole_opener(roots, medium, found.unseen, search);
        }
        // The lease was queried before this program locked the file.
        FileId::Inode(..) => {}
        FileId::Device(..) => {
            questions.extend(found.unseen.map(UnresolvedUse::OpenDescriptors));
            search.usage.unresolved.extend(questions);
        }
    }
}

/// Collects the servers that may have their data in a file.
fn collect_servers(roots: &SysPaths, name: &str, search: &mut StackSearch<'_>) {
    let is_wanted: &IsWanted<'_> = &|id, path| search.compare_with_all(id, path);
    let servers = persistent(
        || open_users::find_storage_servers(roots, is_wanted),
        Vec::is_empty,
    );
    for server in servers {
        let device = search.shared_name(server.id, name);
        search.usage.conflicts.extend(server.into_conflict(device));
    }
}

/// Users that have it open for writing for more than a brief moment.
fn persistent_users(roots: &SysPaths, search: &StackSearch<'_>) -> OpenUsers {
    let is_wanted: &IsWanted<'_> = &|id, path| search.compare_with_all(id, path);
    persistent(
        || open_users::find_open_users(roots, is_wanted),
        |found| found.users.is_empty() && !found.incomparable,
    )
}

/// What is found for more than a brief moment.
fn persistent<T>(find: impl Fn() -> T, is_unused: impl Fn(&T) -> bool) -> T {
    let began = Instant::now();
    loop {
        let found = find();
        if is_unused(&found) || began.elapsed() > LOCK_TIMEOUT {
            return found;
        }
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
}
