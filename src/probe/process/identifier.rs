//! Identity of a process.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::stat::{ProcessStat, parse_effective_user, parse_thread_group, ticks_to_duration};
use crate::probe::sample::ProcessIdentity;
use crate::probe::system::users::UserNames;
use crate::probe::text::{open_relative, pread_all};
use crate::roots::SysPaths;

/// Reads the identity of processes. Arguments and owner are needed only for processes that are
/// shown; reading them for all would be most of the cost of the first sample.
#[derive(Debug)]
pub struct ProcessIdentifier {
    users: UserNames,
    ticks_per_second: u64,
    buffer: Vec<u8>,
}

impl ProcessIdentifier {
    /// Reads the names of users.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        Self {
            users: UserNames::from_passwd(roots),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            buffer: Vec::with_capacity(4096),
        }
    }

    /// Converts ticks in `/proc/PID/stat` to time.
    #[must_use]
    pub fn ticks_to_duration(&self, count: u64) -> Duration {
        ticks_to_duration(count, self.ticks_per_second)
    }

    /// The identity of a process from its `stat`; arguments and owner are missing.
    #[must_use]
    pub fn identity_from_stat(&self, pid: u32, stat: &ProcessStat<'_>) -> ProcessIdentity {
        ProcessIdentity {
            pid,
            parent_pid: stat.parent_pid,
            start_ticks: stat.start_ticks,
            started: self.ticks_to_duration(stat.start_ticks),
            name: stat.name.to_vec(),
            arguments: Vec::new(),
            user: None,
        }
    }

    /// Adds arguments and owner, which take reading two files; they stay missing where it has
    /// ended.
    #[must_use]
    pub fn add_arguments_and_user(
        &mut self,
        proc: BorrowedFd<'_>,
        mut identity: ProcessIdentity,
    ) -> ProcessIdentity {
        let pid = identity.pid;
        if let Some(arguments) = self.read_process_file(proc, pid, "cmdline") {
            identity.arguments = arguments.to_vec();
        }
        if let Some(user) = self
            .read_process_file(proc, pid, "status")
            .and_then(parse_effective_user)
        {
            identity.user = Some(self.users.user_name(user));
        }
        identity
    }

    /// Whether the id is that of a thread instead of a process.
    pub fn is_thread(&mut self, proc: BorrowedFd<'_>, pid: u32) -> bool {
        let group = self
            .read_process_file(proc, pid, "status")
            .and_then(parse_thread_group);
        group.is_some_and(|group| group != pid)
    }

    fn read_process_file(&mut self, proc: BorrowedFd<'_>, pid: u32, name: &str) -> Option<&[u8]> {
        let file = open_relative(proc, format!("{pid}/{name}")).ok()?;
        pread_all(file.as_fd(), &mut self.buffer).ok()?;
        Some(&self.buffer)
    }
}
