//! A directory for files that no other user may read or change, held by its descriptor.
//!
//! The path to the base directory (`$XDG_STATE_HOME`, `/run`) is followed only through directories and
//! links that root and the user control. The components below it belong to the program: they are made
//! with mode 0700, opened without following links, and refused if another user owns them or can write to
//! them. After that the files are reached by a single name below the descriptor: even if the path
//! changes, they stay in the directory that was checked.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, mkdirat, openat,
    renameat, unlinkat,
};
use rustix::io::Errno;

use super::error::FileError;
use super::output::{check_name, create_temporary, is_temporary, rename_new};
use super::path::{DIRECTORY_MODE, find_private_directory, is_shared};

pub use super::error::FileError as PrivateDirectoryError;

/// Permission bits of the files.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open directory that only the effective user can read or change.
#[derive(Debug)]
pub struct PrivateDirectory {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl PrivateDirectory {
    /// Opens `base/own` and creates missing directories with mode 0700. `own` has one or more components
    /// of the program (`diskscope/settings`).
    ///
    /// # Errors
    /// When others can redirect `base`; when a component of `own` is a symbolic link or no directory,
    /// belongs to another user, or is writable by others; or when the kernel refuses.
    pub fn create(base: &Path, own: &Path) -> Result<Self, FileError> {
        Self::open_path(base, own, true)
    }

    /// Opens `base/own` like [`PrivateDirectory::create`], but creates nothing.
    ///
    /// # Errors
    /// As above, and when it does not exist ([`FileError::is_not_found`]).
    pub fn open(base: &Path, own: &Path) -> Result<Self, FileError> {
        Self::open_path(base, own, false)
    }

    fn open_path(base: &Path, own: &Path, creates: bool) -> Result<Self, FileError> {
        let mut directory = Self {
            descriptor: find_private_directory(base, creates)?,
            path: base.to_owned(),
        };
        for name in own {
            check_name(name)?;
            directory = directory.open_child(name, creates)?;
        }
        Ok(directory)
    }

    fn open_child(&self, name: &OsStr, creates: bool) -> Result<Self, FileError> {
        let path = self.path.join(name);
        if creates {
            match mkdirat(&self.descriptor, name, DIRECTORY_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(FileError::io("make the directory", &path, error)),
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = match openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(untrusted(&path, "it is a symbolic link, or no directory"));
            }
            Err(error) => return Err(FileError::io("open", &path, error)),
        };
        let stat = fstat(&descriptor).map_err(|error| FileError::io("examine", &path, error))?;
        check_own(&stat, &path)?;
        Ok(Self { descriptor, path })
    }

    /// Its path at the time of opening, for display.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it, for display.
    fn file_path(&self, name: &OsStr) -> Result<PathBuf, FileError> {
        check_name(name)?;
        Ok(self.path.join(name))
    }

