//! Identity of a process.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::stat::{ProcessStat, parse_effective_user, ticks_to_duration};
use crate::probe::sample::ProcessIdentity;
use crate::probe::text::{nonempty_lines, parse_number, read_file, read_small_file};
use crate::roots::SysPaths;

/// Bytes of the arguments of a process that are kept. A user may have several MB of them, shared by
/// thousands of processes.
const MAX_ARGUMENT_BYTES: usize = 16 << 10;

/// Reads the identity of processes. Arguments and owner are needed only for processes that are
/// shown; reading them for all would be most of the cost of the first sample.
#[derive(Debug)]
pub struct ProcessIdentifier {
    /// By user id. Users known only to a directory service are shown as numbers.
    users: HashMap<u32, String>,
    ticks_per_second: u64,
}

impl ProcessIdentifier {
    /// Reads the names of users from `/etc/passwd`, through procfs, so that it is below the roots.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        let users = read_file(&roots.proc.join("self/root/etc/passwd")).unwrap_or_default();
        Self {
            users: nonempty_lines(&users).filter_map(parse_entry).collect(),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
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
        &self,
        proc: BorrowedFd<'_>,
        mut identity: ProcessIdentity,
    ) -> ProcessIdentity {
        let pid = identity.pid;
        identity.arguments = read_arguments(proc, pid).unwrap_or(identity.arguments);
        let mut buffer = [0; 4096];
        let status = read_small_file(proc, format!("{pid}/status"), &mut buffer);
        if let Some(user) = status.and_then(parse_effective_user) {
            let name = self.users.get(&user).cloned();
            identity.user = name.or_else(|| Some(user.to_string()));
        }
        identity
    }
}

/// The arguments of a process up to their limit. Those that are cut end without a zero byte.
fn read_arguments(proc: BorrowedFd<'_>, pid: u32) -> Option<Vec<u8>> {
    let mut buffer = [0; MAX_ARGUMENT_BYTES + 1];
    let mut arguments = read_small_file(proc, format!("{pid}/cmdline"), &mut buffer)?;
    if arguments.len() > MAX_ARGUMENT_BYTES {
        arguments = &arguments[..MAX_ARGUMENT_BYTES];
        while let Some((0, shorter)) = arguments.split_last() {
            arguments = shorter;
        }
    }
    Some(arguments.to_vec())
}

/// `name:password:number:...` (passwd(5)).
fn parse_entry(line: &[u8]) -> Option<(u32, String)> {
    let mut parts = line.split(|byte| *byte == b':');
    let name = parts.next()?;
    let user = u32::try_from(parse_number(parts.nth(1)?)?).ok()?;
    Some((user, String::from_utf8_lossy(name).into_owned()))
}
