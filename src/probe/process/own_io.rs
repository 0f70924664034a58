//! I/O of a process itself.
//!
//! `/proc/PID/io` is the sum over a process, its ended threads, and the children that it has waited for
//! (kernel/exit.c, `wait_task_zombie`): a child that was shown while it ran would be shown again with its
//! parent. `/proc/PID/task/TID/io` is one thread alone. Each thread is counted from its own counters only:
//! while it runs from that file, at its end from its exit record. What was counted of it is remembered, so
//! that it does not matter in which order they are read.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};

use super::stat::parse_io;
use crate::probe::sample::ProcessIo;
use crate::probe::text::{list_numbers, open_relative, read_small_file};

/// The threads of a process with more are not read: its counters include its ended children.
const MAX_THREADS: u32 = 512;

/// What the threads of a process have done, as far as it was counted.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnIo {
    /// All that was counted.
    pub(super) total: ProcessIo,
    /// By thread id.
    threads: HashMap<u32, CountedThread>,
}

#[derive(Debug, Clone, Default)]
struct CountedThread {
    /// Its counters as of the last time that they were counted.
    counted: ProcessIo,
    /// Whether it was found by the last reading. Those that were not have ended, and their exit record is
    /// expected.
    is_alive: bool,
}

impl OwnIo {
    /// Counts what the threads have done since they were last read. `None` where they cannot be read, or
    /// are too many.
    pub(super) fn read(&mut self, proc: BorrowedFd<'_>, pid: u32, threads: u32) -> Option<()> {
        if threads > MAX_THREADS {
            return None;
        }
        self.threads
            .retain(|_, thread| std::mem::take(&mut thread.is_alive));
        let tids = match threads {
            1 => vec![pid],
            _ => list_numbers(open_relative(proc, format!("{pid}/task")).ok()?.as_fd()),
        };
        for tid in tids {
            let mut buffer = [0; 256];
            // A thread that has ended meanwhile has an exit record.
            if let Some(text) = read_small_file(proc, format!("{pid}/task/{tid}/io"), &mut buffer) {
                self.count(tid, &parse_io(text)?);
            }
        }
        Some(())
    }

    /// Counts what a thread has done since it was last counted, and returns that: `io` are its counters,
    /// read while it runs, or of its exit record.
    pub(super) fn count(&mut self, tid: u32, io: &ProcessIo) -> ProcessIo {
        let thread = self.threads.entry(tid).or_default();
        thread.is_alive = true;
        let rest = io.saturating_sub(&thread.counted);
        thread.counted = *io;
        self.total = self.total.saturating_add(&rest);
        rest
    }
}
