//! I/O of ended children: the part of a process's counters that is not its own.

use std::os::fd::{AsFd, BorrowedFd};

use crate::probe::process::entry::ProcessEntry;
use crate::probe::process::stat::parse_io;
use crate::probe::sample::ProcessIo;
use crate::probe::text::{open_relative, pread_once};

/// Updates the I/O of ended children. Reads only where children have ended since.
///
/// `/proc/PID/io` counts the process with its ended children and threads, `/proc/PID/task/TID/io` one
/// thread. With a single thread, the difference is what ended ones have done; with several, ended
/// threads could not be distinguished from ended children.
pub(super) fn update_ended_io(proc: BorrowedFd<'_>, pid: u32, entry: &mut ProcessEntry) {
    if entry.process.thread_count != 1 {
        entry.process.ended_io = None;
        // It is read again if one thread is left.
        entry.recheck_ended = true;
        return;
    }
    let changed = std::mem::take(&mut entry.ended_changed);
    // A child that ended after the counters were read is in them only next time.
    if !changed && !std::mem::take(&mut entry.recheck_ended) {
        return;
    }
    entry.recheck_ended = changed;
    entry.process.ended_io = entry.process.io.value().and_then(|total| {
        let own = read_own_io(proc, pid)?;
        Some(total.saturating_sub(&own))
    });
}

/// The counters of the first thread alone.
fn read_own_io(proc: BorrowedFd<'_>, pid: u32) -> Option<ProcessIo> {
    let file = open_relative(proc, format!("{pid}/task/{pid}/io")).ok()?;
    let mut buffer = [0; 256];
    parse_io(pread_once(file.as_fd(), &mut buffer).ok()?)
}
