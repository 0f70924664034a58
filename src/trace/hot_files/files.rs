//! The files that were seen: which inode is which file, its path, and what was done to it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};

use super::threads::FileHint;
use super::totals::FileTotals;
use super::volumes::Volumes;
use crate::probe::file_handle::FoundFile;
use crate::roots::SysPaths;

/// Limit on files. The bytes of further ones are counted together.
const MAX_FILES: usize = 100_000;
/// Descriptors and inodes that are looked at in a round, which takes 2 to 10 us each.
const LOOKUPS_PER_ROUND: usize = 5_000;

/// What identifies a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileId {
    /// Index of its file system.
    pub(super) volume: usize,
    /// Device number of its subvolume of btrfs; 0 on other file systems.
    pub(super) subvolume: (u32, u32),
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
    /// Files of btrfs that a process had open, by process, file system and inode; `None` where it has files of
    /// two subvolumes with that inode.
    opened: HashMap<(u32, usize, u64), Option<FileId>>,
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

    /// The file that an inode means. Where several subvolumes of btrfs may have it, it is the one that the
    /// process has open, if it was looked at while it was open.
    pub(super) fn id_of(&self, volume: usize, inode: u64, process: u32) -> Option<FileId> {
        if self.volumes.all.get(volume)?.has_subvolumes() {
            return self.opened.get(&(process, volume, inode)).copied()?;
        }
        Some(FileId {
            volume,
            subvolume: (0, 0),
            inode,
        })
    }

    /// Looks up the path of a file that a process uses now.
    pub(super) fn note_used(&mut self, hint: FileHint, process: u32) {
        let volume = hint.device.map(|device| self.volumes.by_device_id(device));
        if volume == Some(None) {
            return;
        }
        let id = volume
            .flatten()
            .and_then(|volume| self.id_of(volume, hint.inode, process));
        if let Some(id) = id
            && self.lookups_left > 0
        {
            self.lookups_left -= 1;
            self.find_path(id);
            if self.all.get(&id).is_some_and(|file| file.path.is_some()) {
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
                self.note_opened(process, &entry.path(), hint.inode);
            }
        }
    }

    /// Looks up the path of a file by its inode, once.
    pub(super) fn find_path(&mut self, id: FileId) {
        let is_known = |file: &TracedFile| file.was_looked_up || file.path.is_some();
        if self.all.get(&id).is_some_and(is_known) {
            return;
        }
        let volume = self.volumes.all.get(id.volume);
        let found = volume.and_then(|volume| volume.find_inode(id.inode));
        let path = found.as_ref().and_then(FoundFile::path);
        let deleted = found.as_ref().and_then(FoundFile::deleted_path);
        if let Some(file) = self.entry(id) {
            file.was_looked_up = true;
            file.is_deleted = path.is_none() && deleted.is_some();
            file.path = path.or(deleted);
        }
    }

    /// Notes the file of a descriptor of a process, given by its link below `/proc`, if it has this inode.
    fn note_opened(&mut self, process: u32, link: &Path, inode: u64) -> Option<()> {
        // A server or a FUSE process that does not respond is not asked.
        let flags = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let about = statx(CWD, link, AtFlags::STATX_DONT_SYNC, flags).ok()?;
        let is_file = FileType::from_raw_mode(u32::from(about.stx_mode)) == FileType::RegularFile;
        if !is_file || inode != about.stx_ino {
            return None;
        }
        let id = self.id_of_opened(process, &about)?;
        let path = std::fs::read_link(link).ok()?;
        let file = self.entry(id)?;
        if file.path.is_none() {
            file.is_deleted = about.stx_nlink == 0;
            file.path = Some(without_deleted_suffix(path, file.is_deleted));
        }
        Some(())
    }

    fn id_of_opened(&mut self, process: u32, about: &Statx) -> Option<FileId> {
        let (device, inode) = ((about.stx_dev_major, about.stx_dev_minor), about.stx_ino);
        // Files of btrfs have the number of their subvolume.
        let by_mount = self.volumes.by_mount(about.stx_mnt_id);
        let volume = by_mount.or_else(|| self.volumes.by_device_id(device))?;
        if !self.volumes.all.get(volume)?.has_subvolumes() {
            return self.id_of(volume, inode, process);
        }
        let id = FileId {
            volume,
            subvolume: device,
            inode,
        };
        if self.opened.len() >= MAX_FILES {
            self.opened.clear();
        }
        let known = self.opened.entry((process, volume, inode));
        let known = known.or_insert(Some(id));
        if *known != Some(id) {
            *known = None;
        }
        Some(id)
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
