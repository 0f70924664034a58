//! Where the result of a command goes: stdout, a file, a pipe or a terminal. It is checked before anything
//! is measured.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, major, minor, openat,
};
use rustix::io::Errno;

use crate::files::error::{FileError, kind_name};
use crate::files::file_id::FileId;
use crate::files::output::{NamedFile, NewFileAccess, append_whole, check_not_planted, has_room};
use crate::files::path::{self, Entry, own_path};
use crate::files::printable::printable_lines;
use crate::tui::terminal_kind::text_for;

/// Path that means stdout.
const STDOUT_NAME: &str = "-";
/// How long to wait for the reader of a named pipe to open it: it may have been started by the same
/// line of a script.
const READER_TIMEOUT: Duration = Duration::from_secs(5);
const READER_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Where the result of a command goes.
#[derive(Debug)]
pub struct Destination {
    /// As the user gave it.
    path: PathBuf,
    kind: Kind,
    /// Identity of what existed there.
    id: Option<FileId>,
    /// Attributes that an existing file will lose.
    lost_attributes: Vec<&'static str>,
}

#[derive(Debug)]
enum Kind {
    Stdout,
    /// A pipe or a character device.
    Straight(File),
    /// A file that is replaced by each result.
    Whole(NamedFile, NewFileAccess),
    /// A new file that gets one result after the other, with the bytes of whole results: `None` before
    /// the first one.
    Growing(NamedFile, File, Option<u64>),
}

impl Destination {
    /// Stdout.
    #[must_use]
    pub fn stdout() -> Self {
        Self::new(Path::new(STDOUT_NAME), Kind::Stdout, None)
    }

    fn new(path: &Path, kind: Kind, id: Option<FileId>) -> Self {
        Self {
            path: path.to_owned(),
            kind,
            id,
            lost_attributes: Vec::new(),
        }
    }

    /// For a result that is written as a whole, to a new file or in place of an existing one; without a
    /// path, and for `-`, to stdout. `inputs` are the files that the same command reads.
    ///
    /// # Errors
    /// When it must not or cannot be written there. Nothing was changed.
    pub fn whole(
        path: Option<&Path>,
        inputs: &[FileId],
        access: NewFileAccess,
    ) -> Result<Self, FileError> {
        let Some(path) = path else {
            return Ok(Self::stdout());
        };
        let mut destination = Self::find(path, access)?;
        if destination.id.is_some_and(|id| inputs.contains(&id)) {
            return Err(FileError::IsInput(path.to_owned()));
        }
        if let Kind::Whole(file, _) = &destination.kind {
            destination.lost_attributes = file.check_writable()?;
        }
        Ok(destination)
    }

    /// For results that are written one after the other, to a new file that only its owner may read:
    /// what an existing one contains would be lost with the first line.
    ///
    /// # Errors
    /// When the file exists, or must not or cannot be written.
    pub fn growing(path: Option<&Path>) -> Result<Self, FileError> {
        let mut destination = Self::whole(path, &[], NewFileAccess::Private)?;
        let kind = std::mem::replace(&mut destination.kind, Kind::Stdout);
        destination.kind = match kind {
            Kind::Whole(name, _) => {
                let file = name.create()?;
                Kind::Growing(name, file, None)
            }
            kind => kind,
        };
        Ok(destination)
    }

    fn find(path: &Path, access: NewFileAccess) -> Result<Self, FileError> {
        let stdout_id = fstat(io::stdout()).ok().map(|stat| FileId::of_stat(&stat));
        if path == Path::new(STDOUT_NAME) {
            return Ok(Self::new(path, Kind::Stdout, stdout_id));
        }
        let found = path::find(path)?;
        let Some(entry) = &found.entry else {
            return Ok(Self::new(
                path,
                Kind::Whole(NamedFile::new(path, found), access),
                None,
            ));
        };
        let id = Some(entry.id());
        if found.is_open_file && id == stdout_id {
            return Ok(Self::new(path, Kind::Stdout, id));
        }
        let refused = |what| Err(FileError::WrongKind(path.to_owned(), what));
        let file_type = entry.file_type();
        if matches!(file_type, FileType::RegularFile | FileType::Fifo) && !found.is_open_file {
            check_not_planted(path, &found, entry)?;
        }
        let kind = match file_type {
            FileType::RegularFile if found.is_open_file => {
                return refused(
                    "a file that a process has open: name it by its path, or write to -",
                );
            }
            FileType::CharacterDevice if !is_text_device(entry.stat.st_rdev) => {
                return refused("a character device other than a terminal, null, zero and full");
            }
            FileType::RegularFile => Kind::Whole(NamedFile::new(path, found), access),
            FileType::Fifo | FileType::CharacterDevice => {
                Kind::Straight(open_straight(path, entry)?)
            }
            other => return refused(kind_name(other)),
        };
        Ok(Self::new(path, kind, id))
    }

