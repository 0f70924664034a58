//! A directory, accessed through its descriptor, and new files in it. No function here follows a
//! symbolic link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, linkat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::exclusive_rename::rename_exclusively;
use crate::named_file::held_signals::HeldSignals;
use rand::Rng as _;

/// Access to a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFileAccess {
    /// As the umask allows.
    Umask,
    /// Owner only, regardless of the umask.
    Private,
}

impl NewFileAccess {
    fn mode(self) -> Mode {
        match self {
            Self::Umask => Mode::from_raw_mode(0o666),
            Self::Private => Mode::from_raw_mode(0o600),
        }
    }

    /// A umask such as 0200 must not remove the owner's permissions either. Where the file system takes owner
    /// and mode of all files from its mount (FAT, SMB), or has no chmod(2) (FUSE), the file keeps what they
    /// are there.
    fn apply_mode(self, file: &File) -> rustix::io::Result<()> {
        match self {
            Self::Umask => Ok(()),
            Self::Private => match fchmod(file, self.mode()) {
                Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
                done => done,
            },
        }
    }
}

/// An open directory.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    descriptor: OwnedFd,
}

impl OpenDirectory {
    /// From a descriptor of a directory, which may be `O_PATH`.
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor }
    }

    /// Its descriptor, possibly `O_PATH`.
    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Status of the entry of that name, without following a symbolic link.
    ///
    /// # Errors
    /// When the status cannot be determined.
    pub(super) fn stat_entry(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Status of the directory itself.
    pub(super) fn stat(&self) -> io::Result<Stat> {
        Ok(fstat(&self.descriptor)?)
    }

    /// Opens an entry.
    pub(super) fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.descriptor, name, flags, Mode::empty())?)
    }

    /// Creates a file and opens it for appending; fails with `AlreadyExists` if the name exists.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn create_new(&self, name: &OsStr, access: NewFileAccess) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = File::from(openat(
            &self.descriptor,
            name,
            flags | OFlags::CLOEXEC,
            access.mode(),
        )?);
        access
            .apply_mode(&file)
            .map_err(|error| self.remove_own(&file, name, error))?;
        Ok(file)
    }

    /// Removes a name.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Creates an unnamed file, which the kernel frees when its descriptor is closed. If the file
    /// system does not support unnamed files, a named one proves that the directory accepts new
    /// files.
    pub(super) fn create_temporary(&self, access: NewFileAccess) -> io::Result<TemporaryFile> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        match openat(&self.descriptor, ".", flags, access.mode()) {
            Ok(file) => {
                let file = File::from(file);
                access.apply_mode(&file)?;
                Ok(TemporaryFile {
                    owner: fstat(&file)?.st_uid,
                    file: Some(file),
                    is_linkable: true,
                    access,
                })
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let _held = HeldSignals::hold();
                let (file, name) = self.create_random_named(access)?;
                // A file without a name has no attributes on some servers.
                let stat = fstat(&file);
                let file = self.remove_open(file, &name)?;
                Ok(TemporaryFile {
                    owner: stat?.st_uid,
                    file,
                    is_linkable: false,
                    access,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the name of a file and returns the file. `None` if it had to be closed first: a server with
    /// Windows removes no open file.
    fn remove_open(&self, file: File, name: &OsStr) -> io::Result<Option<File>> {
        if self.remove(name).is_ok() {
            return Ok(Some(file));
        }
        drop(file);
        self.remove(name)?;
        Ok(None)
    }

    /// Creates a file with an unpredictable name.
    fn create_random_named(&self, access: NewFileAccess) -> io::Result<(File, OsString)> {
        loop {
            let name = random_name();
            match self.create_new(&name, access) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|file| (file, name)),
            }
        }
    }

    /// Gives an unnamed file a random name.
    fn link_random(&self, file: &File) -> io::Result<OsString> {
        loop {
            let name = random_name();
            match self.link(file, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(name),
            }
        }
    }

    /// Gives an unnamed file a name (open(2), `O_TMPFILE`).
    fn link(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(CWD, link, &self.descriptor, name, AtFlags::SYMLINK_FOLLOW) {
            // Without /proc; this needs a capability.
            Err(Errno::NOENT) => {
                linkat(file, "", &self.descriptor, name, AtFlags::EMPTY_PATH)?;
                Ok(())
            }
            done => Ok(done?),
        }
    }

    /// Writes a new file atomically: its name appears only when it is complete.
    ///
    /// # Errors
    /// `AlreadyExists` if the name exists; or when it cannot be written.
    pub(super) fn write_new_file(
        &self,
        name: &OsStr,
        bytes: &[u8],
        access: NewFileAccess,
    ) -> io::Result<()> {
        self.create_temporary(access)?
            .publish(self, name, bytes, ExistingFile::Keep, &|_| Ok(()))
    }
}

/// Handling of an existing file of the same name.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExistingFile<'a> {
    /// Keep it and return an error.
    Keep,
    /// Replace it if it is this file, which the caller has open; otherwise keep it and return the
    /// same error.
    Replace(&'a Stat),
}

/// Sets owner and mode of a file before it is written, before it gets its name, and after it has got it:
/// those of the file that it replaces may have changed meanwhile. Fails if that file has other
/// attributes.
pub(super) type SetOwnership<'a> = &'a dyn Fn(&File) -> io::Result<()>;

/// A file without its final name.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    /// `None` where the name of an open file can be neither removed nor changed.
    pub(super) file: Option<File>,
    /// The user to whom the file system gave it.
    pub(super) owner: u32,
    /// Whether it is unnamed. Otherwise it only proves that a file can be created.
    pub(super) is_linkable: bool,
    /// Access to it until `settle` changes it.
    pub(super) access: NewFileAccess,
}

