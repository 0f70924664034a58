//! Input files that the user names.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, FsWord, Mode, OFlags, fstat, fstatfs, openat};

use super::error::{FileError, kind_name};
use super::file_id::FileId;
use super::path::own_path;

/// `f_type` of unnamed pipes (statfs(2)).
const PIPEFS_MAGIC: FsWord = 0x5049_5045;

/// `f_type` of file systems whose files act on the kernel when they are read or written: reading takes
/// the events of a trace, or waits for the next (include/uapi/linux/magic.h).
const KERNEL_FILE_SYSTEMS: [FsWord; 10] = [
    // procfs, sysfs, debugfs, tracefs, cgroup, cgroup2
    0x0000_9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x0027_e0eb,
    0x6367_7270,
    // securityfs, configfs, efivarfs, bpf
    0x7363_6673,
    0x6265_6570,
    0xde5e_81e4,
    0xcafe_4a11,
];

/// Kinds of file that an input may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A regular file only, because it is read at any offset.
    RegularFile,
    /// Also an unnamed pipe, as created by `<(command)`.
    FileOrPipe,
}

/// Opens an input for reading. It is examined first without opening it: devices are not opened, and
/// named pipes, which may never have a writer, are refused.
///
/// # Errors
/// When the file does not exist, is of another kind, or cannot be opened.
pub fn open_input(path: &Path, input: InputKind) -> Result<(File, FileId), FileError> {
    let failed = |tried| move |error: rustix::io::Errno| FileError::io(tried, path, error);
    let examined =
        openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed("open"))?;
    let stat = fstat(&examined).map_err(failed("examine"))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_nameless_pipe = || fstatfs(&examined).is_ok_and(|facts| facts.f_type == PIPEFS_MAGIC);
    let is_pipe = input == InputKind::FileOrPipe && kind == FileType::Fifo && is_nameless_pipe();
    if kind != FileType::RegularFile && !is_pipe {
        return Err(FileError::WrongKind(path.to_owned(), kind_name(kind)));
    }
    if let Some(what) = acts_on_kernel(&examined).map_err(failed("examine"))? {
        return Err(FileError::WrongKind(path.to_owned(), what));
    }
    // The link leads to the file that was examined, even if the name has changed since.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = openat(CWD, own_path(&examined), flags, Mode::empty()).map_err(failed("open"))?;
    Ok((file.into(), FileId::of_stat(&stat)))
}

/// Kind of a file whose reading or writing acts on the kernel, by its descriptor; `None` for others.
///
/// # Errors
/// When the kernel does not report the type of its file system.
pub fn acts_on_kernel(file: impl AsFd) -> rustix::io::Result<Option<&'static str>> {
    let magic = fstatfs(file)?.f_type;
    let is_known = KERNEL_FILE_SYSTEMS.contains(&magic);
    Ok(is_known.then_some("in a file system whose files act on the kernel"))
}
