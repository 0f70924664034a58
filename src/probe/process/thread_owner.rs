//! The process that a thread belongs to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::probe::text::{id_field, read_file};

/// Thread ids are reused after a while.
const CACHE_LIFETIME: Duration = Duration::from_secs(1);
/// Parent of all kernel threads, and the one that creates them (kernel/kthread.c, `kthreadd`).
const KTHREADD_PID: u32 = 2;

/// Owner of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadOwner {
    /// The process with this id.
    Process(u32),
    /// The kernel.
    Kernel,
    /// Unknown, because the thread has ended.
    Ended,
}

/// Finds the owners of threads and keeps them for a short time.
#[derive(Debug)]
pub struct ThreadOwners {
    proc: PathBuf,
    cached: HashMap<u32, ThreadOwner>,
    cache_started_at: Instant,
}

impl ThreadOwners {
    /// Reads them from procfs.
    #[must_use]
    pub fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            cached: HashMap::new(),
            cache_started_at: Instant::now(),
        }
    }

    /// The owner of a thread.
    pub fn owner_of(&mut self, tid: u32) -> ThreadOwner {
        if self.cache_started_at.elapsed() > CACHE_LIFETIME {
            // The owner of a thread that has ended is known from the time before.
            self.cached.retain(|_, owner| *owner == ThreadOwner::Kernel);
            self.cache_started_at = Instant::now();
        }
        let proc = &self.proc;
        *self.cached.entry(tid).or_insert_with(|| {
            let status = read_file(&proc.join(tid.to_string()).join("status"));
            status.map_or(ThreadOwner::Ended, |text| parse_status(&text))
        })
    }
}

/// `Tgid:` and `PPid:` of `/proc/TID/status`.
#[must_use]
pub fn parse_status(text: &[u8]) -> ThreadOwner {
    let (tgid, parent) = (id_field(text, "Tgid:"), id_field(text, "PPid:"));
    if tgid == Some(KTHREADD_PID) || parent == Some(KTHREADD_PID) {
        return ThreadOwner::Kernel;
    }
    tgid.map_or(ThreadOwner::Ended, ThreadOwner::Process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_of_thread_is_read_from_its_status() {
        let thread = b"Name:\tdb\nTgid:\t10\nNgid:\t0\nPid:\t11\nPPid:\t1\n";
        assert_eq!(parse_status(thread), ThreadOwner::Process(10));
        let kworker = b"Name:\tkworker/0:1\nTgid:\t9\nPid:\t9\nPPid:\t2\n";
        assert_eq!(parse_status(kworker), ThreadOwner::Kernel);
        assert_eq!(parse_status(b"Name:\tx\n"), ThreadOwner::Ended);
        let root = tempfile::tempdir().unwrap();
        let mut owners = ThreadOwners::new(root.path());
        assert_eq!(owners.owner_of(10), ThreadOwner::Ended);
    }
}
