//! The files that were seen: which inode is which file, its path, and where its data is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use foldhash::{HashMap, HashSet};

use super::volumes::Volumes;
use crate::foreign_tree::WriteLeases;
use crate::model::hot_files::{ExtentIndex, FileHint, FileId, FileSystemHint};
use crate::model::requests::RequestActor;
use crate::probe::files::extents::extents_on_device;
use crate::probe::files::find_paths;
use crate::probe::files::handle::{FileHandle, FoundFile};
use crate::probe::trace::event::DeviceNumber;
use crate::roots::SysPaths;

/// Limit on files.
const MAX_FILES: usize = 200_000;
/// Descriptors of one process that are examined.
const MAX_DESCRIPTORS: usize = 4096;

/// What identifies a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileIdentity {
    /// Index of its file system.
    pub(super) volume: usize,
    /// Subvolume of btrfs; 0 where it is not known or there are none.
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
    /// The thread that dirtied it last.
    pub(super) dirtied_by: Option<RequestActor>,
}

/// All files that were seen.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    files: Vec<KnownFile>,
    by_identity: HashMap<FileIdentity, FileId>,
    extents: ExtentIndex,
    refreshed: HashSet<FileId>,
    /// The write leases of this round, once they are needed.
    leases: Option<WriteLeases>,
}

