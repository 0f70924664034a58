//! From a path to the directory and name that it really stands for, step by step, so that no
//! symbolic link of somebody else decides where an output goes.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, openat, readlinkat, statat,
};
use rustix::io::Errno;

use super::OutputError;
use super::directory::Directory;

/// As many symbolic links as the kernel follows (path_resolution(7)).
const MAX_LINKS: u32 = 40;
/// `f_type` of procfs (statfs(2)).
const PROC_SUPER_MAGIC: rustix::fs::FsWord = 0x9fa0;
/// Anybody may make and rename files in such a directory.
pub(super) const WRITABLE_BY_ALL: u32 = 0o002;

/// What a path stands for.
#[derive(Debug)]
pub(super) enum Place {
    /// A name in a directory, and what is there; not a symbolic link.
    Entry {
        directory: Directory,
        name: OsString,
        found: Option<Stat>,
    },
    /// A descriptor of this process, such as `/dev/stdout` or `/dev/fd/63`.
    Descriptor(i32),
    /// What a link of procfs leads to, opened with `O_PATH`.
    Opened(OwnedFd),
}

/// Resolves a path.
///
/// # Errors
/// When a directory on the way is missing, a symbolic link on the way is not to be trusted, or it
/// ends in a directory.
pub(super) fn resolve(path: &Path) -> Result<Place, OutputError> {
    let start = if path.is_absolute() { "/" } else { "." };
    let mut walk = Walk {
        path,
        directory: open_directory(path, CWD, OsStr::new(start))?,
        pending: VecDeque::new(),
        links: 0,
        link_owners: Vec::new(),
    };
    walk.push(path.as_os_str())?;
    walk.run()
}

fn open_directory(path: &Path, at: impl AsFd, name: &OsStr) -> Result<OwnedFd, OutputError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
        .map_err(|error| OutputError::io("open the directory of", path, error))
}

struct Walk<'a> {
    path: &'a Path,
    directory: OwnedFd,
    pending: VecDeque<OsString>,
    links: u32,
    /// Owners of links that belong neither to root nor to the effective user.
    link_owners: Vec<u32>,
}

impl Walk<'_> {
    /// Puts the components of a path before what is still to be walked.
    fn push(&mut self, path: &OsStr) -> Result<(), OutputError> {
        let bytes = path.as_bytes();
        if bytes.is_empty() {
            return Err(OutputError::io("write", self.path, Errno::NOENT));
        }
        if bytes[0] == b'/' {
            self.directory = open_directory(self.path, CWD, OsStr::new("/"))?;
        }
        let mut components: Vec<OsString> = bytes
            .split(|byte| *byte == b'/')
            .filter(|component| !component.is_empty())
            .map(|component| OsStr::from_bytes(component).to_owned())
            .collect();
        if bytes.ends_with(b"/") {
            components.push(".".into());
        }
        for component in components.into_iter().rev() {
            self.pending.push_front(component);
        }
        Ok(())
    }

    fn run(mut self) -> Result<Place, OutputError> {
        while let Some(name) = self.pending.pop_front() {
            let is_dots = name == "." || name == "..";
            if is_dots || !self.pending.is_empty() {
                self.enter(&name)?;
                continue;
            }
            let found = match statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Some(stat),
                Err(Errno::NOENT) => None,
                Err(error) => return Err(OutputError::io("look at", self.path, error)),
            };
            if let Some(stat) = &found
                && FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
            {
                if self.is_procfs() {
                    return self.procfs_link(&name);
                }
                self.follow(&name, stat)?;
                continue;
            }
            self.check_link_owners(found.as_ref())?;
            return Ok(Place::Entry {
                directory: Directory::new(self.directory),
                name,
                found,
            });
        }
        Err(OutputError::unsuitable(self.path, "a directory"))
    }

    /// Goes into a directory that is not the last component.
    fn enter(&mut self, name: &OsStr) -> Result<(), OutputError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(directory) => {
                self.directory = directory;
                return Ok(());
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => {
                return Err(OutputError::io("open the directory of", self.path, error));
            }
        }
        if self.is_procfs() {
            // Such links are the kernel's own.
            self.directory = open_directory(self.path, &self.directory, name)?;
            return Ok(());
        }
        let stat = statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| OutputError::io("look at", self.path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            let error = Errno::NOTDIR;
            return Err(OutputError::io("open the directory of", self.path, error));
        }
        self.follow(name, &stat)
    }

    fn follow(&mut self, name: &OsStr, link: &Stat) -> Result<(), OutputError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(OutputError::io("follow", self.path, Errno::LOOP));
        }
        let user = rustix::process::geteuid().as_raw();
        let around = fstat(&self.directory)
            .map_err(|error| OutputError::io("look at the directory of", self.path, error))?;
        // As fs.protected_symlinks does it, which may be off.
        if around.st_mode & WRITABLE_BY_ALL != 0
            && link.st_uid != user
            && link.st_uid != around.st_uid
        {
            return Err(self.untrusted(format!(
                "{} is a symbolic link that user {} made in a directory that everybody can write",
                name.display(),
                link.st_uid
            )));
        }
        if link.st_uid != user && link.st_uid != 0 {
            self.link_owners.push(link.st_uid);
        }
        let target = readlinkat(&self.directory, name, Vec::new())
            .map_err(|error| OutputError::io("follow", self.path, error))?;
        self.push(&OsString::from_vec(target.into_bytes()))
    }

    /// A link of another user may lead to that user's files, and to nobody else's.
    fn check_link_owners(&self, found: Option<&Stat>) -> Result<(), OutputError> {
        let owner = match found {
            _ if self.link_owners.is_empty() => return Ok(()),
            Some(stat) => stat.st_uid,
            None => {
                fstat(&self.directory)
                    .map_err(|error| OutputError::io("look at the directory of", self.path, error))?
                    .st_uid
            }
        };
        match self.link_owners.iter().find(|other| **other != owner) {
            None => Ok(()),
            Some(other) => Err(self.untrusted(format!(
                "a symbolic link of user {other} leads there, and it belongs to user {owner}"
            ))),
        }
    }

    fn untrusted(&self, reason: String) -> OutputError {
        OutputError::Untrusted {
            path: self.path.to_owned(),
            reason,
        }
    }

    fn is_procfs(&self) -> bool {
        fstatfs(&self.directory).is_ok_and(|facts| facts.f_type == PROC_SUPER_MAGIC)
    }

    /// The last component is a link of procfs: a descriptor, or what another one has open.
    fn procfs_link(self, name: &OsStr) -> Result<Place, OutputError> {
        let number = name.to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number
            && self.is_own_descriptors()
        {
            return Ok(Place::Descriptor(number));
        }
        openat(
            &self.directory,
            name,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map(Place::Opened)
        .map_err(|error| OutputError::io("open", self.path, error))
    }

    fn is_own_descriptors(&self) -> bool {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let same = |path: &str| {
            // Its inode number is valid as long as it is open.
            let own = openat(CWD, path, flags, Mode::empty()).ok()?;
            let (own, walked) = (fstat(&own).ok()?, fstat(&self.directory).ok()?);
            Some((own.st_dev, own.st_ino) == (walked.st_dev, walked.st_ino))
        };
        ["/proc/self/fd", "/proc/thread-self/fd"]
            .into_iter()
            .any(|path| same(path) == Some(true))
    }
}
