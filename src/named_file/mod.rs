//! Files that the user names: outputs and inputs of a command, and the program's own files.
//!
//! An output is created in two steps. [`OutputFile::prepare`] checks the file behind the name and
//! rejects what must not be written, before the measurement starts. [`OutputFile::write`] writes
//! the complete output. A new file is created unnamed (`O_TMPFILE`) and gets its name when it is
//! complete. An existing file is replaced by rename, or written in place if a replacement would
//! lose attributes. Pipes and terminals are written directly. Devices, directories and inputs are
//! rejected. `docs/safety.md` has the table.

mod directory;
mod error;
mod file_id;
mod file_type;
mod found_file;
mod held_signals;
mod in_place;
pub mod input;
mod kernel_files;
mod owner;
mod redirect;
mod replacement;
mod resolve;
mod stream;
#[cfg(test)]
mod tests;
mod trusted_path;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, OFlags, fstat};

use crate::named_file::directory::{ExistingFile, NewFileAccess, OpenDirectory, TemporaryFile};
use crate::named_file::found_file::FoundFile;
use crate::named_file::in_place::OverwriteError;
use crate::named_file::owner::FileOwner;
use crate::named_file::resolve::ResolvedPath;
use crate::shared_directory::is_shared;

pub use self::error::{InputError, OutputError};
pub use self::file_id::FileId;
pub use self::held_signals::{HeldSignals, OTHER_END_SIGNALS, finish_writes};
pub use self::kernel_files::acts_on_kernel;
pub use self::trusted_path::{TrustError, resolve_trusted};

/// How long the holder of a lease may take to release it. The kernel takes it away after
/// `/proc/sys/fs/lease-break-time` seconds, 45 by default.
const LEASE_RELEASE_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two attempts to open a file with a lease.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Path that means stdout.
const STDOUT_NAME: &str = "-";

/// An output that passed the checks.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    /// Identity of an existing file.
    existing_id: Option<FileId>,
    destination: OutputDestination,
}

/// How the output is written.
#[derive(Debug)]
enum OutputDestination {
    Stdout,
    /// A pipe, a character device, or an inherited descriptor.
    Stream(File),
    NewFile(DirectoryEntry, TemporaryFile),
    /// The file to be replaced is held, which keeps its inode number from being reused.
    ReplaceFile(DirectoryEntry, TemporaryFile, FoundFile),
    /// There is no name if the file was opened through procfs.
    InPlace(File, Option<DirectoryEntry>),
}

/// A name in a directory.
#[derive(Debug)]
struct DirectoryEntry {
    directory: OpenDirectory,
    name: OsString,
}

impl DirectoryEntry {
    /// Fails if the name leads to another file than the one with this identity, or, without one, to any.
    fn check_same(&self, path: &Path, id: Option<FileId>) -> Result<(), OutputError> {
        match self.directory.stat_entry(&self.name) {
            Ok(found) if found.as_ref().map(FileId::of_stat) == id => Ok(()),
            Ok(_) => Err(OutputError::changed(path)),
            Err(error) => Err(OutputError::io("examine", path, error)),
        }
    }

    /// Opens the regular file with this identity for writing.
    fn open_existing(&self, path: &Path, id: FileId) -> Result<File, OutputError> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self
            .open_when_released(flags)
            .map_err(|error| OutputError::io("write", path, error))?;
        match fstat(&file) {
            Ok(stat) if FileId::of_stat(&stat) == id => Ok(file.into()),
            _ => Err(OutputError::changed(path)),
        }
    }

    /// Opens the file. Where another process has a lease on it (an NFS or SMB server for a client that
    /// caches it), this call asks for the lease, and the holder gets time to release it (fcntl(2),
    /// "Leases").
    fn open_when_released(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let deadline = Instant::now() + LEASE_RELEASE_TIMEOUT;
        loop {
            match self.directory.open(&self.name, flags) {
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline =>
                {
                    std::thread::sleep(LEASE_POLL_INTERVAL);
                }
                opened => return opened,
            }
        }
    }

    fn is_same_name(&self, other: &Self) -> bool {
        let directory = |entry: &Self| entry.directory.stat().ok().map(|it| FileId::of_stat(&it));
        self.name == other.name && directory(self).is_some() && directory(self) == directory(other)
    }
}

