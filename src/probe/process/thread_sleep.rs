//! A sleep of a thread, and no later one.

use crate::probe::text::{parse_number, read_file, split_fields};
use crate::roots::SysPaths;

/// A sleep of a thread. What the thread uses in it is still there while it lasts: the mount and the file
/// system of a file too, whose numbers the kernel gives to another one afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSleep {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// `/proc/PID/task/TID/schedstat`: nanoseconds on a processor, nanoseconds in the queue for one, and how
    /// often it was on one (kernel Documentation/scheduler/sched-stats.rst). They change when it wakes up,
    /// and no other thread has the same.
    pub run_times: [u64; 3],
}

impl ThreadSleep {
    /// The sleep that a thread is in; `None` where the kernel does not count.
    pub(crate) fn read(roots: &SysPaths, (pid, tid): (u32, u32)) -> Option<Self> {
        let path = roots.proc.join(format!("{pid}/task/{tid}/schedstat"));
        let text = read_file(&path)?;
        let mut fields = split_fields(text.trim_ascii_end()).map(parse_number);
        let mut next = || fields.next().flatten();
        let run_times = [next()?, next()?, next()?];
        let is_counted = run_times[2] > 0;
        is_counted.then_some(Self {
            pid,
            tid,
            run_times,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_of_a_thread_is_known_by_its_run_times() {
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/7/task/8/schedstat", "81234 1204 31\n"),
            ("proc/7/task/9/schedstat", "0 0 0\n"),
            ("proc/7/task/10/schedstat", "5 6\n"),
        ]);
        let read = |tid| ThreadSleep::read(&roots, (7, tid));
        let run_times = [81_234, 1204, 31];
        let (pid, tid) = (7, 8);
        let sleep = ThreadSleep {
            pid,
            tid,
            run_times,
        };
        assert_eq!(read(8), Some(sleep));
        for tid in [9, 10, 11] {
            assert_eq!(read(tid), None, "{tid}");
        }
    }
}