    /// Creates a new file with mode 0600 and opens it for reading and writing.
    ///
    /// # Errors
    /// When the name exists, or when the kernel refuses.
    pub fn create_new(&self, name: &OsStr) -> Result<File, FileError> {
        self.open_with(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens an existing file for reading: a regular file with a single name, of the effective user,
    /// and not writable by others.
    ///
    /// # Errors
    /// When it is not such a file, or when the kernel refuses.
    pub fn open_file(&self, name: &OsStr) -> Result<File, FileError> {
        self.open_with(name, OFlags::RDONLY)
    }

    /// Opens a file for reading and writing, or creates it if it is missing.
    ///
    /// # Errors
    /// As for [`PrivateDirectory::open_file`].
    pub fn open_or_create(&self, name: &OsStr) -> Result<File, FileError> {
        self.open_with(name, OFlags::RDWR | OFlags::CREATE)
    }

    fn open_with(&self, name: &OsStr, flags: OFlags) -> Result<File, FileError> {
        let path = self.file_path(name)?;
        // A FIFO in its place is not waited for.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.descriptor, name, flags, FILE_MODE)
            .map_err(|error| FileError::io("open", &path, error))?;
        let stat = fstat(&file).map_err(|error| FileError::io("examine", &path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(untrusted(&path, "it is no regular file"));
        }
        check_own(&stat, &path)?;
        if stat.st_nlink > 1 {
            return Err(untrusted(&path, "it has another name (hard link)"));
        }
        Ok(file.into())
    }

    /// Replaces a file atomically, also if this process is killed: writes and syncs a temporary file,
    /// then renames it. The new file is locked ([`lock`]) from before it has the name until it is closed.
    ///
    /// # Errors
    /// When the kernel refuses. The old file then remains.
    pub fn replace_file(&self, name: &OsStr, content: &[u8]) -> Result<File, FileError> {
        self.write_and_rename(name, content, |from| {
            renameat(&self.descriptor, from, &self.descriptor, name)
        })
    }

    /// Writes a complete file under a name that is not in use.
    ///
    /// # Errors
    /// When the name exists ([`FileError::is_already_exists`]), or when the kernel refuses.
    pub fn write_new(&self, name: &OsStr, content: &[u8]) -> Result<(), FileError> {
        let rename = |from: &OsStr| rename_new(&self.descriptor, from, name);
        self.write_and_rename(name, content, rename).map(drop)
    }

    fn write_and_rename(
        &self,
        name: &OsStr,
        content: &[u8],
        rename: impl FnOnce(&OsStr) -> rustix::io::Result<()>,
    ) -> Result<File, FileError> {
        let path = self.file_path(name)?;
        let failed = |error| FileError::io("write", &path, error);
        let (temporary, mut file) =
            create_temporary(&self.descriptor, FILE_MODE).map_err(failed)?;
        // Where the file system has no locks, its age alone protects it.
        let _ = lock(&file);
        let written = file.write_all(content).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| Ok(rename(&temporary)?));
        match renamed {
            Ok(()) => Ok(file),
            Err(error) => {
                // The first error is the relevant one.
                let _ = self.unlink(&temporary);
                Err(failed(error))
            }
        }
    }

    /// Removes temporary files older than `age`, whose writer was killed. A younger one, or one that is
    /// locked, may be about to be renamed.
    pub fn remove_old_temporaries(&self, age: Duration) {
        let now = SystemTime::now();
        let names = self.entry_names().unwrap_or_default();
        for name in names.iter().filter(|name| is_temporary(name)) {
            let Ok(file) = self.open_file(name) else {
                continue;
            };
            let modified = file.metadata().and_then(|about| about.modified()).ok();
            let elapsed = modified.and_then(|then| now.duration_since(then).ok());
            if elapsed.is_some_and(|elapsed| elapsed >= age) && !is_locked(&file) {
                // A remaining temporary file only takes up a little space.
                let _ = self.unlink(name);
            }
        }
    }

    /// Names of its entries, unordered.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn entry_names(&self) -> Result<Vec<OsString>, FileError> {
        let failed = |error| FileError::io("list", &self.path, error);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.descriptor).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// When it does not exist, or when the kernel refuses.
    pub fn unlink(&self, name: &OsStr) -> Result<(), FileError> {
        let path = self.file_path(name)?;
        unlinkat(&self.descriptor, name, AtFlags::empty())
            .map_err(|error| FileError::io("remove", &path, error))
    }
}

impl AsFd for PrivateDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// That a directory or file of the program is this user's, and nobody else can write to it.
fn check_own(stat: &Stat, path: &Path) -> Result<(), FileError> {
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(untrusted(path, "it belongs to another user"));
    }
    if is_shared(stat) {
        return Err(untrusted(path, "it is writable by other users"));
    }
    Ok(())
}

fn untrusted(path: &Path, reason: &'static str) -> FileError {
    FileError::WrongState(path.to_owned(), reason)
}

/// Takes the lock of the process that writes a file (flock(2)), until the file is closed: it tells a file
/// in use from one that was left behind. False if it is held, or where the file system has no locks: the
/// file then counts as left behind.
#[must_use]
pub fn lock(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether another descriptor holds the lock.
#[must_use]
pub fn is_locked(file: &File) -> bool {
    let attempt = flock(file, FlockOperation::NonBlockingLockShared);
    if attempt.is_ok() {
        // Closing the file releases it as well, but may be late.
        let _ = flock(file, FlockOperation::Unlock);
    }
    attempt == Err(Errno::WOULDBLOCK)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
