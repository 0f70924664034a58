//! Files that are written: replaced as a whole, or growing.
//!
//! A whole file is written under another name in the same directory, synced, and renamed: whoever reads it
//! sees the old content or the new one, and an error keeps the old.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rand::Rng as _;
use rustix::fs::{
    Access, AtFlags, Gid, Mode, OFlags, RenameFlags, StatxAttributes, StatxFlags, Uid, accessat,
    fchmod, fchown, fstat, fstatvfs, listxattr, openat, renameat, renameat_with, statat, statx,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::FileError;
use super::file_id::FileId;
use super::path::{self, Entry, FoundPath, has_access_list, is_shared, own_path};

/// How a new file is opened.
const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// For its owner only.
const PRIVATE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Bytes that stay free on the file system of a file that grows.
const RESERVE_BYTES: u64 = 64 << 20;
/// On a small file system, only 1 in this many bytes stays free.
const RESERVE_SHARE: u64 = 20;

/// Who may read a new output. An existing file keeps its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFileAccess {
    /// As the umask allows.
    Umask,
    /// Its owner only: it holds command lines of other users.
    Private,
}

/// A name in a directory, which is held open.
#[derive(Debug)]
pub(crate) struct NamedFile {
    /// For messages.
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
    /// Held, so that its inode number is not given to another file.
    existing: Option<Entry>,
}

impl NamedFile {
    pub(crate) fn new(path: &Path, found: FoundPath) -> Self {
        Self {
            path: path.to_owned(),
            directory: found.directory.descriptor,
            name: found.name,
            existing: found.entry,
        }
    }

    /// Whether both are the same name in the same directory.
    pub(crate) fn is_same_name(&self, other: &Self) -> bool {
        let directory = |file: &Self| fstat(&file.directory).ok().map(|it| FileId::of_stat(&it));
        self.name == other.name && directory(self) == directory(other)
    }

    fn check_new(&self) -> Result<(), FileError> {
        let existing = self.existing.as_ref();
        existing.map_or(Ok(()), |_| Err(FileError::AlreadyExists(self.path.clone())))
    }

    /// Creates the file, which must be new; only its owner may read it.
    pub(crate) fn create(&self) -> Result<File, FileError> {
        self.check_new()?;
        match openat(&self.directory, &self.name, NEW_FILE, PRIVATE_MODE) {
            Ok(file) => Ok(file.into()),
            Err(Errno::EXIST) => Err(FileError::AlreadyExists(self.path.clone())),
            Err(error) => Err(FileError::io("make", &self.path, error)),
        }
    }

    /// Removes the name, unless it belongs to another file than this one.
    pub(crate) fn remove(&self, file: &File) {
        if let (Ok(found), Ok(own)) = (self.current_id(), fstat(file))
            && found == Some(FileId::of_stat(&own))
        {
            // A file that remains is harmless.
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }

    fn current_id(&self) -> rustix::io::Result<Option<FileId>> {
        match statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileId::of_stat(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checks that a file can be made in the directory and can replace the existing one; which
    /// attributes that one would lose.
    pub(crate) fn check_writable(&self) -> Result<Vec<&'static str>, FileError> {
        let (here, name) = (&self.directory, &self.name);
        if let Some(existing) = &self.existing {
            accessat(here, name, Access::WRITE_OK, AtFlags::empty())
                .map_err(|error| FileError::io("write", &self.path, error))?;
            let at = &existing.descriptor;
            let facts = statx(at, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE);
            let mount = StatxAttributes::MOUNT_ROOT;
            if facts.is_ok_and(|facts| facts.stx_attributes.contains(mount)) {
                let what = "a mount point, which cannot be replaced: mount its directory instead";
                return Err(FileError::WrongKind(self.path.clone(), what));
            }
        }
        let tried = || {
            let (name, file) = create_temporary(here, PRIVATE_MODE)?;
            let lost = self.take_attributes(&file);
            unlinkat(here, &name, AtFlags::empty())?;
            lost
        };
        tried().map_err(|error| FileError::io("make a file beside", &self.path, error))
    }

    /// Writes a new file and gives it the name, unless that leads to another file than when it was checked.
    pub(crate) fn replace(&self, bytes: &[u8], access: NewFileAccess) -> Result<(), FileError> {
        let replaced = match self.current_id() {
            Ok(id) if id == self.existing.as_ref().map(Entry::id) => {
                self.write_and_rename(bytes, access)
            }
            Ok(_) => Err(Errno::EXIST.into()),
            Err(error) => Err(error.into()),
        };
        replaced.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => FileError::PathChanged(self.path.clone()),
            _ => FileError::io("write", &self.path, error),
        })
    }

