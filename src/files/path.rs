//! Follows a path component by component, so that no user other than root and the one who runs this
//! program decides where it leads.
//!
//! A symbolic link is followed only in a directory that nobody else can write, and only as long as
//! nobody else can exchange a directory of the way. The descriptor of what was found stays open, so that
//! its inode number is not given to another file.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, Uid, fstat, fstatfs, openat, readlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::FileError;
use super::file_id::FileId;

/// Permission bits of directories that the program makes.
pub(super) const DIRECTORY_MODE: Mode = Mode::RWXU;
/// Maximum number of symbolic links, as in the kernel (path_resolution(7)).
const MAX_LINKS: u32 = 40;
/// Write permission of group and others. The group bits include the maximum that an access control
/// list grants to anyone.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const WRITABLE_BY_EVERYBODY: u32 = 0o002;
/// Only the owner of a file can rename or remove it (inode(7)).
const STICKY: u32 = 0o1000;

/// A file, opened with `O_PATH`.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) descriptor: OwnedFd,
    pub(crate) stat: Stat,
    /// Path for messages.
    path: PathBuf,
}

impl Entry {
    fn open(at: impl AsFd, name: &OsStr, flags: OFlags, path: PathBuf) -> rustix::io::Result<Self> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        let descriptor = openat(at, name, flags, Mode::empty())?;
        let stat = fstat(&descriptor)?;
        Ok(Self {
            descriptor,
            stat,
            path,
        })
    }

    pub(crate) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(crate) fn id(&self) -> FileId {
        FileId::of_stat(&self.stat)
    }

    /// Who else than root and that user can exchange the entries of this directory.
    fn movers(&self, user: Uid) -> Option<String> {
        let (owner, path) = (self.stat.st_uid, self.path.display());
        if owner != 0 && owner != user.as_raw() {
            return Some(format!("{path} belongs to user {owner}"));
        }
        let is_sticky = self.stat.st_mode & STICKY != 0;
        (!is_sticky && self.is_writable_by_others(user))
            .then(|| format!("other users can write to {path}"))
    }

    fn is_writable_by_others(&self, user: Uid) -> bool {
        is_shared(&self.stat) && !self.has_private_group(user)
    }

    /// Whether the only other writer is the group with the number of the owner, who is that user:
    /// useradd(8) makes such a group for one user alone, and with its umask 0002 all directories of
    /// the user are writable for it. The group of root has other members on many systems.
    fn has_private_group(&self, user: Uid) -> bool {
        let stat = &self.stat;
        let is_own = stat.st_uid == user.as_raw() && stat.st_gid == stat.st_uid && !user.is_root();
        is_own && stat.st_mode & WRITABLE_BY_EVERYBODY == 0 && !has_access_list(&self.descriptor)
    }
}

/// Whether users other than the owner may make files in a directory.
pub(super) fn is_shared(directory: &Stat) -> bool {
    directory.st_mode & WRITABLE_BY_OTHERS != 0
}