impl OutputFile {
    /// Checks the destination of an output, and opens it or verifies that it can be created. Does
    /// not change existing files. `inputs` are the files that the same command reads. A new file
    /// follows the umask.
    ///
    /// # Errors
    /// When the output must not or cannot be written there.
    pub fn prepare(path: &Path, inputs: &[FileId]) -> Result<Self, OutputError> {
        let (destination, id) = if path == Path::new(STDOUT_NAME) {
            let stat =
                fstat(io::stdout()).map_err(|error| OutputError::io("write", path, error))?;
            kernel_files::refuse_kernel_file_system(path, io::stdout())?;
            replacement::refuse_file_capabilities(path, io::stdout())?;
            (OutputDestination::Stdout, Some(FileId::of_stat(&stat)))
        } else {
            resolve_destination(path)?
        };
        let output = Self {
            path: path.to_owned(),
            existing_id: id,
            destination,
        };
        match inputs.iter().any(|input| output.refers_to(*input)) {
            true => Err(OutputError::IsInput {
                path: path.to_owned(),
            }),
            false => Ok(output),
        }
    }

    /// Whether it becomes a file with content, and not text that a reader takes.
    #[must_use]
    pub fn is_file(&self) -> bool {
        !matches!(
            self.destination,
            OutputDestination::Stdout | OutputDestination::Stream(_)
        )
    }

    /// Whether the output is stdout.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        matches!(self.destination, OutputDestination::Stdout)
    }

    /// Identity of the existing file, if any.
    #[must_use]
    pub fn id(&self) -> Option<FileId> {
        self.existing_id
    }

    /// Path as the user gave it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The existing regular file, if any.
    #[must_use]
    pub fn existing_file(&self) -> Option<FileId> {
        let stat = match &self.destination {
            OutputDestination::NewFile(..) => return None,
            OutputDestination::ReplaceFile(..) | OutputDestination::InPlace(..) => {
                return self.existing_id;
            }
            OutputDestination::Stdout => fstat(io::stdout()),
            OutputDestination::Stream(file) => fstat(file),
        };
        let is_regular =
            stat.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile);
        self.existing_id.filter(|_| is_regular)
    }

    /// The regular file that will be overwritten in place, open for writing. `None` for stdout,
    /// which the parent process opened.
    #[must_use]
    pub fn in_place_file(&self) -> Option<&File> {
        let is_regular = |file: &&File| {
            fstat(file).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile)
        };
        match &self.destination {
            OutputDestination::InPlace(file, _) => Some(file),
            OutputDestination::Stream(file) => Some(file).filter(is_regular),
            OutputDestination::Stdout
            | OutputDestination::NewFile(..)
            | OutputDestination::ReplaceFile(..) => None,
        }
    }

    /// Whether both would be one regular file, existing or new.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        match (&self.destination, &other.destination) {
            (OutputDestination::NewFile(own, _), OutputDestination::NewFile(others, _)) => {
                own.is_same_name(others)
            }
            _ => self.existing_file().is_some() && self.existing_file() == other.existing_file(),
        }
    }

    fn refers_to(&self, other: FileId) -> bool {
        self.existing_id == Some(other)
    }

    /// Examines an existing file once more that was to be replaced: its attributes and links may have
    /// changed since it was prepared, so that it has to be written in place now.
    ///
    /// # Errors
    /// When the name now leads to another file, or when the file must not or cannot be written any more.
    pub fn examine_again(self) -> Result<Self, OutputError> {
        let Self {
            path,
            existing_id,
            destination,
        } = self;
        let destination = match destination {
            OutputDestination::ReplaceFile(entry, _, held) => {
                entry.check_same(&path, existing_id)?;
                let stat = fstat(&held.descriptor)
                    .map_err(|error| OutputError::io("examine", &path, error))?;
                existing_destination(&path, entry, FoundFile { stat, ..held })?.0
            }
            OutputDestination::InPlace(file, entry) => {
                replacement::refuse_file_capabilities(&path, &file)?;
                OutputDestination::InPlace(file, entry)
            }
            other => other,
        };
        Ok(Self {
            path,
            existing_id,
            destination,
        })
    }

    /// Writes the complete output.
    ///
    /// # Errors
    /// When it cannot be written, or when the name now leads to another file, or to one whose
    /// attributes a replacement would lose since they were last examined. The previous content
    /// is then kept, unless it had to be written in place.
    pub fn write(self, bytes: &[u8]) -> Result<(), OutputError> {
        let path = self.path;
        let id = self.existing_id;
        let written = match self.destination {
            OutputDestination::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            OutputDestination::Stream(file) => stream::write_stream(&file, bytes),
            OutputDestination::NewFile(entry, temporary) => {
                entry.check_same(&path, id)?;
                temporary.publish(
                    &entry.directory,
                    &entry.name,
                    bytes,
                    ExistingFile::Keep,
                    &|_| Ok(()),
                )
            }
            OutputDestination::ReplaceFile(entry, temporary, held) => {
                entry.check_same(&path, id)?;
                let existing = entry.open_existing(&path, FileId::of_stat(&held.stat))?;
                let settle = |file: &File| match replacement::make_equal(&existing, file)? {
                    true => Ok(()),
                    false => Err(io::ErrorKind::AlreadyExists.into()),
                };
                temporary.publish(
                    &entry.directory,
                    &entry.name,
                    bytes,
                    ExistingFile::Replace(&held.stat),
                    &settle,
                )
            }
            OutputDestination::InPlace(file, entry) => {
                if let Some(entry) = &entry {
                    entry.check_same(&path, id)?;
                }
                return in_place::overwrite_in_place(&file, bytes).map_err(|error| match error {
                    OverwriteError::Whole(error) => OutputError::io("write", &path, error),
                    OverwriteError::Mixed(source) => OutputError::Mixed { path, source },
                });
            }
        };
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OutputError::changed(&path),
            _ => OutputError::io("write", &path, error),
        })
    }
}

