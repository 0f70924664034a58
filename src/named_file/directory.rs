//! A directory by its descriptor, and new files in it. Nothing here follows a symbolic link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, linkat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::entropy;

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFileAccess {
    /// Whom the umask lets.
    Umask,
    /// Its owner alone, whatever the umask says.
    Private,
}

impl NewFileAccess {
    fn mode(self) -> Mode {
        match self {
            Self::Umask => Mode::from_raw_mode(0o666),
            Self::Private => Mode::from_raw_mode(0o600),
        }
    }

    /// A umask such as 0200 must not take the owner's rights either.
    fn apply_mode(self, file: &OwnedFd) -> rustix::io::Result<()> {
        match self {
            Self::Umask => Ok(()),
            Self::Private => fchmod(file, self.mode()),
        }
    }
}

/// An open directory.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    descriptor: OwnedFd,
}

impl OpenDirectory {
    /// From a descriptor of a directory; `O_PATH` is enough.
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor }
    }

    /// Its descriptor, maybe `O_PATH`.
    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// What lies there by that name, a symbolic link as such.
    ///
    /// # Errors
    /// When that cannot be said.
    pub(super) fn stat_entry(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The directory itself.
    pub(super) fn stat(&self) -> io::Result<Stat> {
        Ok(fstat(&self.descriptor)?)
    }

    /// Opens what lies there.
    pub(super) fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.descriptor, name, flags, Mode::empty())?)
    }

    /// Makes a file to append to; fails with `AlreadyExists` where anything has that name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn create_new(&self, name: &OsStr, access: NewFileAccess) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(
            &self.descriptor,
            name,
            flags | OFlags::CLOEXEC,
            access.mode(),
        )?;
        access.apply_mode(&file)?;
        Ok(file.into())
    }

    /// Takes a name away.
    ///
    /// # Errors
    /// When it cannot be.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Makes a file without a name, which is gone with its descriptor. Where the file system has
    /// none such, it has shown that it takes new files.
    pub(super) fn create_temporary(&self, access: NewFileAccess) -> io::Result<TemporaryFile> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        match openat(&self.descriptor, ".", flags, access.mode()) {
            Ok(file) => {
                access.apply_mode(&file)?;
                Ok(TemporaryFile {
                    file: file.into(),
                    is_linkable: true,
                    access,
                })
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let (file, name) = self.create_random_named(access)?;
                self.remove(&name)?;
                Ok(TemporaryFile {
                    file,
                    is_linkable: false,
                    access,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a file with a name that nobody can foretell.
    fn create_random_named(&self, access: NewFileAccess) -> io::Result<(File, OsString)> {
        loop {
            let name = random_name();
            match self.create_new(&name, access) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|file| (file, name)),
            }
        }
    }

    /// Gives a nameless file a random name.
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

    /// Gives a nameless file its name (open(2), `O_TMPFILE`).
    fn link(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(CWD, link, &self.descriptor, name, AtFlags::SYMLINK_FOLLOW) {
            // Without /proc, and with the right to.
            Err(Errno::NOENT) => {
                linkat(file, "", &self.descriptor, name, AtFlags::EMPTY_PATH)?;
                Ok(())
            }
            done => Ok(done?),
        }
    }

    /// Writes a new file whole: the name stands for all of it, or for nothing.
    ///
    /// # Errors
    /// `AlreadyExists` where anything has that name; or when it cannot be written.
    pub(super) fn write_new_file(
        &self,
        name: &OsStr,
        bytes: &[u8],
        access: NewFileAccess,
    ) -> io::Result<File> {
        self.create_temporary(access)?
            .publish(self, name, bytes, ExistingFile::Keep, &|_| Ok(()))
    }
}

/// What happens to a file that has the name already.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExistingFile<'a> {
    /// It stays: an error.
    Keep,
    /// It is replaced where it is this one, which the caller has open; any other stays: the same
    /// error.
    Replace(&'a Stat),
}

/// Sets owner and mode of a file before it is written.
pub(super) type SetOwnership<'a> = &'a dyn Fn(&File) -> io::Result<()>;

/// A file that is not to be seen yet.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    pub(super) file: File,
    /// Whether it is one without a name, and not the proof that a file can be made.
    pub(super) is_linkable: bool,
    /// Who may read it before `settle` says otherwise.
    pub(super) access: NewFileAccess,
}