/// Whether a file has an access control list; true if that is unknown.
pub(super) fn has_access_list(file: impl AsFd) -> bool {
    let none: &mut [u8] = &mut [];
    let found = rustix::fs::getxattr(own_path(file), "system.posix_acl_access", none);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// A path to an open file, also one that is open with `O_PATH`.
pub(crate) fn own_path(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

/// What a path leads to.
#[derive(Debug)]
pub(crate) struct FoundPath {
    /// The directory of the name.
    pub(crate) directory: Entry,
    /// The last name, behind all links.
    pub(crate) name: OsString,
    /// The file of that name, which is no symbolic link.
    pub(crate) entry: Option<Entry>,
    /// Whether it is an open file of a process, which has no name: a link of procfs.
    pub(crate) is_open_file: bool,
}

/// Follows a path. Directories of others are passed, but no link in them or below is followed.
///
/// # Errors
/// When a directory of the path is missing, or a link is in the hands of others.
pub(crate) fn find(path: &Path) -> Result<FoundPath, FileError> {
    Walk::start(path, geteuid(), false)?.resolve()
}

/// Follows the path of a directory that only root and this user control; `creates` makes what is
/// missing, for this user only.
///
/// # Errors
/// [`FileError::Untrusted`] where others control a part of the path, and when it is no directory.
pub(super) fn find_private_directory(path: &Path, creates: bool) -> Result<OwnedFd, FileError> {
    // Only below what is under control: what is missing is then made by nobody else.
    if creates && is_trusted(path) {
        let mut directories = DirBuilder::new();
        let made = directories.recursive(true).mode(DIRECTORY_MODE.bits());
        made.create(path)
            .map_err(|error| FileError::io("make the directory", path, error))?;
    }
    let entry = find_controlled(path, geteuid())?;
    if entry.file_type() == FileType::Directory {
        return Ok(entry.descriptor);
    }
    Err(FileError::WrongKind(path.to_owned(), "no directory"))
}

fn find_controlled(path: &Path, user: Uid) -> Result<Entry, FileError> {
    let found = Walk::start(path, user, true)?.resolve()?;
    let missing = || FileError::io("open", path, Errno::NOENT);
    let entry = found.entry.ok_or_else(missing)?;
    if let Some(reason) = entry.movers(user) {
        return Err(FileError::Untrusted(path.to_owned(), reason));
    }
    Ok(entry)
}

/// Whether the existing part of a path leads only through directories and links that root and this
/// user control.
#[must_use]
pub fn is_trusted(path: &Path) -> bool {
    match find_private_directory(path, false) {
        Ok(_) => true,
        Err(error) => error.is_not_found(),
    }
}

/// Whether only root and that user decide what a path leads to, such as a program to execute: nobody else
/// can write to the file, replace it, or lead the path to another one.
///
/// # Errors
/// [`FileError::Untrusted`] with what others control, and the error of the kernel where something
/// cannot be examined.
pub fn check_controlled(path: &Path, user: u32) -> Result<(), FileError> {
    find_controlled(path, Uid::from_raw(user)).map(drop)
}

/// Identity of what a path leads to, `None` if there is nothing. A caller that has opened the same path
/// compares its file with it.
///
/// # Errors
/// [`FileError::Untrusted`] when a symbolic link of the path is in the hands of others.
pub fn trusted_file_id(path: &Path) -> Result<Option<FileId>, FileError> {
    Ok(find(path)?.entry.as_ref().map(Entry::id))
}

struct Walk<'a> {
    path: &'a Path,
    user: Uid,
    /// Whether others may control no part of the path.
    is_strict: bool,
    place: Entry,
    pending: VecDeque<OsString>,
    links: u32,
    /// Who else can exchange a directory of the way.
    movers: Option<String>,
}

impl<'a> Walk<'a> {
    fn start(path: &'a Path, user: Uid, is_strict: bool) -> Result<Self, FileError> {
        let start = if path.is_absolute() { "/" } else { "." };
        let mut walk = Self {
            path,
            user,
            is_strict,
            place: open_start(path, start)?,
            pending: VecDeque::new(),
            links: 0,
            movers: None,
        };
        walk.push_components(path.as_os_str())?;
        Ok(walk)
    }

    /// Prepends the components of a path to those that remain.
    fn push_components(&mut self, path: &OsStr) -> Result<(), FileError> {
        let bytes = path.as_bytes();
        if bytes.is_empty() {
            return Err(FileError::io("open", self.path, Errno::NOENT));
        }
        if bytes.starts_with(b"/") {
            self.place = open_start(self.path, "/")?;
        }
        if bytes.ends_with(b"/") {
            self.pending.push_front(".".into());
        }
        let names = bytes.split(|byte| *byte == b'/').rev();
        for name in names.filter(|name| !name.is_empty()) {
            self.pending.push_front(OsStr::from_bytes(name).into());
        }
        Ok(())
    }

    fn resolve(mut self) -> Result<FoundPath, FileError> {
        loop {
            let Some(name) = self.pending.pop_front() else {
                return Err(FileError::io("open", self.path, Errno::NOENT));
            };
            self.note_movers()?;
            let is_last = self.pending.is_empty();
            let entry = match self.look_up(&name) {
                Ok(entry) => entry,
                Err(Errno::NOENT) if is_last => return Ok(self.end(name, None, false)),
                Err(error) => return Err(FileError::io("open", self.path, error)),
            };
            match entry.file_type() {
                FileType::Symlink if is_procfs(&entry) => {
                    let target = self.follow_open_file(&name)?;
                    if is_last {
                        return Ok(self.end(name, Some(target), true));
                    }
                    self.place = target;
                }
                FileType::Symlink => self.follow(&entry)?,
                _ if is_last => return Ok(self.end(name, Some(entry), false)),
                FileType::Directory => self.place = entry,
                _ => return Err(FileError::io("open", self.path, Errno::NOTDIR)),
            }
        }
    }

    fn end(self, name: OsString, entry: Option<Entry>, is_open_file: bool) -> FoundPath {
        FoundPath {
            directory: self.place,
            name,
            entry,
            is_open_file,
        }
    }

    fn note_movers(&mut self) -> Result<(), FileError> {
        if self.movers.is_none() {
            self.movers = self.place.movers(self.user);
        }
        match &self.movers {
            Some(reason) if self.is_strict => {
                Err(FileError::Untrusted(self.path.to_owned(), reason.clone()))
            }
            _ => Ok(()),
        }
    }

    fn look_up(&self, name: &OsStr) -> rustix::io::Result<Entry> {
        let here = &self.place.descriptor;
        let open = |flags| Entry::open(here, name, flags, self.place.path.join(name));
        // O_DIRECTORY triggers an automount (autofs).
        match open(OFlags::NOFOLLOW | OFlags::DIRECTORY) {
            Err(Errno::NOTDIR | Errno::LOOP) => open(OFlags::NOFOLLOW),
            found => found,
        }
    }

    /// Refuses a link that others have made, or can exchange.
    fn check_link(&self, name: &Path) -> Result<(), FileError> {
        let name = name.display();
        if let Some(reason) = &self.movers {
            let reason = format!("{name} is a symbolic link, and {reason}");
            return Err(FileError::Untrusted(self.path.to_owned(), reason));
        }
        if self.place.is_writable_by_others(self.user) {
            let reason = format!("{name} is a symbolic link in a directory that others can write");
            return Err(FileError::Untrusted(self.path.to_owned(), reason));
        }
        Ok(())
    }

    fn follow(&mut self, link: &Entry) -> Result<(), FileError> {
        self.check_link(&link.path)?;
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(FileError::io("follow", self.path, Errno::LOOP));
        }
        let target = readlinkat(&link.descriptor, "", Vec::new())
            .map_err(|error| FileError::io("follow", self.path, error))?;
        self.push_components(&OsString::from_vec(target.into_bytes()))
    }

    /// A link of procfs leads to an open file of a process, which may have no name.
    fn follow_open_file(&self, name: &OsStr) -> Result<Entry, FileError> {
        let path = self.place.path.join(name);
        self.check_link(&path)?;
        Entry::open(&self.place.descriptor, name, OFlags::empty(), path)
            .map_err(|error| FileError::io("open", self.path, error))
    }
}

fn open_start(path: &Path, start: &str) -> Result<Entry, FileError> {
    Entry::open(CWD, OsStr::new(start), OFlags::DIRECTORY, start.into())
        .map_err(|error| FileError::io("open the directory of", path, error))
}

fn is_procfs(entry: &Entry) -> bool {
    fstatfs(&entry.descriptor).is_ok_and(|facts| facts.f_type == PROC_SUPER_MAGIC)
}
