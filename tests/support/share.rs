//! A shared directory as servers of other systems provide it: a file system that lacks calls which every
//! Unix file system has. All its files have one owner and one mode.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};

use crate::file_attributes::file_attributes;
use crate::requirement::{Requirement, skip};

/// Nothing is cached.
const TIME_TO_LIVE: Duration = Duration::ZERO;
/// Mode and owner of all files, unless the share is mounted for its user alone.
const MODE: u16 = 0o777;
const OWNER: u32 = 1000;
const PRIVATE_MODE: u16 = 0o700;

/// What the share lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    /// chmod(2), as FAT and SMB mounted for everybody by root.
    Chmod,
    /// link(2) and `RENAME_NOREPLACE`, as shared folders of virtual machines and object storage.
    Links,
    /// The same; and an open file can be neither removed nor renamed, as on servers with Windows.
    ChangesOfOpenNames,
}

#[derive(Default)]
struct Content {
    names: BTreeMap<OsString, INodeNo>,
    files: BTreeMap<u64, Vec<u8>>,
    /// How often each is open.
    open: BTreeMap<u64, usize>,
}

impl Content {
    fn add_open(&mut self, inode: INodeNo) {
        *self.open.entry(inode.0).or_default() += 1;
    }
}

struct Server {
    lacks: Lacks,
    mode: u16,
    owner: u32,
    content: Mutex<Content>,
}

impl Server {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap()
    }

    fn attributes(&self, content: &Content, inode: INodeNo) -> FileAttr {
        let size = content.files.get(&inode.0).map_or(0, Vec::len) as u64;
        file_attributes(inode, size, (self.mode, self.mode), self.owner)
    }

    /// The file of a name that is about to be removed or renamed.
    fn changeable(&self, content: &Content, name: &OsStr) -> Result<INodeNo, Errno> {
        let inode = *content.names.get(name).ok_or(Errno::ENOENT)?;
        let is_open = content.open.get(&inode.0).is_some_and(|count| *count > 0);
        match self.lacks == Lacks::ChangesOfOpenNames && is_open {
            true => Err(Errno::EBUSY),
            false => Ok(inode),
        }
    }

    fn rename_name(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Result<(), Errno> {
        let mut content = self.content();
        let inode = self.changeable(&content, from)?;
        let keeps_others = flags == RenameFlags::RENAME_NOREPLACE && self.lacks == Lacks::Chmod;
        if !flags.is_empty() && !keeps_others {
            return Err(Errno::EINVAL);
        }
        if keeps_others && content.names.contains_key(to) {
            return Err(Errno::EEXIST);
        }
        content.names.remove(from);
        content.names.insert(to.to_owned(), inode);
        Ok(())
    }
}

fn answer(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Server {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let content = self.content();
        match content.names.get(name) {
            Some(inode) => {
                reply.entry(
                    &TIME_TO_LIVE,
                    &self.attributes(&content, *inode),
                    Generation(0),
                );
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TIME_TO_LIVE, &self.attributes(&self.content(), inode));
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if mode.is_some() && self.lacks == Lacks::Chmod {
            return reply.error(Errno::EPERM);
        }
        let mut content = self.content();
        if let (Some(size), Some(file)) = (size, content.files.get_mut(&inode.0)) {
            file.resize(size as usize, 0);
        }
        reply.attr(&TIME_TO_LIVE, &self.attributes(&content, inode));
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.content().add_open(inode);
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let mut content = self.content();
        let inode = INodeNo(content.files.keys().max().copied().unwrap_or(1) + 1);
        content.files.insert(inode.0, Vec::new());
        content.names.insert(name.to_owned(), inode);
        content.add_open(inode);
        let (handle, flags) = (FileHandle(0), FopenFlags::empty());
        let attributes = self.attributes(&content, inode);
        reply.created(&TIME_TO_LIVE, &attributes, Generation(0), handle, flags);
    }

    fn release(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        if let Some(count) = self.content().open.get_mut(&inode.0) {
            *count -= 1;
        }
        reply.ok();
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut content = self.content();
        let done = self.changeable(&content, name).map(|_| ());
        if done.is_ok() {
            content.names.remove(name);
        }
        answer(reply, done);
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        from: &OsStr,
        _: INodeNo,
        to: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.rename_name(from, to, flags));
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let content = self.content();
        let bytes = content.files.get(&inode.0).map_or(&[][..], Vec::as_slice);
        let from = (offset as usize).min(bytes.len());
        let end = (from + size as usize).min(bytes.len());
        reply.data(&bytes[from..end]);
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut content = self.content();
        let file = content.files.entry(inode.0).or_default();
        let end = offset as usize + data.len();
        if file.len() < end {
            file.resize(end, 0);
        }
        file[offset as usize..end].copy_from_slice(data);
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let content = self.content();
        let names = content.names.iter().enumerate().skip(offset as usize);
        for (index, (name, inode)) in names {
            if reply.add(*inode, index as u64 + 1, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = 1 << 20;
        reply.statfs(blocks, blocks, blocks, 100, 100, 4096, 255, 4096);
    }
}

/// Mounts a share; `None` where FUSE is not to be had.
fn start(server: Server, mount: &Path) -> Option<fuser::BackgroundSession> {
    if rustix::fs::access("/dev/fuse", rustix::fs::Access::WRITE_OK).is_err() {
        skip(Requirement::Fuse, "/dev/fuse cannot be opened");
        return None;
    }
    let mut options = Config::default();
    options.mount_options = vec![MountOption::FSName("share".to_owned())];
    fuser::spawn_mount(server, mount, &options)
        .map_err(|error| skip(Requirement::Fuse, error))
        .ok()
}

/// The share, mounted until it is dropped.
pub struct Share {
    /// Removed with what is in it.
    _directory: Option<tempfile::TempDir>,
    mount: PathBuf,
    session: Option<fuser::BackgroundSession>,
}

impl Share {
    /// `None` where FUSE is not to be had.
    pub fn mount(lacks: Lacks) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let server = Server {
            lacks,
            mode: MODE,
            owner: OWNER,
            content: Mutex::default(),
        };
        Some(Self {
            session: Some(start(server, directory.path())?),
            mount: directory.path().to_owned(),
            _directory: Some(directory),
        })
    }

    /// A share at a directory that is there, whose files belong to the user of this process alone.
    pub fn mount_private(lacks: Lacks, mount: PathBuf) -> Option<Self> {
        let server = Server {
            lacks,
            mode: PRIVATE_MODE,
            owner: rustix::process::geteuid().as_raw(),
            content: Mutex::default(),
        };
        Some(Self {
            session: Some(start(server, &mount)?),
            mount,
            _directory: None,
        })
    }

    pub fn path(&self) -> &Path {
        &self.mount
    }

    /// Path of a file on it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Names on it, sorted.
    pub fn file_names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.path()).status();
        let done = unmounted.is_ok_and(|status| status.success());
        assert!(done || std::thread::panicking(), "it stays mounted");
        drop(self.session.take());
    }
}
