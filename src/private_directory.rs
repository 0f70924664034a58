//! A directory for files that no other user may read or change, accessed through its descriptor.
//!
//! The path to the base directory (`$XDG_STATE_HOME`, `/run`) leads only through directories and
//! links of root and the user that no one else can move. The components below the base belong to
//! the program. They are created with mode 0700, opened without following symbolic links, and
//! rejected if another user owns them or can write to them. After that the directory is accessed
//! only through its descriptor, and its files by a single name. Even if the path changes, the files
//! stay in the directory that was checked.

mod base;
mod error;
pub mod file_lock;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::private_directory::base::DIRECTORY_MODE;
use rand::Rng as _;

pub use self::base::is_trusted;
pub use self::error::{PrivateDirectoryError, is_for_open_file};

/// Permission bits of the files in them.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Write permission of group and others. The group bits include the maximum that an access control
/// list grants to anyone.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Suffix of the temporary files of [`PrivateDirectory::replace_file`].
const TEMPORARY_SUFFIX: &str = ".tmp";

/// How to open an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivateFileAccess {
    /// Read only.
    Read,
    /// Read and write.
    ReadWrite,
}

/// An open directory that only the effective user can read or change.
#[derive(Debug)]
pub struct PrivateDirectory {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl PrivateDirectory {
    /// Opens `base/own` and creates missing directories. `own` has one or more components of the
    /// program (`diskscope/settings`). Each has mode 0700 afterwards, regardless of the umask.
    ///
    /// # Errors
    /// When others can redirect `base`; when a component of `own` is a symbolic link or not a
    /// directory, belongs to another user, or is writable by others; or when the kernel refuses.
    pub fn create(base: &Path, own: &Path) -> Result<Self, PrivateDirectoryError> {
        Self::open_path(base, own, true)
    }

    /// Opens `base/own` like [`PrivateDirectory::create`], but creates and changes nothing.
    ///
    /// # Errors
    /// As above, and when it does not exist ([`PrivateDirectoryError::is_not_found`]).
    pub fn open(base: &Path, own: &Path) -> Result<Self, PrivateDirectoryError> {
        Self::open_path(base, own, false)
    }

    fn open_path(base: &Path, own: &Path, create: bool) -> Result<Self, PrivateDirectoryError> {
        let mut directory = Self {
            descriptor: base::open(base, create)?,
            path: base.to_owned(),
        };
        let mut components = own.components().peekable();
        if components.peek().is_none() {
            return Err(PrivateDirectoryError::InvalidName { name: own.into() });
        }
        for component in components {
            let Component::Normal(name) = component else {
                return Err(PrivateDirectoryError::InvalidName { name: own.into() });
            };
            directory = directory.open_child(name, create)?;
        }
        Ok(directory)
    }

    fn open_child(&self, name: &OsStr, create: bool) -> Result<Self, PrivateDirectoryError> {
        let path = self.file_path(name)?;
        if create {
            match rustix::fs::mkdirat(&self.descriptor, name, DIRECTORY_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => {
                    return Err(PrivateDirectoryError::errno("make the directory", &path)(
                        error,
                    ));
                }
            }
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = rustix::fs::openat(&self.descriptor, name, flags, Mode::empty())
            .map_err(PrivateDirectoryError::errno("open", &path))?;
        let about =
            rustix::fs::fstat(&found).map_err(PrivateDirectoryError::errno("examine", &path))?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => {}
            FileType::Symlink => return Err(PrivateDirectoryError::SymbolicLink { path }),
            _ => return Err(PrivateDirectoryError::NotDirectory { path }),
        }
        check_owner(&about, &path)?;
        let descriptor = reopen_readable(&found, &path, create)?;
        let directory = Self { descriptor, path };
        // Created under an unusual umask. A non-empty one may be another project with that name.
        if create && about.st_mode & 0o777 != DIRECTORY_MODE.bits() && directory.is_empty()? {
            rustix::fs::fchmod(&directory.descriptor, DIRECTORY_MODE).map_err(
                PrivateDirectoryError::errno("set the mode of", &directory.path),
            )?;
        }
        Ok(directory)
    }

    /// Whether it has no entries.
    fn is_empty(&self) -> Result<bool, PrivateDirectoryError> {
        Ok(self.entry_names()?.is_empty())
    }

    /// Its path at the time of opening, for display.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it, for display.
    ///
    /// # Errors
    /// When the name is not a single component.
    pub fn file_path(&self, name: &OsStr) -> Result<PathBuf, PrivateDirectoryError> {
        let bytes = name.as_bytes();
        let single = !bytes.is_empty()
            && bytes != b"."
            && bytes != b".."
            && !bytes.iter().any(|byte| matches!(byte, b'/' | 0));
        if single {
            Ok(self.path.join(name))
        } else {
            Err(PrivateDirectoryError::InvalidName { name: name.into() })
        }
    }