impl TemporaryFile {
    /// Writes it, waits until it is on the medium, and gives it its name. `settle` sets owner and
    /// mode of the file that is written.
    pub(super) fn publish(
        self,
        directory: &OpenDirectory,
        name: &OsStr,
        bytes: &[u8],
        existing: ExistingFile<'_>,
        settle: SetOwnership<'_>,
    ) -> io::Result<File> {
        use io::Write;
        if !self.is_linkable {
            return self.publish_named(directory, name, bytes, (existing, settle));
        }
        let mut file = self.file;
        settle(&file)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        let ExistingFile::Replace(replaced) = existing else {
            directory.link(&file, name)?;
            return Ok(file);
        };
        let random = directory.link_random(&file)?;
        directory.exchange(&file, (&random, name), replaced)?;
        Ok(file)
    }

    /// Where the file system knows no files without a name.
    fn publish_named(
        self,
        directory: &OpenDirectory,
        name: &OsStr,
        bytes: &[u8],
        (existing, settle): (ExistingFile<'_>, SetOwnership<'_>),
    ) -> io::Result<File> {
        use io::Write;
        let (mut file, random) = directory.create_random_named(self.access)?;
        let written = settle(&file)
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.sync_data());
        if let Err(error) = written {
            // The reason for the failure matters, not whether its remains could be removed.
            let _ = directory.remove(&random);
            return Err(error);
        }
        match existing {
            ExistingFile::Keep => directory.rename_new(&file, (&random, name))?,
            ExistingFile::Replace(replaced) => {
                directory.exchange(&file, (&random, name), replaced)?;
            }
        }
        Ok(file)
    }
}

impl OpenDirectory {
    /// Gives a file another name that nothing has.
    fn rename_new(&self, file: &File, (from, to): (&OsStr, &OsStr)) -> io::Result<()> {
        let here = &self.descriptor;
        let renamed = match renameat_with(here, from, here, to, RenameFlags::NOREPLACE) {
            // A file system that cannot promise it: a second name is as good.
            Err(Errno::INVAL | Errno::NOSYS) => linkat(here, from, here, to, AtFlags::empty())
                .and_then(|()| unlinkat(here, from, AtFlags::empty())),
            done => done,
        };
        renamed.map_err(|error| self.remove_own(file, from, error))
    }

    /// Gives a file the name of another, which is gone then. Both names are exchanged, so that what
    /// had the name can be looked at: in the moment before, somebody may have put something else
    /// there, which gets its name back.
    fn exchange(
        &self,
        file: &File,
        (from, to): (&OsStr, &OsStr),
        replaced: &Stat,
    ) -> io::Result<()> {
        let here = &self.descriptor;
        let swap = || renameat_with(here, from, here, to, RenameFlags::EXCHANGE);
        match swap() {
            Ok(()) => {}
            // A file system that cannot: it was looked at a moment ago.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return renameat(here, from, here, to)
                    .map_err(|error| self.remove_own(file, from, error));
            }
            Err(Errno::NOENT) => return Err(self.remove_own(file, from, Errno::EXIST)),
            Err(error) => return Err(self.remove_own(file, from, error)),
        }
        match self.stat_entry(from)? {
            Some(found) if is_same(&found, replaced) => return self.remove(from),
            // Somebody has removed it.
            None => return Ok(()),
            Some(_) => {}
        }
        if swap().is_err() {
            // Ours was taken away: the name is free for what had it.
            let _ = renameat_with(here, from, here, to, RenameFlags::NOREPLACE);
        }
        Err(self.remove_own(file, from, Errno::EXIST))
    }

    /// Removes the name of a file that could not be published, unless somebody has given the name
    /// to another. The error is the one that led here: it matters, not whether this succeeds.
    fn remove_own(&self, file: &File, name: &OsStr, error: Errno) -> io::Error {
        let own = fstat(file).ok();
        let found = self.stat_entry(name).ok().flatten();
        if own
            .zip(found)
            .is_some_and(|(own, found)| is_same(&own, &found))
        {
            let _ = self.remove(name);
        }
        error.into()
    }
}

/// Whether both are one file; at least one of them must be open, or its inode number may have gone
/// to the other.
fn is_same(left: &Stat, right: &Stat) -> bool {
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
    (left.st_dev, left.st_ino, kind(left)) == (right.st_dev, right.st_ino, kind(right))
}

fn random_name() -> OsString {
    format!(".diskscope-{:016x}", entropy::word()).into()
}
