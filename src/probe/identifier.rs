//! Who a process is.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::process::{effective_user, stat, thread_group, ticks};
use super::sample::Identity;
use super::text::{open, pread_all};
use super::users::Users;
use crate::roots::Roots;

/// Reads what tells a process from others: once when it begins, and again when it executes
/// another program.
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

    /// Who a process is; `None` when it is gone, or the number is that of a thread.
    pub fn identify(&mut self, proc: BorrowedFd<'_>, pid: u32) -> Option<Identity> {
        let mut read = |name: &str| {
            let file = open(proc, format!("{pid}/{name}")).ok()?;
            pread_all(file.as_fd(), &mut self.buffer).ok()?;
            Some(self.buffer.clone())
        };
        let text = read("stat")?;
        let stat = stat(&text)?;
        let arguments = read("cmdline").unwrap_or_default();
        let status = read("status").unwrap_or_default();
        if thread_group(&status).is_some_and(|group| group != pid) {
            return None;
        }
        let user = effective_user(&status);
        Some(Identity {
            pid,
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            started: self.time(stat.start_ticks),
            name: stat.name.to_vec(),
            arguments,
            user: user.map(|user| self.users.name(user)),
        })
    }
}