    fn write_and_rename(&self, bytes: &[u8], access: NewFileAccess) -> io::Result<()> {
        let mode = match (&self.existing, access) {
            (None, NewFileAccess::Umask) => Mode::from_raw_mode(0o666),
            _ => PRIVATE_MODE,
        };
        let (temporary, mut file) = create_temporary(&self.directory, mode)?;
        let written = self
            .take_attributes(&file)
            .and_then(|_| file.write_all(bytes))
            .and_then(|()| file.sync_all());
        // A server with Windows renames no open file.
        drop(file);
        let (here, name) = (&self.directory, &self.name);
        let renamed = written.and_then(|()| match self.existing {
            Some(_) => Ok(renameat(here, &temporary, here, name)?),
            None => Ok(rename_new(here, &temporary, name)?),
        });
        if renamed.is_err() {
            // The reason of the failure is relevant, not the result of the cleanup.
            let _ = unlinkat(here, &temporary, AtFlags::empty());
        }
        renamed
    }

    /// Gives a file the owner and the mode that the existing one has now; what else that one loses.
    fn take_attributes(&self, file: &File) -> io::Result<Vec<&'static str>> {
        let Some(existing) = &self.existing else {
            return Ok(Vec::new());
        };
        let (old, new) = (fstat(&existing.descriptor)?, fstat(file)?);
        let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        let is_owner_lost = (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid)
            && fchown(file, Some(owner), Some(group)).is_err();
        let has_list = has_access_list(&existing.descriptor);
        let mut mode = old.st_mode & 0o777;
        if is_owner_lost || has_list {
            // They may have been granted to another group, or are the maximum of the list.
            mode &= !0o070;
        }
        // Some file systems take the mode of all files from their mount.
        let is_mode_lost =
            new.st_mode & 0o777 != mode && fchmod(file, Mode::from_raw_mode(mode)).is_err();
        let lost = [
            (is_owner_lost, "owner or group"),
            (is_mode_lost || old.st_mode & 0o7000 != 0, "mode"),
            (has_list, "access control list"),
            (has_attributes(existing), "extended attributes"),
            (old.st_nlink > 1, "other names (hard links)"),
        ];
        Ok(lost
            .into_iter()
            .filter(|(is_lost, _)| *is_lost)
            .map(|(_, what)| what)
            .collect())
    }
}

/// Whether a user has given a file attributes: those of security modules and file systems do not count.
fn has_attributes(existing: &Entry) -> bool {
    let mut names = [0; 4096];
    let length = listxattr(own_path(&existing.descriptor), &mut names[..]).unwrap_or(0);
    names[..length]
        .split(|byte| *byte == 0)
        .any(|name| name.starts_with(b"user."))
}

/// In a directory that others can write, another user may have made the file to read what is written
/// to it (compare `fs.protected_regular` and `fs.protected_fifos`).
pub(crate) fn check_not_planted(
    path: &Path,
    found: &FoundPath,
    entry: &Entry,
) -> Result<(), FileError> {
    let around = &found.directory.stat;
    let owner = entry.stat.st_uid;
    if is_shared(around) && owner != geteuid().as_raw() && owner != around.st_uid {
        let reason = format!("it belongs to user {owner}, in a directory that others can write");
        return Err(FileError::Untrusted(path.to_owned(), reason));
    }
    Ok(())
}

/// Creates a file that only its owner may read, open for reading and writing.
///
/// # Errors
/// When the name exists, or when it cannot be created.
pub fn create_private(path: &Path) -> Result<File, FileError> {
    NamedFile::new(path, path::find(path)?).create()
}

