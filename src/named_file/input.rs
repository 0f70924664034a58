//! Input files that the user names.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, fstatfs, openat};

use crate::named_file::error::InputError;
use crate::named_file::file_id::FileId;
use crate::named_file::file_type::file_type_name;
use crate::named_file::kernel_files;

/// `f_type` of unnamed pipes (statfs(2)).
const PIPEFS_MAGIC: rustix::fs::FsWord = 0x5049_5045;

/// Kinds of file that an input may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A regular file only, because it is read at any offset.
    RegularFile,
    /// Also an unnamed pipe, as created by `<(command)`.
    FileOrPipe,
}

/// Opens an input for reading. Checks it first through a descriptor that neither reads nor blocks.
/// Devices are not opened, and named pipes, which may never have a writer, are rejected.
///
/// # Errors
/// When the file does not exist, is not a readable kind of file, or cannot be opened.
pub fn open_input(path: &Path, input: InputKind) -> Result<(File, FileId), InputError> {
    let failed = |tried: &'static str| {
        move |error: rustix::io::Errno| InputError::Io {
            tried,
            path: path.to_owned(),
            source: error.into(),
        }
    };
    let looked_at =
        openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed("open"))?;
    let stat = fstat(&looked_at).map_err(failed("examine"))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_nameless_pipe = || {
        kind == FileType::Fifo
            && fstatfs(&looked_at).is_ok_and(|facts| facts.f_type == PIPEFS_MAGIC)
    };
    if kind != FileType::RegularFile && !(input == InputKind::FileOrPipe && is_nameless_pipe()) {
        return Err(InputError::UnsupportedFileType {
            path: path.to_owned(),
            what: file_type_name(kind),
        });
    }
    // Opening and reading these has side effects, as for trace_pipe, kmsg or device registers.
    if let Some(what) = kernel_files::look(&looked_at).map_err(failed("examine"))? {
        return Err(InputError::UnsupportedFileType {
            path: path.to_owned(),
            what,
        });
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    // The link leads to the file that was checked, even if the name has changed since.
    let again = format!("/proc/self/fd/{}", looked_at.as_raw_fd());
    let file = openat(CWD, again, flags, Mode::empty()).map_err(failed("open"))?;
    Ok((file.into(), FileId::of_stat(&stat)))
}