/// Creates a new file, opened for appending. Only its owner may read it.
///
/// # Errors
/// When the name exists, or when it cannot be created.
pub fn create_private(path: &Path) -> Result<File, OutputError> {
    let entry = new_entry(path)?;
    entry
        .directory
        .create_new(&entry.name, NewFileAccess::Private)
        .map_err(|error| creation_error(path, error))
}

/// Creates a new file, opened for reading and writing at any offset. Only its owner may read it.
///
/// # Errors
/// As [`create_private`]; also when another file has taken its place meanwhile.
pub fn create_for_update(path: &Path) -> Result<File, OutputError> {
    let created = create_private(path)?;
    let reopened = reopen_for_update(path, &created);
    if reopened.is_err() {
        remove_created(path, &created);
    }
    reopened
}

/// Opens a file for update that was created under this name.
fn reopen_for_update(path: &Path, created: &File) -> Result<File, OutputError> {
    let file_id = |file: &File| {
        let stat = fstat(file)
            .map_err(|error| OutputError::io("examine", path, std::io::Error::from(error)));
        stat.map(|stat| FileId::of_stat(&stat))
    };
    let file = open_for_update(path)?;
    if file_id(created)? != file_id(&file)? {
        return Err(OutputError::changed(path));
    }
    Ok(file)
}

/// Opens an existing regular file for reading and writing at any offset. It is not changed.
///
/// # Errors
/// When it does not exist, is no regular file, may have been planted by another user, or cannot be
/// opened.
pub fn open_for_update(path: &Path) -> Result<File, OutputError> {
    let failed = |error: io::Error| OutputError::io("open", path, error);
    let ResolvedPath::DirectoryEntry {
        directory,
        name,
        found: Some(found),
    } = resolve::resolve_path(path)?
    else {
        return Err(failed(io::ErrorKind::NotFound.into()));
    };
    kernel_files::refuse_kernel_file_system(path, &found.descriptor)?;
    if found.file_type() != FileType::RegularFile {
        return Err(OutputError::unsuitable(
            path,
            file_type::file_type_name(found.file_type()),
        ));
    }
    let entry = DirectoryEntry { directory, name };
    check_not_planted(path, &entry, &found)?;
    let file = entry
        .directory
        .open(
            &entry.name,
            OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY,
        )
        .map_err(failed)?;
    match fstat(&file) {
        Ok(stat) if FileId::of_stat(&stat) == FileId::of_stat(&found.stat) => Ok(file.into()),
        _ => Err(OutputError::changed(path)),
    }
}

