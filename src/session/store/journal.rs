//! The journal of a run in progress.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use serde::Serialize;

use super::directory::{
    DOCUMENT_EXTENSION, JOURNAL_EXTENSION, STALE_TEMPORARY_AGE, name_with_extension,
    open_private_directory,
};
use super::error::{StoreError, io_error};
use super::serialize::serialize_session;
use crate::files::error::FileError;
use crate::files::output;
use crate::files::state::{self, PrivateDirectory};
use crate::session::document::{BenchmarkRun, Session};

/// A journal that would exceed this size is rewritten with the current state of the run: every line
/// holds the whole run, and a day has 100,000 seconds.
const MAX_JOURNAL_BYTES: u64 = 32 << 20;
/// A journal takes at most 1 in this many bytes of the free space: the document, and others, need some too.
const FREE_SPACE_SHARE: u64 = 16;

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum JournalLine<'a> {
    Session(&'a Session),
    Run(&'a BenchmarkRun),
}

impl JournalLine<'_> {
    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        let mut text = serde_json::to_vec(self)
            .map_err(io::Error::from)
            .map_err(io_error("write", path))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// A journal. Every line is passed to the kernel at once, so that killing the program loses
/// nothing. A power failure may: syncing to the medium would disturb the measurement.
#[derive(Debug)]
pub struct Journal {
    directory: PrivateDirectory,
    /// File name without extension.
    name: String,
    /// Path, for messages.
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// The first line, with the session.
    session_line: Vec<u8>,
    /// Size of the complete lines in bytes.
    complete_bytes: u64,
    /// Whether the lock that shows a run in progress is held.
    is_locked: bool,
    max_bytes: u64,
}

impl Journal {
    /// Creates a journal in a directory, which is created if missing. `session` has no runs yet.
    ///
    /// # Errors
    /// If the directory or the file cannot be created.
    pub fn create(directory: &Path, name: &str, session: &Session) -> Result<Self, StoreError> {
        let directory = open_private_directory(directory)?;
        directory.remove_old_temporaries(STALE_TEMPORARY_AGE);
        let (name, file) = reserve(&directory, name)?;
        Self::create_in(directory, name, file, session)
    }

    fn create_in(
        directory: PrivateDirectory,
        name: String,
        file: File,
        session: &Session,
    ) -> Result<Self, StoreError> {
        let path = directory
            .path()
            .join(name_with_extension(&name, JOURNAL_EXTENSION));
        let head = JournalLine::Session(session).to_bytes(&path)?;
        let mut journal = Self {
            file,
            directory,
            name,
            path,
            session_line: Vec::new(),
            complete_bytes: 0,
            is_locked: false,
            max_bytes: MAX_JOURNAL_BYTES,
        };
        match journal.append_line(&head) {
            Ok(()) => Ok(Self {
                session_line: head,
                ..journal
            }),
            Err(error) => {
                journal.discard();
                Err(error)
            }
        }
    }

    #[cfg(test)]
    pub(super) fn with_max_bytes(self, longest: u64) -> Self {
        Self {
            max_bytes: longest,
            ..self
        }
    }

    /// Appends a whole line, or nothing.
    fn append_line(&mut self, line: &[u8]) -> Result<(), StoreError> {
        // A reader that looks at the lock holds it for that moment: the next line tries again.
        self.is_locked = self.is_locked || state::lock(&self.file);
        // A partial line would hide complete lines that may follow once there is space again.
        output::append_whole(&self.file, line, self.complete_bytes)
            .map_err(io_error("append to", &self.path))?;
        self.complete_bytes += line.len() as u64;
        Ok(())
    }

    /// Appends the current state of the run.
    ///
    /// # Errors
    /// If the file cannot be written, or its file system is almost full; its earlier content stays
    /// valid, and later attempts may succeed.
    pub fn append_progress(&mut self, run: &BenchmarkRun) -> Result<(), StoreError> {
        let line = JournalLine::Run(run).to_bytes(&self.path)?;
        if !output::has_room(&self.file, line.len() as u64) {
            let error = io::Error::other("its file system is almost full");
            return Err(io_error("append to", &self.path)(error));
        }
        self.append_run(&line)
    }

    fn append_run(&mut self, line: &[u8]) -> Result<(), StoreError> {
        // Before a rewrite, append as many bytes as the rewritten journal has. Otherwise a session
        // whose finished runs exceed the limit would be rewritten and synced at every line.
        let anew = (self.session_line.len() + line.len()) as u64;
        let max_bytes = max_size(self.max_bytes, self.complete_bytes, free_bytes(&self.file));
        if self.complete_bytes + line.len() as u64 <= max_bytes.max(2 * anew) {
            return self.append_line(line);
        }
        let text = [self.session_line.as_slice(), line].concat();
        let name = name_with_extension(&self.name, JOURNAL_EXTENSION);
        self.file = self.directory.replace_file(&name, &text)?;
        append_only(&self.file, &self.path)?;
        // Held since before the file had the name.
        self.is_locked = state::lock(&self.file);
        self.complete_bytes = text.len() as u64;
        Ok(())
    }

    /// Appends a finished run before the next one starts: a rewrite keeps it. It takes its space of the
    /// reserve.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_completed(&mut self, run: &BenchmarkRun) -> Result<(), StoreError> {
        let line = JournalLine::Run(run).to_bytes(&self.path)?;
        self.append_run(&line)?;
        self.session_line.extend(line);
        Ok(())
    }

    /// The journal, open for writing.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Path of the journal.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal: there is nothing to keep.
    pub fn discard(self) {
        // A journal that remains is harmless.
        let _ = self
            .directory
            .unlink(&name_with_extension(&self.name, JOURNAL_EXTENSION));
    }

    /// Replaces the journal by the whole document and returns the document's path.
    ///
    /// # Errors
    /// If the document cannot be written; the journal is kept then.
    pub fn finish(self, session: &Session) -> Result<PathBuf, StoreError> {
        let text = serialize_session(session).map_err(io_error("write", &self.path))?;
        let mut name = self.name.clone();
        // Only an earlier version, or a user, creates a document next to this journal.
        while !write_new(
            &self.directory,
            &name_with_extension(&name, DOCUMENT_EXTENSION),
            &text,
        )? {
            if name != self.name {
                let _ = self
                    .directory
                    .unlink(&name_with_extension(&name, JOURNAL_EXTENSION));
            }
            (name, _) = reserve(&self.directory, &self.name)?;
        }
        let journal = |name: &str| name_with_extension(name, JOURNAL_EXTENSION);
        if name != self.name {
            unless_removed(self.directory.unlink(&journal(&name)))?;
        }
        let own = journal(&self.name);
        unless_removed(self.directory.unlink(&own))?;
        Ok(self
            .directory
            .path()
            .join(name_with_extension(&name, DOCUMENT_EXTENSION)))
    }
}

