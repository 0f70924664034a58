//! The journal of a run that goes on.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;
use serde::Serialize;

use super::super::document::{Run, Session};
use super::{DOCUMENT, JOURNAL, StoreError, file_name, io_error, private, sweep, text};
use crate::private_directory::{Access, PrivateDirectory};

/// A journal that would become longer than this begins anew with the run as it stands: every line
/// holds the whole of it, and a day has 100,000 seconds.
const LONGEST: u64 = 32 << 20;

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    Session(&'a Session),
    Run(&'a Run),
}

impl Line<'_> {
    fn text(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        let mut text = serde_json::to_vec(self)
            .map_err(io::Error::from)
            .map_err(io_error("write", path))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// A journal. What it holds is in the kernel's hands after every line: only a power cut loses more
/// than a kill of the program, for waiting until it is on the medium would disturb the measurement.
#[derive(Debug)]
pub struct Journal {
    directory: PrivateDirectory,
    /// Without an ending.
    name: String,
    /// To show.
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// The line of the session.
    head: Vec<u8>,
    /// Bytes of whole lines.
    length: u64,
    longest: u64,
}

impl Journal {
    /// Begins a journal in a directory, which is made if it is missing. `session` has no runs yet.
    ///
    /// # Errors
    /// When the directory or the file cannot be made.
    pub fn create(directory: &Path, name: &str, session: &Session) -> Result<Self, StoreError> {
        let directory = private(directory)?;
        sweep(&directory, SystemTime::now());
        let name = reserve(&directory, name)?;
        Self::begin(directory, name, session)
    }

    fn begin(
        directory: PrivateDirectory,
        name: String,
        session: &Session,
    ) -> Result<Self, StoreError> {
        let path = directory.path().join(file_name(&name, JOURNAL));
        let head = Line::Session(session).text(&path)?;
        let mut journal = Self {
            file: directory.open_file(&file_name(&name, JOURNAL), Access::Append)?,
            directory,
            name,
            path,
            head: Vec::new(),
            length: 0,
            longest: LONGEST,
        };
        match journal.put(&head) {
            Ok(()) => Ok(Self { head, ..journal }),
            Err(error) => {
                journal.discard();
                Err(error)
            }
        }
    }

    #[cfg(test)]
    pub(super) fn no_longer_than(self, longest: u64) -> Self {
        Self { longest, ..self }
    }

    /// Appends a whole line, or nothing of it.
    fn put(&mut self, line: &[u8]) -> Result<(), StoreError> {
        match self.file.write_all(line) {
            Ok(()) => {
                self.length += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half a line would hide the whole ones that may follow once there is room again.
                let _ = self.file.set_len(self.length);
                Err(io_error("append to", &self.path)(error))
            }
        }
    }

    /// Appends the run as it stands.
    ///
    /// # Errors
    /// When the file cannot be written; what it held before still counts, and later attempts may
    /// succeed.
    pub fn append(&mut self, run: &Run) -> Result<(), StoreError> {
        let line = Line::Run(run).text(&self.path)?;
        // As much as the new beginning has is appended first: otherwise a session whose finished runs
        // are longer than the limit would be written whole, and waited for, at every line.
        let anew = (self.head.len() + line.len()) as u64;
        if self.length + line.len() as u64 <= self.longest.max(2 * anew) {
            return self.put(&line);
        }
        let text = [self.head.as_slice(), &line].concat();
        let name = file_name(&self.name, JOURNAL);
        self.directory.replace(&name, &text)?;
        self.file = self.directory.open_file(&name, Access::Append)?;
        self.length = text.len() as u64;
        Ok(())
    }

    /// Appends a run that is over, before another begins: it stays when the journal begins anew.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn keep(&mut self, run: &Run) -> Result<(), StoreError> {
        self.append(run)?;
        self.head.extend(Line::Run(run).text(&self.path)?);
        Ok(())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the journal away: there is nothing to keep.
    pub fn discard(self) {
        // An empty journal that stays is untidy, not wrong.
        let _ = self.directory.unlink(&file_name(&self.name, JOURNAL));
    }

    /// Puts the whole document in the journal's place and says where it is.
    ///
    /// # Errors
    /// When it cannot be written; the journal is kept then.
    pub fn finish(self, session: &Session) -> Result<PathBuf, StoreError> {
        let text = text(session).map_err(io_error("write", &self.path))?;
        let mut name = self.name.clone();
        // Only an earlier version, or somebody by hand, makes a document beside this journal.
        while !write_new(&self.directory, &file_name(&name, DOCUMENT), &text)? {
            if name != self.name {
                let _ = self.directory.unlink(&file_name(&name, JOURNAL));
            }
            name = reserve(&self.directory, &self.name)?;
        }
        if name != self.name {
            self.directory.unlink(&file_name(&name, JOURNAL))?;
        }
        self.directory.unlink(&file_name(&self.name, JOURNAL))?;
        Ok(self.directory.path().join(file_name(&name, DOCUMENT)))
    }
}

/// Finds a name of which there is neither a journal nor a document, and makes its journal, empty. Two
/// runs that begin within one second ask for the same name: neither may take the other's.
fn reserve(directory: &PrivateDirectory, name: &str) -> Result<String, StoreError> {
    for attempt in 0_u32.. {
        let name = match attempt {
            0 => name.to_owned(),
            attempt => format!("{name}-{attempt}"),
        };
        let journal = file_name(&name, JOURNAL);
        match directory.create_new(&journal) {
            Ok(_) => {}
            Err(error) if error.is_already_there() => continue,
            Err(error) => return Err(error.into()),
        }
        // In this order: a run that ends makes its document first and takes its journal away then.
        if !exists(directory, &file_name(&name, DOCUMENT))? {
            return Ok(name);
        }
        directory.unlink(&journal)?;
    }
    unreachable!("there is always another number")
}

/// Whether anything has that name, a symbolic link included.
fn exists(directory: &PrivateDirectory, name: &OsStr) -> Result<bool, StoreError> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(io_error("look at", &directory.path().join(name))(
            error.into(),
        )),
    }
}

/// Writes a file whole under a name that nothing has; false where something has it.
fn write_new(
    directory: &PrivateDirectory,
    name: &OsStr,
    content: &[u8],
) -> Result<bool, StoreError> {
    let temporary = PrivateDirectory::temporary_name();
    let path = directory.path().join(name);
    let mut file = directory.create_new(&temporary)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .map_err(io_error("write", &path))
        .and_then(|()| publish(directory, &temporary, name));
    if !matches!(written, Ok(true)) {
        // What matters is why the file is not there; one that stays is swept later.
        let _ = directory.unlink(&temporary);
    }
    written
}

/// Gives a file its name, unless something has it.
fn publish(directory: &PrivateDirectory, from: &OsStr, to: &OsStr) -> Result<bool, StoreError> {
    match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(true),
        Err(Errno::EXIST) => return Ok(false),
        // A file system that cannot promise it (NFS, FUSE): a second name is as good.
        Err(Errno::INVAL | Errno::NOSYS) => {}
        Err(error) => return Err(io_error("rename", &directory.path().join(to))(error.into())),
    }
    match rustix::fs::linkat(directory, from, directory, to, AtFlags::empty()) {
        Ok(()) => {
            directory.unlink(from)?;
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(false),
        // No links either (FAT): the name is free, or it was a moment ago.
        Err(Errno::PERM | Errno::OPNOTSUPP) if !exists(directory, to)? => {
            directory.rename(from, to)?;
            Ok(true)
        }
        Err(Errno::PERM | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(io_error("link", &directory.path().join(to))(error.into())),
    }
}