/// Whether a file belongs to the user to whom new files of this process in its directory belong: its own
/// user, unless the file system gives them another owner (FAT, SMB, NFS with `root_squash`).
///
/// # Errors
/// When that cannot be determined.
pub fn has_owner_of_new_files(path: &Path, file: &File) -> Result<bool, OutputError> {
    let failed = |error: io::Error| OutputError::io("examine", path, error);
    let found = fstat(file).map_err(|error| failed(error.into()))?.st_uid;
    if found == rustix::process::geteuid().as_raw() {
        return Ok(true);
    }
    let ResolvedPath::DirectoryEntry { directory, .. } = resolve::resolve_path(path)? else {
        return Ok(false);
    };
    let new = directory
        .create_temporary(NewFileAccess::Private)
        .map_err(failed)?;
    Ok(new.owner == found)
}

/// Appends all of the bytes to a file of `complete_bytes`, or none of them: what was written before an error is cut off
/// again.
///
/// # Errors
/// That of the write.
pub fn append_whole(mut file: &File, bytes: &[u8], complete_bytes: u64) -> io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        let _ = file.set_len(complete_bytes);
    })
}

/// Removes a file that was created under this name, unless the name belongs to another file by now.
pub fn remove_created(path: &Path, file: &File) {
    if let Ok(ResolvedPath::DirectoryEntry {
        directory, name, ..
    }) = resolve::resolve_path(path)
    {
        directory.remove_if_same(file, &name);
    }
}

/// Writes a complete new file with a generated name to a directory and returns its path. Only its
/// owner may read it. The name must be a single component; a symbolic link of that name is not
/// followed.
///
/// # Errors
/// When the name exists, is not a single component, or when the file cannot be written.
pub fn write_private(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, OutputError> {
    let path = directory.join(name);
    if name.is_empty() || [".", ".."].contains(&name) || name.contains(['/', '\0']) {
        return Err(OutputError::Name {
            directory: directory.to_owned(),
            name: name.to_owned(),
        });
    }
    // The parent of a bare file name is the empty path, which means the current directory.
    let directory = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    let opened = resolve::resolve_directory(directory)?;
    kernel_files::refuse_kernel_file_system(&path, opened.descriptor())?;
    opened
        .write_new_file(name.as_ref(), bytes, NewFileAccess::Private)
        .map_err(|error| creation_error(&path, error))?;
    Ok(path)
}

fn new_entry(path: &Path) -> Result<DirectoryEntry, OutputError> {
    match resolve::resolve_path(path)? {
        ResolvedPath::DirectoryEntry {
            directory,
            name,
            found: None,
        } => {
            kernel_files::refuse_kernel_file_system(path, directory.descriptor())?;
            Ok(DirectoryEntry { directory, name })
        }
        _ => Err(OutputError::AlreadyExists {
            path: path.to_owned(),
        }),
    }
}

fn creation_error(path: &Path, error: io::Error) -> OutputError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => OutputError::AlreadyExists {
            path: path.to_owned(),
        },
        _ => OutputError::io("make", path, error),
    }
}

/// Determines how to write a path, and the identity of an existing file.
fn resolve_destination(path: &Path) -> Result<(OutputDestination, Option<FileId>), OutputError> {
    match resolve::resolve_path(path)? {
        ResolvedPath::Descriptor(1) => {
            let (_, stat) = stream::duplicate_inherited(path, 1)?;
            Ok((OutputDestination::Stdout, Some(FileId::of_stat(&stat))))
        }
        ResolvedPath::Descriptor(number) => {
            let (file, stat) = stream::duplicate_inherited(path, number)?;
            Ok((
                OutputDestination::Stream(file),
                Some(FileId::of_stat(&stat)),
            ))
        }
        ResolvedPath::OpenedFile(looked_at) => opened_destination(path, &looked_at),
        ResolvedPath::DirectoryEntry {
            directory,
            name,
            found: None,
        } => {
            kernel_files::refuse_kernel_file_system(path, directory.descriptor())?;
            let temporary = directory
                .create_temporary(NewFileAccess::Umask)
                .map_err(|error| OutputError::io("make", path, error))?;
            Ok((
                OutputDestination::NewFile(DirectoryEntry { directory, name }, temporary),
                None,
            ))
        }
        ResolvedPath::DirectoryEntry {
            directory,
            name,
            found: Some(found),
        } => existing_destination(path, DirectoryEntry { directory, name }, found),
    }
}

