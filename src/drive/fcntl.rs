//! Other users of a file, from `fcntl` and `kcmp`: leases (fcntl(2), "Leases"), open file
//! description locks (fcntl(2), "Open file description locks"), and whether two threads share a
//! descriptor table.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::foreign_tree::ForeignTree;

/// The signal sent when a lease is broken. Its default action is to be ignored. The kernel would
/// otherwise send SIGIO, which terminates the process.
const LEASE_SIGNAL: libc::c_int = libc::SIGURG;
/// `F_SETSIG`.
const F_SETSIG: libc::c_int = 10;
/// `F_SETLEASE`.
const F_SETLEASE: libc::c_int = 1024;
/// `F_OFD_GETLK`.
const F_OFD_GETLK: libc::c_int = 36;
/// `F_OFD_SETLK`.
const F_OFD_SETLK: libc::c_int = 37;

/// `KCMP_FILES` (include/uapi/linux/kcmp.h).
const KCMP_FILES: libc::c_int = 2;
/// Types of in-memory file systems (statfs(2)): tmpfs, ramfs, hugetlbfs, secretmem.
const IN_MEMORY: [u32; 4] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6, 0x5345_434d];

/// Other openers of a regular file, as the kernel counts them: across users and namespaces,
/// including those inside the kernel (loop devices, swap files, file systems in a file).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherOpeners {
    /// No other opener.
    None,
    /// At least one reader, no writer.
    Readers,
    /// At least one writer.
    Writers,
}

/// Determines who else has a regular file open by taking a lease briefly. `file` must be open for
/// reading only; other descriptors of this process count as other openers.
///
/// # Errors
/// `EACCES` when the file belongs to another user and CAP_LEASE is missing, `EINVAL` when the file
/// system does not support leases.
pub fn other_openers(file: &File) -> io::Result<OtherOpeners> {
    if can_take_lease(file, libc::F_WRLCK)? {
        return Ok(OtherOpeners::None);
    }
    if can_take_lease(file, libc::F_RDLCK)? {
        return Ok(OtherOpeners::Readers);
    }
    Ok(OtherOpeners::Writers)
}

/// Whether no one else has a regular file open, for a file that is open for writing here. A file
/// open for writing has no lease that distinguishes readers from writers.
///
/// # Errors
/// As for [`other_openers`].
pub fn is_sole_opener(file: &File) -> io::Result<bool> {
    can_take_lease(file, libc::F_WRLCK)
}

/// Whether the kernel grants a lease of that kind. The lease is released at once.
fn can_take_lease(file: &File, kind: libc::c_int) -> io::Result<bool> {
    if !counts_openers(file) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the kernel does not count the users of shared memory without a path",
        ));
    }
    let descriptor = file.as_raw_fd();
    // SAFETY: F_SETSIG and F_SETLEASE take a number and no pointer.
    let taken = unsafe {
        if libc::fcntl(descriptor, F_SETSIG, LEASE_SIGNAL) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::fcntl(descriptor, F_SETLEASE, kind)
    };
    if taken < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EBUSY) => Ok(false),
            _ => Err(error),
        };
    }
    // SAFETY: as above.
    unsafe { libc::fcntl(descriptor, F_SETLEASE, libc::F_UNLCK) };
    Ok(true)
}

/// Whether the file at an absolute path is on a file system in memory; `None` if that is not known.
#[must_use]
pub fn is_in_memory(path: &std::path::Path) -> Option<bool> {
    let file = ForeignTree::own().find(path).ok()?.into_handle();
    let found = rustix::fs::fstatfs(file).ok()?;
    Some(IN_MEMORY.contains(&(found.f_type as u32)))
}

/// Whether the kernel counts the openers of a file. It does not for shared memory, which it creates
/// without opening it (memfd_create(2), shmget(2), a shared mapping of /dev/zero).
fn counts_openers(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(facts) = file.metadata() else {
        return false;
    };
    let is_in_memory = || {
        rustix::fs::fstatfs(file).map_or(true, |found| IN_MEMORY.contains(&(found.f_type as u32)))
    };
    facts.nlink() > 0 || !is_in_memory()
}

/// A record lock that prevents others from writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordLock {
    /// The process that holds it; `None` for an open file description lock and for a process of
    /// another PID namespace.
    pub process: Option<u32>,
}

/// The first record lock, POSIX or open file description, that conflicts with a write lock on the
/// whole of `file`. `file` may be open for reading only.
///
/// # Errors
/// When the file system does not support such locks.
pub fn conflicting_lock(file: &File) -> io::Result<Option<RecordLock>> {
    let mut request = whole_file_lock(libc::F_WRLCK);
    // SAFETY: F_OFD_GETLK reads and writes the struct flock whose address is given.
    if unsafe { libc::fcntl(file.as_raw_fd(), F_OFD_GETLK, &raw mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if i32::from(request.l_type) == libc::F_UNLCK {
        return Ok(None);
    }
    Ok(Some(RecordLock {
        process: u32::try_from(request.l_pid).ok().filter(|pid| *pid > 0),
    }))
}

/// Locks a whole file for writing until this open file description is closed. `file` must be open
/// for writing.
///
/// # Errors
/// `EAGAIN` when another holder has a lock on any part of it.
pub fn lock_whole_file(file: &File) -> io::Result<()> {
    let request = whole_file_lock(libc::F_WRLCK);
    // SAFETY: F_OFD_SETLK reads the struct flock whose address is given.
    if unsafe { libc::fcntl(file.as_raw_fd(), F_OFD_SETLK, &raw const request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether two threads share one descriptor table (kcmp(2)); `false` if that is not certain.
#[must_use]
pub fn share_descriptors(one: i32, other: i32) -> bool {
    // SAFETY: kcmp takes numbers and no pointer here.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) == 0 }
}

fn whole_file_lock(kind: libc::c_int) -> libc::flock {
    // SAFETY: struct flock consists of numbers, for which zero is valid; fcntl wants `l_pid` to be 0.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = kind as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn other_openers_of_a_file_are_counted_by_kind() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, [0; 4096]).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(other_openers(&file).unwrap(), OtherOpeners::None);
        let reader = File::open(&path).unwrap();
        assert_eq!(other_openers(&file).unwrap(), OtherOpeners::Readers);
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(other_openers(&file).unwrap(), OtherOpeners::Writers);
        assert!(!is_sole_opener(&writer).unwrap());
        drop((reader, file));
        assert!(is_sole_opener(&writer).unwrap());
    }

    #[test]
    fn lease_of_shared_memory_without_a_path_is_no_answer() {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let memory = File::from(rustix::fs::memfd_create("test", flags).unwrap());
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        let reader = File::open(path).unwrap();
        let answer = other_openers(&reader).unwrap_err();
        assert_eq!(answer.kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn lock_of_another_description_conflicts_until_it_is_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let own = File::open(file.path()).unwrap();
        assert_eq!(conflicting_lock(&own).unwrap(), None);
        lock_whole_file(file.as_file()).unwrap();
        let lock = conflicting_lock(&own).unwrap();
        assert_eq!(lock, Some(RecordLock { process: None }));
        let second = OpenOptions::new().write(true).open(file.path()).unwrap();
        assert!(lock_whole_file(&second).is_err());
        drop(file);
        assert_eq!(conflicting_lock(&own).unwrap(), None);
    }
}
