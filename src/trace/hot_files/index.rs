//! The files that were seen: which inode is which file, and its path.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldhash::HashMap;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use super::piece::FileHint;
use super::totals::FileId;
use super::volumes::Volumes;
use crate::probe::files::find_paths;
use crate::probe::files::handle::{FileHandle, FoundFile};
use crate::roots::SysPaths;

/// Limit on files.
const MAX_FILES: usize = 200_000;
/// Descriptors that are looked at in a round, which takes about 2 us each.
const DESCRIPTORS_PER_ROUND: usize = 10_000;

/// What identifies a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileIdentity {
    /// Index of its file system.
    pub(super) volume: usize,
    /// Subvolume of btrfs; 0 where there are none.
    pub(super) subvolume: u64,
    /// The inode.
    pub(super) inode: u64,
}

/// A file.
#[derive(Debug, Clone)]
pub(super) struct KnownFile {
    pub(super) identity: FileIdentity,
    /// Its path, or its last one.
    pub(super) path: Option<PathBuf>,
    pub(super) is_deleted: bool,
    was_looked_up: bool,
}

/// A file that a process has open: process, file system, inode.
type OpenedInode = (u32, usize, u64);

/// All files that were seen.
#[derive(Debug)]
pub(super) struct FileIndex {
    roots: SysPaths,
    /// The file systems that they are on.
    pub(super) volumes: Volumes,
    files: Vec<KnownFile>,
    by_identity: HashMap<FileIdentity, FileId>,
    /// The open files of processes that were looked at; `None` where a process has files of two subvolumes
    /// with that inode.
    opened: HashMap<OpenedInode, Option<FileId>>,
    /// Descriptors that were looked at in this round.
    examined_descriptors: usize,
}

impl FileIndex {
    pub(super) fn new(roots: &SysPaths) -> Self {
        Self {
            roots: roots.clone(),
            volumes: Volumes::find(roots),
            files: Vec::new(),
            by_identity: HashMap::default(),
            opened: HashMap::default(),
            examined_descriptors: 0,
        }
    }

    /// The number of a file; `None` when there are too many.
    fn id_of(&mut self, identity: FileIdentity) -> Option<FileId> {
        if let Some(id) = self.by_identity.get(&identity) {
            return Some(*id);
        }
        if self.files.len() >= MAX_FILES {
            return None;
        }
        let id = FileId(u32::try_from(self.files.len()).ok()?);
        self.files.push(KnownFile {
            identity,
            path: None,
            is_deleted: false,
            was_looked_up: false,
        });
        self.by_identity.insert(identity, id);
        Some(id)
    }

    pub(super) fn file(&self, id: FileId) -> Option<&KnownFile> {
        self.files.get(id.0 as usize)
    }

    /// The file of a file system that an inode means. Where several subvolumes of btrfs may have that
    /// inode, it is the one that the process has open, if it was looked at while it was open.
    pub(super) fn file_of_hint(
        &mut self,
        (volume, hint): (usize, FileHint),
        process: u32,
    ) -> Option<FileId> {
        let inode = hint.inode;
        let only = self.volumes.all.get(volume)?.only_subvolume();
        let Some(subvolume) = hint.subvolume.or(only) else {
            let opened = self.opened.get(&(process, volume, inode));
            return opened.copied().flatten();
        };
        self.id_of(FileIdentity {
            volume,
            subvolume,
            inode,
        })
    }

    /// Looks up the path of a file that a process uses now.
    pub(super) fn note_used(&mut self, hint: FileHint, process: u32) {
        let volume = hint
            .device
            .and_then(|device| self.volumes.by_device_id(device));
        let place = volume.map(|volume| (volume, hint));
        let known = place.and_then(|place| self.file_of_hint(place, process));
        if let Some(id) = known {
            self.look_up_path(id);
            if self.file(id).is_some_and(|file| file.path.is_some()) {
                return;
            }
        }
        if hint.device.is_none() || volume.is_some() {
            self.note_descriptors(process, hint.inode);
        }
    }

