//! Other processes whose requests were traced on the device under test.

use std::collections::HashMap;
use std::path::Path;

use crate::files::printable::printable_bytes;
use crate::probe::process::stat;
use crate::probe::text::{read_file, read_start};
use crate::session::document::{Attribution, OtherUser};
use crate::trace::requests::RequestActor;

/// Limit on distinct threads; further ones are not attributed.
const MAX_THREADS: usize = 4096;

/// Competing requests, collected per thread and reported per process.
#[derive(Debug, Default)]
pub struct TracedCompetitors {
    users_by_process: HashMap<u32, OtherUser>,
    /// Which process a thread belongs to.
    process_by_thread: HashMap<u32, u32>,
}

impl TracedCompetitors {
    /// Counts a request of another thread. The process is looked up once, at the thread's first
    /// request, while the thread still exists.
    pub fn add_request(&mut self, proc: &Path, actor: RequestActor, writes: bool, bytes: u64) {
        if self.process_by_thread.len() >= MAX_THREADS
            && !self.process_by_thread.contains_key(&actor.pid)
        {
            return;
        }
        let pid = *self
            .process_by_thread
            .entry(actor.pid)
            .or_insert_with(|| process_of_thread(proc, actor.pid));
        let stranger = self
            .users_by_process
            .entry(pid)
            .or_insert_with(|| OtherUser {
                pid,
                command: process_command(proc, pid)
                    .unwrap_or_else(|| printable_bytes(actor.name.as_bytes()))
                    .into(),
                read_bytes: 0,
                written_bytes: 0,
                attribution: Attribution::TracedRequests,
            });
        match writes {
            true => stranger.written_bytes += bytes,
            false => stranger.read_bytes += bytes,
        }
    }

    /// All other users, sorted by bytes, largest first.
    #[must_use]
    pub fn sorted_users(&self) -> Vec<OtherUser> {
        let mut all: Vec<OtherUser> = self.users_by_process.values().cloned().collect();
        sort_users(&mut all);
        all
    }
}

/// The name of a process, with unsafe characters removed: a process can choose any name.
pub fn process_command(proc: &Path, pid: u32) -> Option<String> {
    let name = read_file(&proc.join(pid.to_string()).join("comm"))?;
    Some(printable_bytes(name.trim_ascii()))
}

/// Sorts other users by bytes, largest first.
pub fn sort_users(others: &mut [OtherUser]) {
    others.sort_by_key(|it| (std::cmp::Reverse(it.read_bytes + it.written_bytes), it.pid));
}

fn process_of_thread(proc: &Path, thread: u32) -> u32 {
    read_file(&proc.join(thread.to_string()).join("status"))
        .and_then(|status| stat::parse_thread_group(&status))
        .unwrap_or(thread)
}

/// Whether a process is a kernel thread: those have no command line.
#[must_use]
pub fn is_kernel_thread(proc: &Path, pid: u32) -> bool {
    read_start(&proc.join(pid.to_string()).join("cmdline"), 1).is_some_and(|line| line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::ThreadName;

    #[test]
    fn traced_competitors_are_grouped_by_process_and_sorted_by_bytes() {
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
        let actor = |pid: u32, name: &str| RequestActor {
            pid,
            name: ThreadName::from_field(name.as_bytes()),
        };
        let mut competitors = TracedCompetitors::default();
        competitors.add_request(proc.path(), actor(99, "gone"), true, 100);
        competitors.add_request(proc.path(), actor(12, "dd"), false, 1000);
        competitors.add_request(proc.path(), actor(13, "dd"), false, 500);
        let users: Vec<_> = competitors
            .sorted_users()
            .into_iter()
            .map(|it| (it.pid, it.command, it.read_bytes, it.written_bytes))
            .collect();
        assert_eq!(
            users,
            [(12, "backup".into(), 1500, 0), (99, "gone".into(), 0, 100)]
        );
        assert!(is_kernel_thread(proc.path(), 13) && !is_kernel_thread(proc.path(), 12));
        assert!(
            !is_kernel_thread(proc.path(), 99),
            "nothing is known of it any more"
        );
    }
}
