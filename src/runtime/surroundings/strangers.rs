//! Whose requests were seen on the device under test beside those of the test.

use std::collections::HashMap;
use std::path::Path;

use crate::model::requests::Actor;
use crate::printable::printable;
use crate::probe::process;
use crate::probe::text::read;
use crate::session::document::{OtherUser, Witness};

/// Threads that are kept apart; more count as nobody.
const MOST: usize = 4096;

/// Others, by thread as they are seen, told by process.
#[derive(Debug, Default)]
pub struct Strangers {
    processes: HashMap<u32, OtherUser>,
    /// Which process a thread belongs to.
    threads: HashMap<u32, u32>,
}

impl Strangers {
    /// Counts a request of another thread. Who that is, is asked once, when its first request
    /// comes: it lives then.
    pub fn add(&mut self, proc: &Path, actor: Actor, writes: bool, bytes: u64) {
        if self.threads.len() >= MOST && !self.threads.contains_key(&actor.pid) {
            return;
        }
        let pid = *self
            .threads
            .entry(actor.pid)
            .or_insert_with(|| process_of(proc, actor.pid));
        let stranger = self.processes.entry(pid).or_insert_with(|| OtherUser {
            pid,
            command: command(proc, pid)
                .unwrap_or_else(|| printable(actor.name.bytes()))
                .into(),
            read_bytes: 0,
            written_bytes: 0,
            witness: Witness::Traced,
        });
        match writes {
            true => stranger.written_bytes += bytes,
            false => stranger.read_bytes += bytes,
        }
    }

    /// All of them, the greediest first.
    #[must_use]
    pub fn list(&self) -> Vec<OtherUser> {
        let mut all: Vec<OtherUser> = self.processes.values().cloned().collect();
        sort(&mut all);
        all
    }
}

/// The name of a process, made harmless: it may choose any.
pub fn command(proc: &Path, pid: u32) -> Option<String> {
    let name = read(&proc.join(pid.to_string()).join("comm"))?;
    Some(printable(name.trim_ascii()))
}

/// Sorts others by what they did, the most first.
pub fn sort(others: &mut [OtherUser]) {
    others.sort_by_key(|it| (std::cmp::Reverse(it.read_bytes + it.written_bytes), it.pid));
}

fn process_of(proc: &Path, thread: u32) -> u32 {
    read(&proc.join(thread.to_string()).join("status"))
        .and_then(|status| process::thread_group(&status))
        .unwrap_or(thread)
}

/// Whether a process is a thread of the kernel: those have no command line.
#[must_use]
pub fn is_kernel_thread(proc: &Path, pid: u32) -> bool {
    read(&proc.join(pid.to_string()).join("cmdline")).is_some_and(|line| line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::trace::event::Name;

    #[test]
    fn threads_are_told_by_process_and_the_greediest_first() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, status) in [
            ("12", "Name:\tdd\nTgid:\t12\n"),
            ("13", "Name:\tdd\nTgid:\t12\n"),
        ] {
            let directory = proc.path().join(pid);
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(directory.join("status"), status).unwrap();
            std::fs::write(directory.join("comm"), "backup\n").unwrap();
            std::fs::write(
                directory.join("cmdline"),
                if pid == "13" { "" } else { "x" },
            )
            .unwrap();
        }
        let actor = |pid: u32, name: &str| Actor {
            pid,
            name: Name::of(name.as_bytes()),
        };
        let mut strangers = Strangers::default();
        strangers.add(proc.path(), actor(99, "gone"), true, 100);
        strangers.add(proc.path(), actor(12, "dd"), false, 1000);
        strangers.add(proc.path(), actor(13, "dd"), false, 500);
        let told: Vec<_> = strangers
            .list()
            .into_iter()
            .map(|it| (it.pid, it.command, it.read_bytes, it.written_bytes))
            .collect();
        assert_eq!(
            told,
            [(12, "backup".into(), 1500, 0), (99, "gone".into(), 0, 100)]
        );
        assert!(is_kernel_thread(proc.path(), 13) && !is_kernel_thread(proc.path(), 12));
        assert!(
            !is_kernel_thread(proc.path(), 99),
            "nothing is known of it any more"
        );
    }
}
