//! Whether the number of a process in procfs means the same process elsewhere.

use super::stat::parse_thread_group;
use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};
use crate::roots::SysPaths;

/// Which PID namespace the numbers of processes are of (pid_namespaces(7)). A system call, and a command such
/// as kill(1), takes a number for that of the namespace of its caller; a path below `/proc` does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProcessNumbers {
    /// That of this process, now.
    Own,
    /// Another one, as in a namespace that was entered without a mount of its procfs, or not known. Those of a
    /// recording as well, whose processes are of an earlier time or another machine.
    #[default]
    Other,
}

impl ProcessNumbers {
    /// Those of a procfs: it tells the numbers of this process in its own namespace and in all between that
    /// and the one of this process.
    #[must_use]
    pub fn of_procfs(roots: &SysPaths) -> Self {
        let status = read_file(&roots.proc.join("self/status"));
        match status.map(|status| own_numbers(&status)).as_deref() {
            Some([number]) if *number == u64::from(std::process::id()) => Self::Own,
            _ => Self::Other,
        }
    }
}

/// The numbers in `/proc/self/status`. A kernel without PID namespaces has one.
fn own_numbers(status: &[u8]) -> Vec<u64> {
    let namespaces = |line: &'_ [u8]| line.strip_prefix(b"NStgid:").map(<[u8]>::to_vec);
    match nonempty_lines(status).find_map(namespaces) {
        Some(line) => split_fields(line.trim_ascii())
            .filter_map(parse_number)
            .collect(),
        None => parse_thread_group(status)
            .map(u64::from)
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};

    #[test]
    fn numbers_of_another_namespace_are_not_taken_for_own_ones() {
        let own = std::process::id();
        for (status, numbers) in [
            (
                format!("Tgid:\t{own}\nNStgid:\t{own}\n"),
                ProcessNumbers::Own,
            ),
            (format!("Tgid:\t{own}\n"), ProcessNumbers::Own),
            // Its namespace is within that of procfs; the numbers may be equal by chance.
            (
                format!("Tgid:\t{own}\nNStgid:\t{own}\t5\n"),
                ProcessNumbers::Other,
            ),
            (
                format!("Tgid:\t{own}\nNStgid:\t{own}\t{own}\n"),
                ProcessNumbers::Other,
            ),
            (
                format!("Tgid:\t{0}\nNStgid:\t{0}\n", own + 1),
                ProcessNumbers::Other,
            ),
            (format!("Tgid:\t{}\n", own + 1), ProcessNumbers::Other),
            (String::new(), ProcessNumbers::Other),
        ] {
            let (_root, roots) = SysPaths::with_files(&[("proc/self/status", &status)]);
            assert_eq!(ProcessNumbers::of_procfs(&roots), numbers, "{status}");
        }
        let unshare = std::process::Command::new("unshare")
            .args(["--pid", "--fork", "cat", "/proc/self/status"])
            .output();
        match unshare {
            Ok(output) if output.status.success() => {
                assert_eq!(own_numbers(&output.stdout).len(), 2)
            }
            _ => skip(Requirement::Namespaces, "unshare --pid fails"),
        }
        let nowhere = SysPaths::under_root(std::path::Path::new("/nonexistent"));
        assert_eq!(ProcessNumbers::of_procfs(&nowhere), ProcessNumbers::Other);
        assert_eq!(
            ProcessNumbers::of_procfs(&SysPaths::default()),
            ProcessNumbers::Own
        );
    }
}
