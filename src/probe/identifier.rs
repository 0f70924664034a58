//! Who a process is.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::process::{Stat, effective_user, thread_group, ticks};
use super::sample::Identity;
use super::text::{open, pread_all};
use super::users::Users;
use crate::roots::Roots;

/// Reads what tells a process from others. Arguments and owner are wanted of those that are shown
/// only, and reading them of all would be most of what the first sample costs.
#[derive(Debug)]
pub struct Identifier {
    users: Users,
    ticks_per_second: u64,
    buffer: Vec<u8>,
}

impl Identifier {
    /// Reads the names of users.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            users: Users::read(roots),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            buffer: Vec::with_capacity(4096),
        }
    }

    /// Ticks as the kernel writes them in `/proc/PID/stat` as time.
    #[must_use]
    pub fn time(&self, count: u64) -> Duration {
        ticks(count, self.ticks_per_second)
    }

    /// Who a process is as far as its `stat` tells; arguments and owner are missing.
    #[must_use]
    pub fn begin(&self, pid: u32, stat: &Stat<'_>) -> Identity {
        Identity {
            pid,
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            started: self.time(stat.start_ticks),
            name: stat.name.to_vec(),
            arguments: Vec::new(),
            user: None,
        }
    }

    /// Adds arguments and owner, which cost two files; they stay missing where it has ended.
    #[must_use]
    pub fn complete(&mut self, proc: BorrowedFd<'_>, mut identity: Identity) -> Identity {
        let pid = identity.pid;
        if let Some(arguments) = self.read(proc, pid, "cmdline") {
            identity.arguments = arguments.to_vec();
        }
        if let Some(user) = self.read(proc, pid, "status").and_then(effective_user) {
            identity.user = Some(self.users.name(user));
        }
        identity
    }

    /// Whether the number is that of a thread rather than of a process.
    pub fn is_thread(&mut self, proc: BorrowedFd<'_>, pid: u32) -> bool {
        let group = self.read(proc, pid, "status").and_then(thread_group);
        group.is_some_and(|group| group != pid)
    }

    fn read(&mut self, proc: BorrowedFd<'_>, pid: u32, name: &str) -> Option<&[u8]> {
        let file = open(proc, format!("{pid}/{name}")).ok()?;
        pread_all(file.as_fd(), &mut self.buffer).ok()?;
        Some(&self.buffer)
    }
}
