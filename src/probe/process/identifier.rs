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

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn arguments_of_any_length_are_kept_up_to_their_limit() {
        let proc = tempfile::tempdir().unwrap();
        let directory = proc.path().join("7");
        std::fs::create_dir(&directory).unwrap();
        let open = std::fs::File::open(proc.path()).unwrap();
        for (length, kept) in [(10, 10), (2 << 20, MAX_ARGUMENT_BYTES)] {
            std::fs::write(directory.join("cmdline"), vec![b'x'; length]).unwrap();
            let arguments = read_arguments(open.as_fd(), 7).unwrap();
            assert_eq!(arguments, vec![b'x'; kept]);
        }
        // Those that are complete end with a zero byte, those that are cut never do.
        for (length, is_complete) in [(10, true), (MAX_ARGUMENT_BYTES, true), (1 << 20, false)] {
            std::fs::write(directory.join("cmdline"), b"x\0".repeat(length / 2)).unwrap();
            let arguments = read_arguments(open.as_fd(), 7).unwrap();
            assert_eq!(arguments.ends_with(b"\0"), is_complete, "{length}");
        }
        assert_eq!(read_arguments(open.as_fd(), 8), None);
    }

    #[test]
    fn user_without_name_is_shown_as_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n+::::::\nwww:x:33:33::/:\n";
        let status = |user: u32| format!("Uid:\t1\t{user}\t1\t1\n");
        let (root, roots) = SysPaths::with_files(&[
            ("proc/self/root/etc/passwd", passwd),
            ("proc/1/status", &status(33)),
            ("proc/2/status", &status(1000)),
        ]);
        let identifier = ProcessIdentifier::new(&roots);
        let proc = std::fs::File::open(root.path().join("proc")).unwrap();
        for (pid, user) in [(1, Some("www")), (2, Some("1000")), (3, None)] {
            let identity = ProcessIdentity {
                pid,
                ..ProcessIdentity::default()
            };
            let whole = identifier.add_arguments_and_user(proc.as_fd(), identity);
            assert_eq!(whole.user.as_deref(), user);
        }
    }
}