    /// Looks up the path of a file by its inode, once.
    pub(super) fn look_up_path(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(id.0 as usize) else {
            return;
        };
        if file.was_looked_up || file.path.is_some() {
            return;
        }
        file.was_looked_up = true;
        let volume = self.volumes.all.get(file.identity.volume);
        let found = volume
            .and_then(|volume| volume.find_inode(file.identity.subvolume, file.identity.inode));
        let path = found.as_ref().and_then(FoundFile::path);
        let deleted = found.as_ref().and_then(FoundFile::deleted_path);
        file.is_deleted = path.is_none() && deleted.is_some();
        file.path = path.or(deleted);
    }

    /// Searches the mount points for those of these files whose path is still not known.
    pub(super) fn search_paths(&mut self, ids: &[FileId], limit: Duration) {
        let mut wanted: BTreeMap<usize, HashMap<u64, FileId>> = BTreeMap::new();
        for id in ids {
            let unnamed = self.file(*id).filter(|file| file.path.is_none());
            let Some(FileIdentity { volume, inode, .. }) = unnamed.map(|file| file.identity) else {
                continue;
            };
            // The directories of another subvolume have another device number.
            if self.volumes.all[volume].only_subvolume().is_some() {
                wanted.entry(volume).or_default().insert(inode, *id);
            }
        }
        let share = limit / u32::try_from(wanted.len().max(1)).unwrap_or(1);
        for (volume, inodes) in wanted {
            let directory = &self.volumes.all[volume].mount_point;
            for (inode, path) in find_paths(directory, inodes.keys().copied().collect(), share) {
                if let Some(file) = inodes
                    .get(&inode)
                    .and_then(|id| self.files.get_mut(id.0 as usize))
                {
                    file.path = Some(path);
                }
            }
        }
    }

    /// Notes the files with an inode that a process has open.
    fn note_descriptors(&mut self, process: u32, inode: u64) {
        let directory = self.roots.proc.join(process.to_string()).join("fd");
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if self.examined_descriptors >= DESCRIPTORS_PER_ROUND {
                return;
            }
            self.examined_descriptors += 1;
            self.note_descriptor(process, &entry.path(), Some(inode));
        }
    }

    /// The file of a descriptor of a process, given by its link below `/proc`, if it has this inode.
    pub(super) fn note_descriptor(
        &mut self,
        process: u32,
        link: &Path,
        inode: Option<u64>,
    ) -> Option<FileId> {
        // A server or a FUSE process that does not respond is not asked.
        let about = statx(CWD, link, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS).ok()?;
        let is_file = FileType::from_raw_mode(u32::from(about.stx_mode)) == FileType::RegularFile;
        if !is_file || inode.is_some_and(|inode| inode != about.stx_ino) {
            return None;
        }
        let (handle, mount) = FileHandle::of_path(link).ok()?;
        let device = (about.stx_dev_major, about.stx_dev_minor);
        let volume = self
            .volumes
            .by_mount(mount)
            .or_else(|| self.volumes.by_device_id(device))?;
        let id = self.id_of(FileIdentity {
            volume,
            subvolume: handle.btrfs_subvolume().unwrap_or(0),
            inode: about.stx_ino,
        })?;
        self.note_opened((process, volume, about.stx_ino), id);
        // A handle tells the path as this process sees it, not one of another mount namespace.
        self.look_up_path(id);
        let file = self.files.get_mut(id.0 as usize)?;
        if file.path.is_none() {
            file.is_deleted = about.stx_nlink == 0;
            let path = std::fs::read_link(link).ok();
            file.path = path.map(|path| without_deleted_suffix(path, file.is_deleted));
        }
        Some(id)
    }

    fn note_opened(&mut self, key: OpenedInode, id: FileId) {
        if self.opened.len() >= MAX_FILES {
            self.opened.clear();
        }
        let known = self.opened.entry(key).or_insert(Some(id));
        if *known != Some(id) {
            *known = None;
        }
    }

    /// Begins a round: as many descriptors are looked at again.
    pub(super) fn start_round(&mut self) {
        self.examined_descriptors = 0;
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