/// A file that another process has open: its name is unknown.
fn opened_destination(
    path: &Path,
    found: &FoundFile,
) -> Result<(OutputDestination, Option<FileId>), OutputError> {
    let (looked_at, stat) = (&found.descriptor, &found.stat);
    let id = Some(FileId::of_stat(stat));
    kernel_files::refuse_kernel_file_system(path, looked_at)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        stream::check_stream_type(path, stat)?;
        return Ok((
            OutputDestination::Stream(stream::open_stream(path, looked_at)?),
            id,
        ));
    }
    let file = rustix::fs::open(
        format!("/proc/self/fd/{}", looked_at.as_raw_fd()),
        OFlags::WRONLY | OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )
    .map_err(|error| OutputError::io("open", path, error))?;
    replacement::refuse_file_capabilities(path, &file)?;
    Ok((OutputDestination::InPlace(file.into(), None), id))
}

fn existing_destination(
    path: &Path,
    entry: DirectoryEntry,
    found: FoundFile,
) -> Result<(OutputDestination, Option<FileId>), OutputError> {
    let id = FileId::of_stat(&found.stat);
    kernel_files::refuse_kernel_file_system(path, &found.descriptor)?;
    let is_regular = FileType::from_raw_mode(found.stat.st_mode) == FileType::RegularFile;
    if !is_regular {
        stream::check_stream_type(path, &found.stat)?;
    }
    check_not_planted(path, &entry, &found)?;
    if !is_regular {
        let file = stream::open_stream(path, &found.descriptor)?;
        return Ok((OutputDestination::Stream(file), Some(id)));
    }
    let file = entry.open_existing(path, id)?;
    replacement::refuse_file_capabilities(path, &file)?;
    // A directory that accepts no new files, or keeps every name, does not prevent writing an existing
    // file in place.
    let new_file = || {
        entry
            .directory
            .create_temporary(NewFileAccess::Private)
            .ok()
    };
    let temporary = (!replacement::is_append_only(entry.directory.descriptor()))
        .then(new_file)
        .flatten()
        .filter(|new| {
            let equal = |new| replacement::make_equal(&file, new).is_ok_and(|equal| equal);
            new.file.as_ref().is_some_and(equal)
        });
    let destination = match temporary {
        Some(temporary) => OutputDestination::ReplaceFile(entry, temporary, found),
        None => OutputDestination::InPlace(file, Some(entry)),
    };
    Ok((destination, Some(id)))
}

/// In a directory that others can write to, an existing file may have been planted (compare
/// `fs.protected_regular` and `fs.protected_fifos`), or it may be a hard link to a file elsewhere.
fn check_not_planted(
    path: &Path,
    entry: &DirectoryEntry,
    found: &FoundFile,
) -> Result<(), OutputError> {
    let around = entry
        .directory
        .stat()
        .map_err(|error| OutputError::io("examine the directory of", path, error))?;
    let owner_around = FileOwner::of_file(entry.directory.descriptor(), &around);
    let owner = found.owner();
    let untrusted = |reason: String| {
        Err(OutputError::UntrustedPath {
            path: path.to_owned(),
            reason,
        })
    };
    let is_device = FileType::from_raw_mode(found.stat.st_mode) == FileType::CharacterDevice;
    let is_shared = is_shared(&around);
    if is_shared && !is_device && !owner.is_effective_user() && owner != owner_around {
        return untrusted(format!(
            "it belongs to {owner} and is in a directory that others can write"
        ));
    }
    let is_foreign = !owner_around.is_trusted() && owner != owner_around;
    if (is_shared || is_foreign) && !is_device && found.stat.st_nlink > 1 {
        return untrusted(format!(
            "it is another name of a file of {owner}, in a directory that others can write"
        ));
    }
    Ok(())
}
