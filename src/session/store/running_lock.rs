//! The lock on a journal while its run is in progress (flock(2)). The kernel releases it when the
//! process ends, however it ends: a journal without it belongs to a run that was interrupted.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Takes the lock, which lasts until the file is closed. False if it is held, or where the file system
/// has no locks: the run then counts as interrupted until it ends.
pub(super) fn acquire(journal: &File) -> bool {
    flock(journal, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether another descriptor holds the lock.
pub(super) fn is_held(journal: &File) -> bool {
    let attempt = flock(journal, FlockOperation::NonBlockingLockShared);
    if attempt.is_ok() {
        // Closing the file releases it as well, but may be late.
        let _ = flock(journal, FlockOperation::Unlock);
    }
    attempt == Err(Errno::WOULDBLOCK)
}