/// The result of removing a journal that the document has replaced. A user may have removed it already.
fn unless_removed(removed: Result<(), FileError>) -> Result<(), StoreError> {
    match removed {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Finds a name that neither a journal nor a document has, and creates an empty journal with it, which
/// is locked. Two runs that start within one second ask for the same name: neither may take the other's.
fn reserve(directory: &PrivateDirectory, name: &str) -> Result<(String, File), StoreError> {
    for attempt in 0_u32.. {
        let name = match attempt {
            0 => name.to_owned(),
            attempt => format!("{name}-{attempt}"),
        };
        let journal = name_with_extension(&name, JOURNAL_EXTENSION);
        let file = match directory.create_new(&journal) {
            Ok(file) => file,
            Err(error) if error.is_already_exists() => continue,
            Err(error) => return Err(error.into()),
        };
        // If a reader looks at the lock at this moment, the first line takes it.
        let _ = state::lock(&file);
        // Check in this order: a run that ends first creates its document and then removes its
        // journal.
        if !exists(directory, &name_with_extension(&name, DOCUMENT_EXTENSION))? {
            append_only(&file, &directory.path().join(&journal))?;
            return Ok((name, file));
        }
        directory.unlink(&journal)?;
    }
    unreachable!("there is always another number")
}

/// Maximum size of a journal of `own` bytes on a file system with that much free space.
pub(super) fn max_size(max_bytes: u64, own: u64, free: Option<u64>) -> u64 {
    let share = free.map(|free| free.saturating_add(own) / FREE_SPACE_SHARE);
    max_bytes.min(share.unwrap_or(u64::MAX))
}

/// Free space of the file system of a file; `None` where it reports no sizes.
fn free_bytes(file: &File) -> Option<u64> {
    let facts = rustix::fs::fstatvfs(file).ok()?;
    (facts.f_blocks > 0).then(|| facts.f_bavail.saturating_mul(facts.f_frsize))
}

/// Makes every write append to the file.
fn append_only(file: &File, path: &Path) -> Result<(), StoreError> {
    rustix::fs::fcntl_setfl(file, OFlags::APPEND)
        .map_err(|error| io_error("open", path)(error.into()))
}

/// Whether a directory entry with that name exists, a symbolic link included.
fn exists(directory: &PrivateDirectory, name: &OsStr) -> Result<bool, StoreError> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(io_error("examine", &directory.path().join(name))(
            error.into(),
        )),
    }
}

/// Writes a complete file under an unused name; false if the name is in use.
fn write_new(
    directory: &PrivateDirectory,
    name: &OsStr,
    content: &[u8],
) -> Result<bool, StoreError> {
    match directory.write_new(name, content) {
        Ok(()) => Ok(true),
        Err(error) if error.is_already_exists() => Ok(false),
        Err(error) => Err(error.into()),
    }
}
