//! Leases and locks of files (fcntl(2)), which no library wraps.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The signal that the kernel sends when a lease is broken: its default action is to be ignored. SIGIO would end the
/// process.
const LEASE_SIGNAL: libc::c_int = libc::SIGURG;
/// `F_SETSIG`.
const F_SETSIG: libc::c_int = 10;
/// `F_OFD_SETLK`.
const F_OFD_SETLK: libc::c_int = 37;

/// Takes a write lease on a regular file. The kernel grants it only to the sole opener.
///
/// # Errors
/// `EAGAIN` when the file is open elsewhere, `EACCES` when it belongs to another user and CAP_LEASE is missing,
/// `EINVAL` when the file system has no leases.
pub fn take_lease(file: &File) -> io::Result<()> {
    let descriptor = file.as_raw_fd();
    // SAFETY: F_SETSIG and F_SETLEASE take a number and no pointer.
    let answer = unsafe {
        libc::fcntl(descriptor, F_SETSIG, LEASE_SIGNAL)
            | libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_WRLCK)
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether a write lease is still whole: nobody waits for it, and the kernel has not taken it away.
#[must_use]
pub fn has_lease(file: &File) -> bool {
    // SAFETY: F_GETLEASE takes no argument.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) == libc::F_WRLCK }
}

/// Gives a lease up.
pub fn release_lease(file: &File) {
    // SAFETY: F_SETLEASE takes a number and no pointer.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
}

/// Locks a whole file for writing until this open file description is closed. `file` must be open for writing.
///
/// # Errors
/// `EAGAIN` when another holder has a lock on any part of it.
pub fn lock_whole_file(file: &File) -> io::Result<()> {
    // SAFETY: struct flock consists of numbers, for which zero is valid; fcntl wants `l_pid` to be 0.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = libc::F_WRLCK as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: F_OFD_SETLK reads the struct flock whose address is given.
    if unsafe { libc::fcntl(file.as_raw_fd(), F_OFD_SETLK, &raw const request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
