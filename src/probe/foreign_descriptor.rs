//! Opening what another process has open, by its entry in `/proc/PID/fd`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, Result};

use super::text::nonempty_lines;

/// Opens for reading what a process has open: neither a lease nor a FIFO delays the caller (open(2),
/// `O_NONBLOCK`), and a write lease of the process is not broken. Only the process itself can have one, because a
/// file with a write lease is open nowhere else.
///
/// # Errors
/// The kernel's error; `EAGAIN` where the process, or somebody else, has a write lease.
pub fn open_foreign_descriptor(descriptor: &Path, flags: OFlags) -> Result<File> {
    if has_write_lease(descriptor) {
        return Err(Errno::AGAIN);
    }
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    openat(CWD, descriptor, flags, Mode::empty()).map(File::from)
}

/// Whether a process has a lease (fcntl(2), `F_SETLEASE`) by this descriptor that another one breaks by opening the
/// file: its `/proc/PID/fdinfo` lists it (proc_pid_fdinfo(5), kernel 4.1).
pub fn has_write_lease(descriptor: &Path) -> bool {
    let information = || {
        let process = descriptor.parent()?.parent()?;
        let path = process.join("fdinfo").join(descriptor.file_name()?);
        fs::read(path).ok()
    };
    let is_write_lease = |line: &[u8]| {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|it| !it.is_empty());
        words.next() == Some(b"lock:")
            && words.any(|word| word == b"LEASE")
            && words.any(|word| word == b"WRITE")
    };
    descriptor.parent().and_then(Path::file_name) == Some(OsStr::new("fd"))
        && information().is_some_and(|text| nonempty_lines(&text).any(is_write_lease))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn opening_of_a_fifo_without_a_writer_does_not_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, &path, kind, Mode::RUSR, 0).unwrap();
        assert!(open_foreign_descriptor(&path, OFlags::empty()).is_ok());
    }

    #[test]
    fn file_with_a_write_lease_is_not_opened() {
        let process = tempfile::tempdir().unwrap();
        for directory in ["fd", "fdinfo"] {
            fs::create_dir(process.path().join(directory)).unwrap();
        }
        let file = process.path().join("file");
        fs::write(&file, "x").unwrap();
        let descriptor = process.path().join("fd/3");
        symlink(&file, &descriptor).unwrap();
        let error_with = |lock: &str| {
            let text = format!("pos:\t0\nflags:\t0100002\nmnt_id:\t29\nino:\t7\n{lock}");
            fs::write(process.path().join("fdinfo/3"), text).unwrap();
            open_foreign_descriptor(&descriptor, OFlags::empty()).err()
        };
        assert_eq!(error_with(""), None);
        for lock in [
            "lock:\t1: LEASE  ACTIVE    READ 709 fe:00:7 0 EOF\n",
            "lock:\t1: POSIX  ADVISORY  WRITE 709 fe:00:7 0 EOF\n",
        ] {
            assert_eq!(error_with(lock), None, "{lock}");
        }
        let lease = "lock:\t1: LEASE  ACTIVE    WRITE 709 fe:00:7 0 EOF\n";
        assert_eq!(error_with(lease), Some(Errno::AGAIN));
    }
}
