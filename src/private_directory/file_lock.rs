//! The lock of the process that writes a file (flock(2)). The kernel releases it when the process
//! ends, however it ends: it tells a file in use from one that was left behind, however long ago its
//! process has written to it.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Takes the lock, which lasts until the file is closed. False if it is held, or where the file system
/// has no locks: the file then counts as left behind.
#[must_use]
pub fn acquire(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether another descriptor holds the lock.
#[must_use]
pub fn is_held(file: &File) -> bool {
    let attempt = flock(file, FlockOperation::NonBlockingLockShared);
    if attempt.is_ok() {
        // Closing the file releases it as well, but may be late.
        let _ = flock(file, FlockOperation::Unlock);
    }
    attempt == Err(Errno::WOULDBLOCK)
}
