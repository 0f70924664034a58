//! The files that were seen: which inode is which file, its path, and what was done to it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use super::threads::FileHint;
use super::totals::FileTotals;
use super::volumes::Volumes;
use crate::probe::file_handle::FoundFile;
use crate::roots::SysPaths;
use crate::trace::events::event::DeviceNumber;

/// Limit on files. The bytes of further ones are counted together.
const MAX_FILES: usize = 100_000;
/// Descriptors and inodes that are looked at in a round, which takes 2 to 10 us each.
const LOOKUPS_PER_ROUND: usize = 5_000;

/// What identifies a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileId {
    /// Index of its file system.
    pub(super) volume: usize,
    /// The inode.
    pub(super) inode: u64,
}

/// A file, and what was done to it.
#[derive(Debug, Clone, Default)]
pub(super) struct TracedFile {
    /// Its path, or its last one.
    pub(super) path: Option<PathBuf>,
    pub(super) is_deleted: bool,
    was_looked_up: bool,
    /// Device number as stat(2) tells it: on btrfs that of the subvolume.
    device: Option<DeviceNumber>,
    /// Whether files of two subvolumes of btrfs have this inode.
    pub(super) is_ambiguous: bool,
    pub(super) totals: FileTotals,
}

/// All files that were seen.
#[derive(Debug, Default)]
pub(super) struct Files {
    proc: PathBuf,
    /// The file systems that they are on.
    pub(super) volumes: Volumes,
    /// By identity.
    pub(super) all: HashMap<FileId, TracedFile>,
    lookups_left: usize,
}

impl Files {
    pub(super) fn new(roots: &SysPaths, volumes: Volumes) -> Self {
        Self {
            proc: roots.proc.clone(),
            volumes,
            lookups_left: LOOKUPS_PER_ROUND,
            ..Self::default()
        }
    }

    /// Begins a round: as many lookups are made again.
    pub(super) fn start_round(&mut self) {
        self.lookups_left = LOOKUPS_PER_ROUND;
    }

    /// A file; `None` when there are too many.
    pub(super) fn entry(&mut self, id: FileId) -> Option<&mut TracedFile> {
        let has_room = self.all.len() < MAX_FILES || self.all.contains_key(&id);
        has_room.then(|| self.all.entry(id).or_default())
    }

    /// Looks up the path of a file that a process uses now.
    pub(super) fn note_used(&mut self, hint: FileHint, process: u32) {
        if let Some(device) = hint.device {
            let Some(volume) = self.volumes.by_device_id(device) else {
                return;
            };
            let inode = hint.inode;
            if self.lookups_left > 0 && self.find_path(FileId { volume, inode }) {
                return;
            }
        }
        for list in ["fd", "map_files"] {
            let directory = self.proc.join(process.to_string()).join(list);
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                if self.lookups_left == 0 {
                    return;
                }
                self.lookups_left -= 1;
                self.note_opened(&entry.path(), hint.inode);
            }
        }
    }

    /// Looks up the path of a file by its inode, once, where the file system finds it by that. Returns whether that
    /// was enough.
    pub(super) fn find_path(&mut self, id: FileId) -> bool {
        let known = self.all.get(&id);
        if let Some(file) = known.filter(|file| file.was_looked_up || file.path.is_some()) {
            return file.path.is_some() && !self.volumes.all[id.volume].has_subvolumes();
        }
        self.lookups_left = self.lookups_left.saturating_sub(1);
        let found = self.volumes.all[id.volume].find_inode(id.inode);
        let path = found.as_ref().and_then(FoundFile::path);
        let deleted = found.as_ref().and_then(FoundFile::deleted_path);
        let is_found = path.is_some() || deleted.is_some();
        if let Some(file) = self.entry(id) {
            file.was_looked_up = true;
            file.is_deleted = path.is_none() && deleted.is_some();
            file.path = path.or(deleted);
        }
        is_found
    }

    /// Notes the file of a descriptor of a process, given by its link below `/proc`, if it has this inode.
    fn note_opened(&mut self, link: &Path, inode: u64) -> Option<()> {
        // A server or a FUSE process that does not respond is not asked.
        let flags = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let about = statx(CWD, link, AtFlags::STATX_DONT_SYNC, flags).ok()?;
        let is_file = FileType::from_raw_mode(u32::from(about.stx_mode)) == FileType::RegularFile;
        if !is_file || inode != about.stx_ino {
            return None;
        }
        let device = (about.stx_dev_major, about.stx_dev_minor);
        let by_mount = self.volumes.by_mount.get(&about.stx_mnt_id).copied();
        let volume = by_mount.or_else(|| self.volumes.by_device_id(device))?;
        let path = std::fs::read_link(link).ok()?;
        let file = self.entry(FileId { volume, inode })?;
        file.is_ambiguous |= *file.device.get_or_insert(device) != device;
        if file.path.is_none() {
            file.is_deleted = about.stx_nlink == 0;
            file.path = Some(without_deleted_suffix(path, file.is_deleted));
        }
        Some(())
    }
}

/// The path of a link below `/proc`, without what the kernel appends for a deleted file.
fn without_deleted_suffix(path: PathBuf, is_deleted: bool) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    match bytes.strip_suffix(b" (deleted)") {
        Some(before) if is_deleted => PathBuf::from(OsStr::from_bytes(before)),
        _ => path,
    }
}
