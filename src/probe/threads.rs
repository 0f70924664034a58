//! What is worth a look in processes that move something: threads, priority, where they block.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::identifier::Identifier;
use super::process::{io, stat};
use super::sample::{IoPriority, Known, Task};
use super::text::{number, open, pread_once};
use crate::drive::ioctl;

/// Threads of one process that are read at most.
const MOST: usize = 512;

/// Its I/O priority; `None` where it is gone.
pub(super) fn priority(pid: u32) -> Option<IoPriority> {
    let (class, level) = ioctl::io_priority(pid).ok()?;
    Some(IoPriority { class, level })
}

/// The kernel's function that it waits in (proc_pid_wchan(5)); `None` while it runs, and where
/// that is not told: `/proc/PID/wchan` says `0` to whom may not know.
pub(super) fn blocked_in(proc: BorrowedFd<'_>, pid: u32) -> Option<Arc<str>> {
    let file = open(proc, format!("{pid}/wchan")).ok()?;
    let mut buffer = [0; 128];
    let text = pread_once(file.as_fd(), &mut buffer).ok()?;
    let name = std::str::from_utf8(text.trim_ascii()).ok()?;
    (!name.is_empty() && name != "0").then(|| Arc::from(name))
}

/// The threads of a process; `counted` is whether waiting for I/O is.
pub(super) fn read(
    proc: BorrowedFd<'_>,
    pid: u32,
    counted: bool,
    identifier: &Identifier,
) -> Vec<Task> {
    let Ok(tasks) = open(proc, format!("{pid}/task")) else {
        return Vec::new();
    };
    let Ok(listing) = rustix::fs::Dir::read_from(&tasks) else {
        return Vec::new();
    };
    listing
        .flatten()
        .filter_map(|entry| u32::try_from(number(entry.file_name().to_bytes())?).ok())
        .take(MOST)
        .filter_map(|tid| task(tasks.as_fd(), tid, counted, identifier))
        .collect()
}

fn task(tasks: BorrowedFd<'_>, tid: u32, counted: bool, identifier: &Identifier) -> Option<Task> {
    let mut buffer = [0; 1024];
    let file = open(tasks, format!("{tid}/stat")).ok()?;
    let stat = stat(pread_once(file.as_fd(), &mut buffer).ok()?)?;
    let mut buffer = [0; 256];
    let counters = match open(tasks, format!("{tid}/io")) {
        Ok(file) => match pread_once(file.as_fd(), &mut buffer) {
            Ok(text) => io(text).map_or(Known::Absent, Known::Is),
            Err(_) => Known::NotPermitted,
        },
        Err(_) => Known::NotPermitted,
    };
    Some(Task {
        tid,
        name: stat.name.to_vec(),
        io: counters,
        // As for processes: 0 is as likely a thread that began before it was counted.
        waited: (counted && stat.waited_ticks > 0).then(|| identifier.time(stat.waited_ticks)),
        state: Some(stat.state),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::Roots;

    #[test]
    fn a_process_of_two_threads_has_two() {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let (ready, named) = std::sync::mpsc::channel();
        let other = std::thread::Builder::new()
            .name("other".to_owned())
            .spawn(move || {
                // It gives itself its name, before this.
                ready.send(()).unwrap();
                wait.recv()
            })
            .unwrap();
        named.recv().unwrap();
        let proc = open(rustix::fs::CWD, "/proc").unwrap();
        let identifier = Identifier::new(&Roots::default());
        let tasks = read(proc.as_fd(), std::process::id(), true, &identifier);
        drop(done);
        assert!(other.join().unwrap().is_err());
        assert!(tasks.iter().any(|task| task.name == b"other"));
        assert!(tasks.iter().all(|task| task.io.value().is_some()));
    }
}