impl FileIndex {
    /// The number of a file; `None` when there are too many.
    pub(super) fn id_of(&mut self, identity: FileIdentity) -> Option<FileId> {
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
            dirtied_by: None,
        });
        self.by_identity.insert(identity, id);
        Some(id)
    }

    pub(super) fn file(&self, id: FileId) -> Option<&KnownFile> {
        self.files.get(id.0 as usize)
    }

    fn file_mut(&mut self, id: FileId) -> Option<&mut KnownFile> {
        self.files.get_mut(id.0 as usize)
    }

    /// The files of a file system that may be meant by an inode.
    pub(super) fn candidates(
        &mut self,
        volumes: &Volumes,
        volume: usize,
        hint: FileHint,
    ) -> Vec<FileId> {
        let Some(about) = volumes.all.get(volume) else {
            return Vec::new();
        };
        let subvolumes = match hint.system {
            FileSystemHint::Subvolume(_, subvolume) => vec![subvolume],
            _ => about.subvolumes(),
        };
        subvolumes
            .into_iter()
            .filter_map(|subvolume| {
                let identity = FileIdentity {
                    volume,
                    subvolume,
                    inode: hint.inode,
                };
                self.id_of(identity)
            })
            .collect()
    }

    /// The file that an inode means where the file system has no subvolumes: what is asked for most
    /// requests.
    pub(super) fn only_file(
        &mut self,
        volumes: &Volumes,
        volume: usize,
        hint: FileHint,
    ) -> Option<FileId> {
        if volumes.all.get(volume)?.has_subvolumes() {
            return None;
        }
        self.id_of(FileIdentity {
            volume,
            subvolume: 0,
            inode: hint.inode,
        })
    }

    /// Looks up the path of a file that a thread uses now.
    pub(super) fn note_hint(&mut self, volumes: &Volumes, hint: FileHint) {
        let Some(volume) = volumes.of_hint(hint) else {
            return;
        };
        for id in self.candidates(volumes, volume, hint) {
            self.look_up_path(volumes, id);
        }
    }

    /// Notes who made a file dirty.
    pub(super) fn note_dirtied(
        &mut self,
        volumes: &Volumes,
        volume: usize,
        hint: FileHint,
        actor: RequestActor,
    ) {
        for id in self.candidates(volumes, volume, hint) {
            if let Some(file) = self.file_mut(id) {
                file.dirtied_by = Some(actor);
            }
        }
    }

    fn find(&self, volumes: &Volumes, id: FileId) -> Option<FoundFile> {
        let identity = self.file(id)?.identity;
        let volume = volumes.all.get(identity.volume)?;
        volume.find_inode(identity.subvolume, identity.inode)
    }

    /// Looks up the path of a file by its inode, once.
    pub(super) fn look_up_path(&mut self, volumes: &Volumes, id: FileId) {
        let is_done = |file: &KnownFile| file.was_looked_up || file.path.is_some();
        if self.file(id).is_none_or(is_done) {
            return;
        }
        let found = self.find(volumes, id);
        let path = found.as_ref().and_then(FoundFile::path);
        let deleted = found.as_ref().and_then(FoundFile::deleted_path);
        if let Some(file) = self.file_mut(id) {
            file.was_looked_up = true;
            file.is_deleted = path.is_none() && deleted.is_some();
            file.path = path.or(deleted);
        }
    }

    /// Searches the mount points for those of these files whose path is still not known.
    pub(super) fn search_paths(&mut self, volumes: &Volumes, ids: &[FileId], limit: Duration) {
        let mut wanted: BTreeMap<usize, HashMap<u64, FileId>> = BTreeMap::new();
        for id in ids {
            let unnamed = self.file(*id).filter(|file| file.path.is_none());
            // The directories of a subvolume have another device number.
            let unnamed =
                unnamed.filter(|file| volumes.all[file.identity.volume].has_unique_inodes());
            if let Some(file) = unnamed {
                let of_volume = wanted.entry(file.identity.volume).or_default();
                of_volume.insert(file.identity.inode, *id);
            }
        }
        let share = limit / u32::try_from(wanted.len().max(1)).unwrap_or(1);
        for (volume, inodes) in wanted {
            let directory = &volumes.all[volume].mount_point;
            for (inode, path) in find_paths(directory, inodes.keys().copied().collect(), share) {
                if let Some(file) = inodes.get(&inode).and_then(|id| self.file_mut(*id)) {
                    file.path = Some(path);
                }
            }
        }
    }

    /// The regular files that a process has open, on known file systems.
    fn open_files(&mut self, roots: &SysPaths, volumes: &Volumes, pid: u32) -> Vec<FileId> {
        let directory = roots.proc.join(pid.to_string()).join("fd");
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries
            .take(MAX_DESCRIPTORS)
            .filter_map(|entry| self.note_descriptor(volumes, &entry.path()))
            .collect()
    }

    /// The file of a descriptor, given by its link below `/proc`.
    pub(super) fn note_descriptor(
        &mut self,
        volumes: &Volumes,
        link: &std::path::Path,
    ) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt;
        let about = std::fs::metadata(link).ok()?;
        if !about.is_file() {
            return None;
        }
        let (handle, mount) = FileHandle::of_path(link).ok()?;
        let volume = volumes.by_mount(mount).or_else(|| {
            volumes.by_device_id(crate::drive::mounts::split_device_number(about.dev()))
        })?;
        let id = self.id_of(FileIdentity {
            volume,
            subvolume: handle.btrfs_subvolume().unwrap_or(0),
            inode: about.ino(),
        })?;
        let path = std::fs::read_link(link).ok();
        let file = self.file_mut(id)?;
        if file.path.is_none() {
            file.is_deleted = about.nlink() == 0;
            file.path = path.map(|path| without_deleted_suffix(path, file.is_deleted));
        }
        Some(id)
    }

    /// Reads the extents of a file again, once per round.
    fn refresh_extents(&mut self, roots: &SysPaths, volumes: &Volumes, id: FileId) {
        if !self.refreshed.insert(id) {
            return;
        }
        let Some(volume) = self.file(id).map(|file| file.identity.volume) else {
            return;
        };
        let found = self.find(volumes, id);
        let leases = self.leases.get_or_insert_with(|| WriteLeases::read(roots));
        let opened = found.and_then(|file| file.open_regular(leases).ok());
        let extents = opened.and_then(|file| extents_on_device(&file).ok());
        let places = volumes.all[volume].places_of(&extents.unwrap_or_default());
        self.extents.replace(id, places);
    }

    /// Of these files, the one that has a place. Extents that do not contain it are read again.
    pub(super) fn owner_among(
        &mut self,
        roots: &SysPaths,
        volumes: &Volumes,
        files: &[FileId],
        (drive, offset): (DeviceNumber, u64),
    ) -> Option<FileId> {
        let covers = |index: &Self, id: &FileId| index.extents.covers(*id, drive, offset);
        if let Some(id) = files.iter().find(|id| covers(self, id)) {
            return Some(*id);
        }
        for id in files {
            self.refresh_extents(roots, volumes, *id);
        }
        files.iter().find(|id| covers(self, id)).copied()
    }

    /// The file that is known to have a place.
    pub(super) fn owner_of(&self, drive: DeviceNumber, offset: u64) -> Option<FileId> {
        self.extents.file_at(drive, offset)
    }

    /// The files that a process has open, and those of a file system that were dirtied while they
    /// were traced, the latest ones first.
    pub(super) fn likely_files(
        &mut self,
        roots: &SysPaths,
        volumes: &Volumes,
        (volume, process): (usize, u32),
        limit: usize,
    ) -> Vec<FileId> {
        let mut files = self.open_files(roots, volumes, process);
        files.retain(|id| {
            self.file(*id)
                .is_some_and(|file| file.identity.volume == volume)
        });
        let dirtied = self.files.iter().enumerate().rev();
        let dirtied = dirtied
            .filter(|(_, file)| file.identity.volume == volume && file.dirtied_by.is_some())
            .filter_map(|(index, _)| Some(FileId(u32::try_from(index).ok()?)));
        files.extend(dirtied.take(limit));
        files.truncate(limit);
        files
    }

    /// Begins a round: extents may be read again.
    pub(super) fn start_round(&mut self) {
        self.refreshed.clear();
        self.leases = None;
    }
}

/// The path of a link below `/proc`, without what the kernel appends for a deleted file.
fn without_deleted_suffix(path: PathBuf, is_deleted: bool) -> PathBuf {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = path.as_os_str().as_bytes();
    match bytes.strip_suffix(b" (deleted)").filter(|_| is_deleted) {
        Some(path) => PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())),
        None => path,
    }
}