impl TemporaryFile {
    /// Writes the file, synchronises it and gives it its name. `settle` sets owner and mode of the
    /// file.
    pub(super) fn publish(
        self,
        directory: &OpenDirectory,
        name: &OsStr,
        bytes: &[u8],
        existing: ExistingFile<'_>,
        settle: SetOwnership<'_>,
    ) -> io::Result<()> {
        use io::Write;
        // From the first byte: whoever asks the program to end once gets the whole result.
        let _held = HeldSignals::hold();
        let mut file = match &self.file {
            Some(file) if self.is_linkable => file,
            _ => return self.publish_named(directory, name, bytes, (existing, settle)),
        };
        settle(file)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        settle(file)?;
        let ExistingFile::Replace(replaced) = existing else {
            return directory.link(file, name);
        };
        let random = directory.link_random(file)?;
        directory.exchange(file, (&random, name), (replaced, settle))
    }

    /// For file systems without support for unnamed files.
    fn publish_named(
        self,
        directory: &OpenDirectory,
        name: &OsStr,
        bytes: &[u8],
        (existing, settle): (ExistingFile<'_>, SetOwnership<'_>),
    ) -> io::Result<()> {
        use io::Write;
        let (mut file, random) = directory.create_random_named(self.access)?;
        let written = settle(&file)
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.sync_data())
            .and_then(|()| settle(&file));
        if let Err(error) = written {
            // The reason of the failure is relevant, not the result of the cleanup.
            let _ = directory.remove_open(file, &random);
            return Err(error);
        }
        match existing {
            ExistingFile::Keep if self.file.is_none() => {
                drop(file);
                let renamed = rename_exclusively(directory.descriptor(), &random, name);
                if renamed.is_err() {
                    let _ = directory.remove(&random);
                }
                Ok(renamed?)
            }
            ExistingFile::Keep => directory.rename_new(&file, (&random, name)),
            ExistingFile::Replace(replaced) => {
                directory.exchange(&file, (&random, name), (replaced, settle))
            }
        }
    }
}

impl OpenDirectory {
    /// Renames a file without replacing another.
    fn rename_new(&self, file: &File, (from, to): (&OsStr, &OsStr)) -> io::Result<()> {
        rename_exclusively(&self.descriptor, from, to)
            .map_err(|error| self.remove_own(file, from, error))
    }

    /// Replaces another file by exchanging both names, so that the replaced file can be checked:
    /// another process may have put a different file there just before, or changed its attributes. In
    /// these cases the names are exchanged back.
    fn exchange(
        &self,
        file: &File,
        (from, to): (&OsStr, &OsStr),
        (replaced, settle): (&Stat, SetOwnership<'_>),
    ) -> io::Result<()> {
        let here = &self.descriptor;
        let swap = || renameat_with(here, from, here, to, RenameFlags::EXCHANGE);
        match swap() {
            Ok(()) => {}
            // For a file system without `RENAME_EXCHANGE`: the file was checked just before.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return renameat(here, from, here, to)
                    .map_err(|error| self.remove_own(file, from, error));
            }
            Err(Errno::NOENT) => return Err(self.remove_own(file, from, Errno::EXIST)),
            Err(error) => return Err(self.remove_own(file, from, error)),
        }
        match self.stat_entry(from)? {
            Some(found) if is_same(&found, replaced) && settle(file).is_ok() => {
                return self.remove(from);
            }
            // Another process has removed it.
            None => return Ok(()),
            Some(_) => {}
        }
        if swap().is_err() {
            // Another process removed this file: the name is free for the file that had it.
            let _ = renameat_with(here, from, here, to, RenameFlags::NOREPLACE);
        }
        Err(self.remove_own(file, from, Errno::EXIST))
    }

    /// Removes the name of a file that could not be published, unless the name now belongs to
    /// another file. Returns the error that caused it, regardless of the result.
    fn remove_own(&self, file: &File, name: &OsStr, error: Errno) -> io::Error {
        self.remove_if_same(file, name);
        error.into()
    }

    /// Removes the name of a file, unless it belongs to another one.
    pub(super) fn remove_if_same(&self, file: &File, name: &OsStr) {
        let own = fstat(file).ok();
        let found = self.stat_entry(name).ok().flatten();
        if own
            .zip(found)
            .is_some_and(|(own, found)| is_same(&own, &found))
        {
            let _ = self.remove(name);
        }
    }
}

/// Whether both are the same file. At least one must be open, because an inode number may be
/// reused.
fn is_same(left: &Stat, right: &Stat) -> bool {
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
    (left.st_dev, left.st_ino, kind(left)) == (right.st_dev, right.st_ino, kind(right))
}

fn random_name() -> OsString {
    format!(
        ".diskscope-{:016x}",
        rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>().next_u64()
    )
    .into()
}