    /// Creates a new file with mode 0600, regardless of the umask, and opens it for reading and
    /// writing.
    ///
    /// # Errors
    /// When the name exists, or when the kernel refuses.
    pub fn create_new(&self, name: &OsStr) -> Result<File, PrivateDirectoryError> {
        let path = self.file_path(name)?;
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(&self.descriptor, name, flags, FILE_MODE)
            .map_err(PrivateDirectoryError::errno("make", &path))?;
        if let Err(error) = set_file_mode(&descriptor) {
            // Nobody else can have replaced it. The first error is the relevant one.
            let _ = self.unlink(name);
            return Err(PrivateDirectoryError::errno("set the mode of", &path)(
                error,
            ));
        }
        Ok(File::from(descriptor))
    }

    /// Opens an existing file. It must be a regular file with a single link, belong to the
    /// effective user, and not be writable by others.
    ///
    /// # Errors
    /// When it is not such a file, or when the kernel refuses.
    pub fn open_file(
        &self,
        name: &OsStr,
        access: PrivateFileAccess,
    ) -> Result<File, PrivateDirectoryError> {
        let path = self.file_path(name)?;
        // Checked before opening: opening a FIFO or a device may block or have side effects.
        let about = rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(PrivateDirectoryError::errno("examine", &path))?;
        check_file(&about, &path)?;
        let access = match access {
            PrivateFileAccess::Read => OFlags::RDONLY,
            PrivateFileAccess::ReadWrite => OFlags::RDWR,
        };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(&self.descriptor, name, flags, Mode::empty())
            .map_err(PrivateDirectoryError::errno("open", &path))?;
        let about = rustix::fs::fstat(&descriptor)
            .map_err(PrivateDirectoryError::errno("examine", &path))?;
        check_file(&about, &path)?;
        Ok(File::from(descriptor))
    }

    /// Opens a file for reading and writing, or creates it if it is missing.
    ///
    /// # Errors
    /// As for [`PrivateDirectory::open_file`].
    pub fn open_or_create(&self, name: &OsStr) -> Result<File, PrivateDirectoryError> {
        // Another process may create or remove it between the two calls.
        for _ in 0..16 {
            match self.create_new(name) {
                Err(error) if error.is_already_exists() => {}
                made => return made,
            }
            match self.open_file(name, PrivateFileAccess::ReadWrite) {
                Err(error) if error.is_not_found() => {}
                opened => return opened,
            }
        }
        self.create_new(name)
    }

    /// Replaces a file atomically, also if this process is killed: writes and synchronises a
    /// temporary file with a random name, then renames it. Returns the new file, which is locked
    /// ([`file_lock`]) from before it has the name until it is closed.
    ///
    /// # Errors
    /// When the kernel refuses. The old file then remains and the temporary file is removed.
    pub fn replace_file(
        &self,
        name: &OsStr,
        content: &[u8],
    ) -> Result<File, PrivateDirectoryError> {
        let path = self.file_path(name)?;
        let (temporary, mut file) = self.create_temporary()?;
        let written = file
            .write_all(content)
            .and_then(|()| file.sync_all())
            .map_err(PrivateDirectoryError::io("write", &path));
        if let Err(error) = written {
            // The first error is the relevant one.
            let _ = self.unlink_open(&temporary, file);
            return Err(error);
        }
        match self.rename(&temporary, name) {
            Ok(()) => Ok(file),
            Err(error) if error.is_for_open_file() => {
                drop(file);
                self.rename(&temporary, name)
                    .inspect_err(|_| drop(self.unlink(&temporary)))?;
                let file = self.open_file(name, PrivateFileAccess::ReadWrite)?;
                let _ = file_lock::acquire(&file);
                Ok(file)
            }
            Err(error) => {
                let _ = self.unlink(&temporary);
                Err(error)
            }
        }
    }

    /// Creates a file that is renamed when it is complete, and locks it ([`file_lock`]): nobody
    /// removes it until it is closed.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn create_temporary(&self) -> Result<(OsString, File), PrivateDirectoryError> {
        let name = Self::temporary_name();
        let file = self.create_new(&name)?;
        // Where the file system has no locks, its age alone protects it.
        let _ = file_lock::acquire(&file);
        Ok((name, file))
    }

    /// A hidden, unpredictable name for a file that is renamed when it is complete.
    #[must_use]
    fn temporary_name() -> OsString {
        format!(
            ".{:016x}{TEMPORARY_SUFFIX}",
            rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>().next_u64()
        )
        .into()
    }