    /// Whether it is stdout.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        matches!(self.kind, Kind::Stdout)
    }

    /// Identity of what existed there.
    #[must_use]
    pub fn id(&self) -> Option<FileId> {
        self.id
    }

    /// Whether both are one file, of which the second result would replace the first.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Whole(own, _), Kind::Whole(others, _)) => {
                own.is_same_name(others) || self.id.is_some() && self.id == other.id
            }
            _ => false,
        }
    }

    /// What an existing file will lose, as a sentence.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let (path, lost) = (self.path.display(), self.lost_attributes.join(", "));
        (!lost.is_empty()).then(|| format!("{path} is replaced without its {lost}"))
    }

    /// Writes a result as text: nothing but text and line ends. JSON is escaped already and is not
    /// changed. False if the reader of stdout has closed it (`| head`), which is no error.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, text: &str) -> Result<bool, FileError> {
        let text = printable_lines(text);
        if !self.is_stdout() {
            return self.write_bytes(text.as_bytes()).map(|()| true);
        }
        match self.write_bytes(text_for(&io::stdout(), &text).as_bytes()) {
            Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => {
                Ok(false)
            }
            written => written.map(|()| true),
        }
    }

    /// Writes a result as it is.
    ///
    /// # Errors
    /// When it cannot be written; a file that is replaced keeps its content, and one that grows its whole
    /// results.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let failed = |error| FileError::io("write", &self.path, error);
        match &mut self.kind {
            Kind::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
                written.map_err(|error| FileError::io("write to", "stdout".as_ref(), error))
            }
            Kind::Straight(file) => file.write_all(bytes).map_err(failed),
            Kind::Whole(file, access) => file.replace(bytes, *access),
            Kind::Growing(_, file, whole_bytes) => {
                let (whole, next) = (whole_bytes.unwrap_or(0), bytes.len() as u64);
                if next > 0 && !has_room(file, next) {
                    return Err(FileError::AlmostFull(self.path.clone()));
                }
                append_whole(file, bytes, whole).map_err(failed)?;
                *whole_bytes = Some(whole + next);
                Ok(())
            }
        }
    }
}

/// A command that fails before its first result leaves no file: the next one would be refused because of
/// it.
impl Drop for Destination {
    fn drop(&mut self) {
        if let Kind::Growing(name, file, None) = &self.kind {
            name.remove(file);
        }
    }
}

/// Whether text may be written to a character device: not to memory, flash, a watchdog, or the commands
/// of a drive (kernel Documentation/admin-guide/devices.txt).
fn is_text_device(device: u64) -> bool {
    match major(device) {
        // null, zero, full
        1 => matches!(minor(device), 3 | 5 | 7),
        // Terminals: consoles, serial lines, pseudo-terminals, USB, hypervisors.
        4 | 5 | 136..=143 | 166 | 188 | 204 | 229 => true,
        _ => false,
    }
}

/// Opens a pipe or a character device that was examined.
fn open_straight(path: &Path, entry: &Entry) -> Result<File, FileError> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let deadline = Instant::now() + READER_TIMEOUT;
    let file = loop {
        match openat(CWD, own_path(&entry.descriptor), flags, Mode::empty()) {
            Err(Errno::NXIO) if Instant::now() < deadline => {
                std::thread::sleep(READER_POLL_INTERVAL);
            }
            opened => break opened,
        }
    };
    // `O_NONBLOCK` is for the open only; writes wait.
    let opened = file.and_then(|file| {
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(file)
    });
    opened
        .map(File::from)
        .map_err(|error| FileError::io("open", path, error))
}

#[cfg(test)]
#[path = "destination_tests.rs"]
mod tests;
