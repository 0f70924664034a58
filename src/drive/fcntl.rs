//! Questions about other users of a file that only `fcntl` and `kcmp` answer: leases (fcntl(2),
//! "Leases"), open file description locks (fcntl(2), "Open file description locks"), and whose
//! descriptors are the same.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The signal that a broken lease sends. Its default action is to be ignored; that of SIGIO, which
/// the kernel would send otherwise, ends the process.
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
/// Types of file systems in memory (statfs(2)): tmpfs, ramfs, hugetlbfs, secretmem.
const IN_MEMORY: [u32; 4] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6, 0x5345_434d];

/// Who else has a regular file open, as the kernel counts it: across users, namespaces and what the
/// kernel itself has opened (loop devices, swap files, file systems in a file).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherOpeners {
    /// Nobody.
    None,
    /// Some for reading, nobody for writing.
    Readers,
    /// At least one for writing.
    Writers,
}

/// Asks the kernel who else has a regular file open, by taking a lease for a moment. `file` must be
/// open for reading only; other descriptors of this process count as others.
///
/// # Errors
/// `EACCES` when the file belongs to another user and CAP_LEASE is missing, `EINVAL` where the file
/// system has no leases.
pub fn other_openers(file: &File) -> io::Result<OtherOpeners> {
    if can_take_lease(file, libc::F_WRLCK)? {
        return Ok(OtherOpeners::None);
    }
    if can_take_lease(file, libc::F_RDLCK)? {
        return Ok(OtherOpeners::Readers);
    }
    Ok(OtherOpeners::Writers)
}

/// Asks the kernel whether nobody else has a regular file open that is open for writing here. A file
/// that is written has no lease that tells readers from writers.
///
/// # Errors
/// As of [`other_openers`].
pub fn is_sole_opener(file: &File) -> io::Result<bool> {
    can_take_lease(file, libc::F_WRLCK)
}

/// Whether the kernel grants a lease of that kind, which is given back at once.
fn can_take_lease(file: &File, kind: libc::c_int) -> io::Result<bool> {
    if !counts_openers(file) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the kernel does not count who has shared memory without a path",
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

/// Whether the kernel counts the openers of a file: not of shared memory, which it makes without
/// opening it (memfd_create(2), shmget(2), a shared mapping of /dev/zero).
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

/// A record lock that keeps others from writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordLock {
    /// The process that holds it; `None` for a lock of an open file description, and for a process
    /// of another namespace.
    pub process: Option<u32>,
}

/// The first record lock, POSIX or of an open file description, that would keep `file` as a whole
/// from being locked for writing. `file` may be open for reading only.
///
/// # Errors
/// Where the file system has no such locks.
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

/// Locks a file as a whole for writing, for as long as this open file description lives. `file` must
/// be open for writing.
///
/// # Errors
/// `EAGAIN` when another holds a lock on any part of it.
pub fn lock_whole_file(file: &File) -> io::Result<()> {
    let request = whole_file_lock(libc::F_WRLCK);
    // SAFETY: F_OFD_SETLK reads the struct flock whose address is given.
    if unsafe { libc::fcntl(file.as_raw_fd(), F_OFD_SETLK, &raw const request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether two threads certainly have one table of descriptors (kcmp(2)).
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