/// Writes a complete new file with a name that the program made, for its owner only; returns its path.
///
/// # Errors
/// When the name exists, is no single component, or when the file cannot be written.
pub fn write_new(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, FileError> {
    check_name(name.as_ref())?;
    let path = directory.join(name);
    let file = NamedFile::new(&path, path::find(&path)?);
    file.check_new()?;
    file.replace(bytes, NewFileAccess::Private)?;
    Ok(path)
}

/// That a name is a single component of a path.
pub(super) fn check_name(name: &OsStr) -> Result<(), FileError> {
    match Path::new(name).file_name() {
        Some(component) if component == name => Ok(()),
        _ => Err(FileError::InvalidName(name.into())),
    }
}

/// Replaces an existing file, if the path still leads to the one with that identity.
///
/// # Errors
/// When it leads to another one, or must not or cannot be written.
pub fn replace_file(path: &Path, id: FileId, bytes: &[u8]) -> Result<(), FileError> {
    let found = path::find(path)?;
    let Some(entry) = found.entry.as_ref().filter(|entry| entry.id() == id) else {
        return Err(FileError::PathChanged(path.to_owned()));
    };
    check_not_planted(path, &found, entry)?;
    let file = NamedFile::new(path, found);
    file.check_writable()?;
    file.replace(bytes, NewFileAccess::Private)
}

/// Removes a file that was created under this name, unless the name belongs to another file by now.
pub fn remove_created(path: &Path, file: &File) {
    if let Ok(found) = path::find(path) {
        NamedFile::new(path, found).remove(file);
    }
}

/// Appends all of the bytes to a file of `complete_bytes`, or none of them: what was written before an
/// error is cut off again.
///
/// # Errors
/// That of the write.
pub fn append_whole(file: &File, bytes: &[u8], complete_bytes: u64) -> io::Result<()> {
    file.write_all_at(bytes, complete_bytes).inspect_err(|_| {
        let _ = file.set_len(complete_bytes);
    })
}

/// Whether the file system of a file keeps its reserve after another `bytes` bytes: 64 MiB, or 5 % of a
/// small one. True where it reports no size.
#[must_use]
pub fn has_room(file: &File, bytes: u64) -> bool {
    let Ok(facts) = fstatvfs(file) else {
        return true;
    };
    let total = facts.f_blocks.saturating_mul(facts.f_frsize);
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    // A byte more than what a block holds takes a whole block.
    let needed = bytes.saturating_add(facts.f_frsize);
    total == 0 || free >= needed.saturating_add(RESERVE_BYTES.min(total / RESERVE_SHARE))
}

/// Makes a file with an unpredictable hidden name.
pub(super) fn create_temporary(directory: impl AsFd, mode: Mode) -> io::Result<(OsString, File)> {
    let mut random = rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>();
    let name = OsString::from(format!(".diskscope-{:016x}", random.next_u64()));
    let file = openat(directory, &name, NEW_FILE, mode)?;
    Ok((name, file.into()))
}

/// Whether a name is one of [`create_temporary`].
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let random = name.as_bytes().strip_prefix(b".diskscope-");
    random.is_some_and(|random| random.len() == 16 && random.iter().all(u8::is_ascii_hexdigit))
}

/// Renames an entry of a directory; replaces no other file, except one that is made in the same moment
/// on a file system without `RENAME_NOREPLACE` (NFS, FUSE).
///
/// # Errors
/// [`Errno::EXIST`] if the new name exists; or what the kernel reports.
pub(super) fn rename_new(directory: impl AsFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    let here = directory.as_fd();
    match renameat_with(here, from, here, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        done => return done,
    }
    match statat(here, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => renameat(here, from, here, to),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn name_made_by_the_program_stays_in_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        for bad in ["", ".", "..", "../out", "/out", "out/"] {
            let error = write_new(directory.path(), bad, b"text").unwrap_err();
            assert!(
                matches!(error, FileError::InvalidName(_)),
                "{bad:?}: {error}"
            );
        }
        let path = write_new(directory.path(), "out", b"text").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let error = write_new(directory.path(), "out", b"more").unwrap_err();
        assert!(matches!(error, FileError::AlreadyExists(_)), "{error}");
        assert_eq!(fs::read_to_string(path).unwrap(), "text");
    }
}
