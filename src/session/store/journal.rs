//! The journal of a run in progress: a line for the session, then a line for every state of a run.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use serde::Serialize;

use super::directory::{
    DOCUMENT_EXTENSION, JOURNAL_EXTENSION, STALE_TEMPORARY_AGE, open_private_directory,
};
use super::edit::serialize_session;
use super::error::{StoreError, io_error};
use super::read::{RunLine, SessionLine};
use crate::files::output;
use crate::files::state::{self, PrivateDirectory};
use crate::session::document::{BenchmarkRun, Session};

/// A journal that would exceed this size is rewritten with the current state of the run: every line
/// holds the whole run, and a day has 100,000 seconds.
const MAX_BYTES: u64 = 32 << 20;

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    directory: PrivateDirectory,
    name: String,
    pub(super) file: File,
    /// The lines of the session and of all completed runs.
    kept_lines: Vec<u8>,
    complete_bytes: u64,
    is_locked: bool,
    max_bytes: u64,
}

impl Journal {
    /// Creates a journal in a directory of sessions, which is created if missing, and writes the
    /// session to it.
    ///
    /// # Errors
    /// If the directory or the file cannot be created or written.
    pub fn create(directory: &Path, name: &str, session: &Session) -> Result<Self, StoreError> {
        let directory = open_private_directory(directory)?;
        directory.remove_old_temporaries(STALE_TEMPORARY_AGE);
        let (name, file) = reserve(&directory, name)?;
        let mut journal = Self {
            directory,
            name,
            file,
            kept_lines: Vec::new(),
            complete_bytes: 0,
            is_locked: false,
            max_bytes: MAX_BYTES,
        };
        let head = journal.line(&SessionLine { session });
        match head.and_then(|head| journal.append_line(&head).map(|()| head)) {
            Ok(head) => {
                journal.kept_lines = head;
                Ok(journal)
            }
            Err(error) => {
                journal.discard();
                Err(error)
            }
        }
    }

    #[cfg(test)]
    pub(super) fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Path of the journal.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let name = file_name(&self.name, JOURNAL_EXTENSION);
        self.directory.path().join(name)
    }

    fn line(&self, content: &impl Serialize) -> Result<Vec<u8>, StoreError> {
        let text = serde_json::to_vec(content).map_err(io::Error::from);
        let mut text = text.map_err(io_error("write", &self.path()))?;
        text.push(b'\n');
        Ok(text)
    }

    fn append_line(&mut self, line: &[u8]) -> Result<(), StoreError> {
        // A reader that looks at the lock holds it for that moment: the next line tries again.
        self.is_locked = self.is_locked || state::lock(&self.file);
        // A partial line would hide complete lines that may follow once there is space again.
        output::append_whole(&self.file, line, self.complete_bytes)
            .map_err(io_error("append to", &self.path()))?;
        self.complete_bytes += line.len() as u64;
        Ok(())
    }

    /// Appends the current state of a run. Not synced: the kernel writes it within seconds, and a killed
    /// process loses nothing.
    ///
    /// # Errors
    /// If it cannot be written, or would take the last space of its file system.
    pub fn append_progress(&mut self, run: &BenchmarkRun) -> Result<(), StoreError> {
        let line = self.line(&RunLine { run })?;
        if !output::has_room(&self.file, line.len() as u64) {
            let error = io::Error::other("its file system is almost full");
            return Err(io_error("append to", &self.path())(error));
        }
        self.append_run(&line)
    }

    /// Appends a run that has ended.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append_completed(&mut self, run: &BenchmarkRun) -> Result<(), StoreError> {
        let line = self.line(&RunLine { run })?;
        self.append_run(&line)?;
        self.kept_lines.extend(line);
        Ok(())
    }

    fn append_run(&mut self, line: &[u8]) -> Result<(), StoreError> {
        // At least as many bytes are appended as a journal written anew has: one whose completed runs
        // exceed the limit would otherwise be written anew with every line.
        let anew = (self.kept_lines.len() + line.len()) as u64;
        if self.complete_bytes + line.len() as u64 <= self.max_bytes.max(2 * anew) {
            return self.append_line(line);
        }
        let text = [self.kept_lines.as_slice(), line].concat();
        let name = file_name(&self.name, JOURNAL_EXTENSION);
        // It is locked since before it has the name.
        self.file = self.directory.replace_file(&name, &text)?;
        self.is_locked = state::lock(&self.file);
        self.complete_bytes = text.len() as u64;
        Ok(())
    }

    /// Removes the journal of a session in which nothing was measured.
    pub fn discard(self) {
        let name = file_name(&self.name, JOURNAL_EXTENSION);
        // A journal that remains is harmless.
        let _ = self.directory.unlink(&name);
    }

    /// Writes the document, then removes the journal. Returns the path of the document.
    ///
    /// # Errors
    /// If the document cannot be written or the journal not be removed.
    pub fn finish(self, session: &Session) -> Result<PathBuf, StoreError> {
        let text = serialize_session(session).map_err(io_error("write", &self.path()))?;
        let mut names = numbered(&self.name).map(|name| file_name(&name, DOCUMENT_EXTENSION));
        let document = loop {
            let name = names.next().unwrap_or_default();
            // Only a user creates a document next to this journal.
            match self.directory.write_new(&name, &text) {
                Ok(()) => break name,
                Err(error) if error.is_already_exists() => {}
                Err(error) => return Err(error.into()),
            }
        };
        let journal = file_name(&self.name, JOURNAL_EXTENSION);
        match self.directory.unlink(&journal) {
            // A user may have removed it already.
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(self.directory.path().join(document)),
        }
    }
}

/// The name, and the name with every number.
fn numbered(name: &str) -> impl Iterator<Item = String> {
    let numbers = (1_u32..).map(move |number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbers)
}

fn file_name(name: &str, extension: &str) -> OsString {
    format!("{name}.{extension}").into()
}

/// Finds a name that neither a journal nor a document has, and creates an empty journal with it, which
/// is locked. Two runs that start within one second ask for the same name: neither may take the other's.
fn reserve(directory: &PrivateDirectory, name: &str) -> Result<(String, File), StoreError> {
    for name in numbered(name) {
        let journal = file_name(&name, JOURNAL_EXTENSION);
        let file = match directory.create_new(&journal) {
            Ok(file) => file,
            Err(error) if error.is_already_exists() => continue,
            Err(error) => return Err(error.into()),
        };
        // If a reader looks at the lock at this moment, the first line takes it.
        let _ = state::lock(&file);
        // Check in this order: a run that ends first creates its document and then removes its
        // journal.
        let document = file_name(&name, DOCUMENT_EXTENSION);
        match rustix::fs::statat(directory, &document, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok((name, file)),
            Err(error) => {
                let path = directory.path().join(document);
                return Err(io_error("examine", &path)(error.into()));
            }
            Ok(_) => directory.unlink(&journal)?,
        }
    }
    unreachable!("there is always another number")
}
