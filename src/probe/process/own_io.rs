//! I/O of a process itself.
//!
//! `/proc/PID/io` is the sum over a process, its ended threads, and the children that it has waited for
//! (kernel/exit.c, `wait_task_zombie`): a child that was shown while it ran would be shown again with its
//! parent. `/proc/PID/task/TID/io` is one thread alone. Each thread is counted from its own counters only:
//! while it runs from that file, at its end from its exit record. What was counted of it is remembered, so
//! that it does not matter in which order they are read.

use std::os::fd::{AsFd, BorrowedFd};

use super::stat::parse_io;
use crate::probe::sample::ProcessIo;
use crate::probe::text::{list_numbers, open_relative, read_small_file};

/// The threads of a process with more are not read: its counters include its ended children.
const MAX_THREADS: u32 = 512;

/// What the threads of a process have done, as far as it was counted.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnIo {
    total: ProcessIo,
    threads: Vec<CountedThread>,
}

/// A thread, with its counters as of the last time that they were counted.
#[derive(Debug, Clone)]
struct CountedThread {
    tid: u32,
    counted: ProcessIo,
    /// Whether it was found by the last reading. Those that were not have ended, and their exit record is
    /// expected.
    is_alive: bool,
}

impl OwnIo {
    /// A process with one thread and without ended children, whose counters are those of the thread.
    /// What it did until now is not counted.
    pub(super) fn of_only_thread(tid: u32, io: ProcessIo) -> Self {
        Self {
            total: ProcessIo::default(),
            threads: vec![CountedThread {
                tid,
                counted: io,
                is_alive: true,
            }],
        }
    }

    /// All that was counted.
    pub(super) fn total(&self) -> ProcessIo {
        self.total
    }

    /// Counts from here on.
    pub(super) fn start_at_zero(&mut self) {
        self.total = ProcessIo::default();
    }

    /// Counts what the threads have done since they were last read. `None` where they cannot be read, or
    /// are too many.
    pub(super) fn read(&mut self, proc: BorrowedFd<'_>, pid: u32, threads: u32) -> Option<()> {
        if threads > MAX_THREADS {
            return None;
        }
        self.threads.retain(|thread| thread.is_alive);
        for thread in &mut self.threads {
            thread.is_alive = false;
        }
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
        let mut threads = self.threads.iter_mut();
        let before = match threads.find(|thread| thread.tid == tid) {
            Some(thread) => {
                thread.is_alive = true;
                std::mem::replace(&mut thread.counted, *io)
            }
            None => {
                self.threads.push(CountedThread {
                    tid,
                    counted: *io,
                    is_alive: true,
                });
                ProcessIo::default()
            }
        };
        let rest = io.saturating_sub(&before);
        self.total = self.total.saturating_add(&rest);
        rest
    }
}
