//! Details of active processes: threads, wait channel.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::identifier::ProcessIdentifier;
use super::stat::{parse_io, parse_stat};
use crate::probe::sample::ThreadSample;
use crate::probe::text::{list_numbers, open_relative, read_small_file};

/// Maximum number of threads that are read per process.
const MAX_THREADS: usize = 512;

/// The kernel function that it waits in (proc_pid_wchan(5)); `None` while it runs, and without
/// permission: `/proc/PID/wchan` is `0` then.
pub(super) fn wait_channel(proc: BorrowedFd<'_>, pid: u32) -> Option<Arc<str>> {
    let mut buffer = [0; 128];
    let text = read_small_file(proc, format!("{pid}/wchan"), &mut buffer)?;
    let name = std::str::from_utf8(text.trim_ascii()).ok()?;
    (!name.is_empty() && name != "0").then(|| Arc::from(name))
}

/// The threads of a process; `counted` is whether delay accounting is on.
pub(super) fn read_threads(
    proc: BorrowedFd<'_>,
    pid: u32,
    counted: bool,
    identifier: &ProcessIdentifier,
) -> Vec<ThreadSample> {
    let Ok(tasks) = open_relative(proc, format!("{pid}/task")) else {
        return Vec::new();
    };
    let tids = list_numbers(tasks.as_fd()).into_iter().take(MAX_THREADS);
    tids.filter_map(|tid| read_thread(tasks.as_fd(), tid, counted, identifier))
        .collect()
}

fn read_thread(
    tasks: BorrowedFd<'_>,
    tid: u32,
    counted: bool,
    identifier: &ProcessIdentifier,
) -> Option<ThreadSample> {
    let mut buffer = [0; 1024];
    let stat = parse_stat(read_small_file(tasks, format!("{tid}/stat"), &mut buffer)?)?;
    Some(ThreadSample {
        tid,
        name: stat.name.to_vec(),
        io: read_small_file(tasks, format!("{tid}/io"), &mut [0; 256]).and_then(parse_io),
        // As for processes, 0 may also belong to a thread that began before accounting was on.
        io_delay: (counted && stat.blkio_delay_ticks > 0)
            .then(|| identifier.ticks_to_duration(stat.blkio_delay_ticks)),
        state: Some(stat.state),
    })
}