    /// Whether a name is that of a temporary file of [`PrivateDirectory::replace_file`].
    #[must_use]
    pub fn is_temporary(name: &OsStr) -> bool {
        name.to_str()
            .and_then(|name| name.strip_prefix('.')?.strip_suffix(TEMPORARY_SUFFIX))
            .is_some_and(|random| {
                random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
    }

    /// Removes temporary files older than `age`, whose writer was killed. A younger one, or one that is
    /// locked, may be about to be renamed.
    pub fn remove_old_temporaries(&self, age: Duration) {
        let now = SystemTime::now();
        let names = self.entry_names().unwrap_or_default();
        for name in names.iter().filter(|name| Self::is_temporary(name)) {
            let Ok(file) = self.open_file(name, PrivateFileAccess::Read) else {
                continue;
            };
            let modified = file.metadata().and_then(|about| about.modified()).ok();
            let elapsed = modified.and_then(|then| now.duration_since(then).ok());
            if elapsed.is_some_and(|elapsed| elapsed >= age) && !file_lock::is_held(&file) {
                // A remaining temporary file only takes up a little space.
                let _ = self.unlink_open(name, file);
            }
        }
    }

    /// Names of its entries, unordered.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn entry_names(&self) -> Result<Vec<OsString>, PrivateDirectoryError> {
        let failed = PrivateDirectoryError::errno("list", &self.path);
        let names = || -> Result<Vec<OsString>, Errno> {
            let mut names = Vec::new();
            for entry in rustix::fs::Dir::read_from(&self.descriptor)? {
                let name = entry?.file_name().to_bytes().to_vec();
                if name != b"." && name != b".." {
                    names.push(OsString::from_vec(name));
                }
            }
            Ok(names)
        };
        names().map_err(failed)
    }

    /// Renames a file within the directory and replaces an existing file of the new name.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), PrivateDirectoryError> {
        let path = self.file_path(from)?;
        self.file_path(to)?;
        let directory = &self.descriptor;
        // Not renameat2, which not every file system supports.
        rustix::fs::renameat(directory, from, directory, to)
            .map_err(PrivateDirectoryError::errno("rename", &path))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// When it does not exist, or when the kernel refuses.
    pub fn unlink(&self, name: &OsStr) -> Result<(), PrivateDirectoryError> {
        let path = self.file_path(name)?;
        rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())
            .map_err(PrivateDirectoryError::errno("remove", &path))
    }

    /// Removes a file that is open. It is closed first where the server removes no open file.
    ///
    /// # Errors
    /// As for [`PrivateDirectory::unlink`].
    pub fn unlink_open(&self, name: &OsStr, file: File) -> Result<(), PrivateDirectoryError> {
        match self.unlink(name) {
            Err(error) if error.is_for_open_file() => {
                drop(file);
                self.unlink(name)
            }
            done => done,
        }
    }
}

impl AsFd for PrivateDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Sets the mode of a new file, from which an unusual umask has removed permissions. Not every file system
/// has chmod(2).
fn set_file_mode(file: &OwnedFd) -> rustix::io::Result<()> {
    match rustix::fs::fstat(file)?.st_mode & 0o7777 == FILE_MODE.bits() {
        true => Ok(()),
        false => rustix::fs::fchmod(file, FILE_MODE),
    }
}

/// Reopens the directory so that it can be listed. `make` also grants the owner the permission that
/// an unusual umask may have removed.
fn reopen_readable(
    found: &OwnedFd,
    path: &Path,
    make: bool,
) -> Result<OwnedFd, PrivateDirectoryError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(found, ".", flags, Mode::empty());
    let opened = match open() {
        Err(Errno::ACCESS) if make => {
            // fchmod(2) does not accept an `O_PATH` descriptor.
            let same = format!("/proc/self/fd/{}", found.as_raw_fd());
            rustix::fs::chmod(same, DIRECTORY_MODE).and_then(|()| open())
        }
        opened => opened,
    };
    opened.map_err(PrivateDirectoryError::errno("open", path))
}

fn check_owner(about: &Stat, path: &Path) -> Result<(), PrivateDirectoryError> {
    let user = rustix::process::geteuid().as_raw();
    if about.st_uid != user {
        return Err(PrivateDirectoryError::WrongOwner {
            path: path.to_owned(),
            owner: about.st_uid,
            user,
        });
    }
    if about.st_mode & WRITABLE_BY_OTHERS != 0 {
        return Err(PrivateDirectoryError::WritableByOthers {
            path: path.to_owned(),
            mode: about.st_mode & 0o7777,
        });
    }
    Ok(())
}

fn check_file(about: &Stat, path: &Path) -> Result<(), PrivateDirectoryError> {
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            return Err(PrivateDirectoryError::SymbolicLink {
                path: path.to_owned(),
            });
        }
        _ => {
            return Err(PrivateDirectoryError::NotRegularFile {
                path: path.to_owned(),
            });
        }
    }
    check_owner(about, path)?;
    if about.st_nlink > 1 {
        return Err(PrivateDirectoryError::HardLinks {
            path: path.to_owned(),
            #[allow(
                clippy::unnecessary_cast,
                reason = "its width depends on the processor"
            )]
            links: about.st_nlink as u64,
        });
    }
    Ok(())
}
