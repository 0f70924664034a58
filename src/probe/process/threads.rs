//! Details of active processes: threads, priority, wait channel.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::identifier::ProcessIdentifier;
use super::io_priority;
use super::stat::{parse_io, parse_stat};
use crate::probe::sample::{Availability, IoPriority, ThreadSample};
use crate::probe::text::{open_relative, parse_number, pread_once};

/// Maximum number of threads that are read per process.
const MAX_THREADS: usize = 512;

/// Its I/O priority; `None` where it has ended.
pub(crate) fn io_priority(pid: u32) -> Option<IoPriority> {
    let (class, level) = io_priority::io_priority(pid).ok()?;
    Some(IoPriority { class, level })
}

/// The kernel function that it waits in (proc_pid_wchan(5)); `None` while it runs, and without
/// permission: `/proc/PID/wchan` is `0` then.
pub(crate) fn wait_channel(proc: BorrowedFd<'_>, pid: u32) -> Option<Arc<str>> {
    let file = open_relative(proc, format!("{pid}/wchan")).ok()?;
    let mut buffer = [0; 128];
    let text = pread_once(file.as_fd(), &mut buffer).ok()?;
    let name = std::str::from_utf8(text.trim_ascii()).ok()?;
    (!name.is_empty() && name != "0").then(|| Arc::from(name))
}

/// The threads of a process; `counted` is whether delay accounting is on.
pub(crate) fn read_threads(
    proc: BorrowedFd<'_>,
    pid: u32,
    counted: bool,
    identifier: &ProcessIdentifier,
) -> Vec<ThreadSample> {
    let Ok(tasks) = open_relative(proc, format!("{pid}/task")) else {
        return Vec::new();
    };
    let Ok(listing) = rustix::fs::Dir::read_from(&tasks) else {
        return Vec::new();
    };
    listing
        .flatten()
        .filter_map(|entry| u32::try_from(parse_number(entry.file_name().to_bytes())?).ok())
        .take(MAX_THREADS)
        .filter_map(|tid| read_thread(tasks.as_fd(), tid, counted, identifier))
        .collect()
}

fn read_thread(
    tasks: BorrowedFd<'_>,
    tid: u32,
    counted: bool,
    identifier: &ProcessIdentifier,
) -> Option<ThreadSample> {
    let mut buffer = [0; 1024];
    let file = open_relative(tasks, format!("{tid}/stat")).ok()?;
    let stat = parse_stat(pread_once(file.as_fd(), &mut buffer).ok()?)?;
    let mut buffer = [0; 256];
    let counters = match open_relative(tasks, format!("{tid}/io")) {
        Ok(file) => match pread_once(file.as_fd(), &mut buffer) {
            Ok(text) => parse_io(text).map_or(Availability::Absent, Availability::Available),
            Err(_) => Availability::NotPermitted,
        },
        Err(_) => Availability::NotPermitted,
    };
    Some(ThreadSample {
        tid,
        name: stat.name.to_vec(),
        io: counters,
        // As for processes, 0 may also belong to a thread that began before accounting was on.
        io_delay: (counted && stat.blkio_delay_ticks > 0)
            .then(|| identifier.ticks_to_duration(stat.blkio_delay_ticks)),
        state: Some(stat.state),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::SysPaths;

    #[test]
    fn named_thread_of_own_process_is_listed() {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let (ready, named) = std::sync::mpsc::channel();
        let other = std::thread::Builder::new()
            .name("other".to_owned())
            .spawn(move || {
                // The thread sets its own name before this.
                ready.send(()).unwrap();
                wait.recv()
            })
            .unwrap();
        named.recv().unwrap();
        let proc = open_relative(rustix::fs::CWD, "/proc").unwrap();
        let identifier = ProcessIdentifier::new(&SysPaths::default());
        let tasks = read_threads(proc.as_fd(), std::process::id(), true, &identifier);
        drop(done);
        assert!(other.join().unwrap().is_err());
        assert!(tasks.iter().any(|task| task.name == b"other"));
        assert!(tasks.iter().all(|task| task.io.value().is_some()));
    }
}
