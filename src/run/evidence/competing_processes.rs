//! Other processes with I/O during a run, where their requests could not be traced.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::traced_competitors::{process_command, sort_users};
use crate::drive::mounts::split_device_number;
use crate::probe::process::stat;
use crate::probe::text::read_file;
use crate::roots::SysPaths;
use crate::session::document::{Attribution, OtherUser};

/// Processes with fewer bytes are not reported.
const MIN_REPORTED_BYTES: u64 = 64 << 10;

/// I/O counters and start time of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessAccount {
    start_ticks: u64,
    read_bytes: u64,
    written_bytes: u64,
}

/// I/O counters of all processes at the start of a run.
#[derive(Debug)]
pub struct CompetingProcesses {
    roots: SysPaths,
    accounts_at_start: HashMap<u32, ProcessAccount>,
}

impl CompetingProcesses {
    /// Reads the counters now, as the start. Those of other users' processes are readable only by
    /// root.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        Self {
            roots: roots.clone(),
            accounts_at_start: read_accounts(roots),
        }
    }

    /// Processes with I/O since the start. First come those that have one of these block devices or
    /// a file on it open, or some of whose requests were traced there (`seen`), then the others,
    /// each group sorted by bytes, largest first. A process that began and ended in between and was
    /// not traced is missing.
    #[must_use]
    pub fn users_since_start(
        &self,
        devices: &[(u32, u32)],
        seen: Vec<OtherUser>,
    ) -> Vec<OtherUser> {
        let usage_since_start = |(pid, now): (u32, ProcessAccount)| {
            let before = self
                .accounts_at_start
                .get(&pid)
                .filter(|it| it.start_ticks == now.start_ticks);
            let since = |now: u64, before: Option<u64>| now.saturating_sub(before.unwrap_or(0));
            let read_bytes = since(now.read_bytes, before.map(|it| it.read_bytes));
            let written_bytes = since(now.written_bytes, before.map(|it| it.written_bytes));
            (read_bytes + written_bytes >= MIN_REPORTED_BYTES).then(|| OtherUser {
                pid,
                command: process_command(&self.roots.proc, pid)
                    .unwrap_or_default()
                    .into(),
                read_bytes,
                written_bytes,
                attribution: match has_device_open(&self.roots.proc.join(pid.to_string()), devices)
                {
                    true => Attribution::HasOpenDescriptor,
                    false => Attribution::AnyDrive,
                },
            })
        };
        let now = read_accounts(&self.roots);
        let mut others: Vec<OtherUser> = now.into_iter().filter_map(usage_since_start).collect();
        for traced in seen {
            match others.iter_mut().find(|other| other.pid == traced.pid) {
                // Some of its requests were traced. The total is higher, but may have gone to other
                // devices.
                Some(other) => other.attribution = Attribution::HasOpenDescriptor,
                None => others.push(traced),
            }
        }
        sort_users(&mut others);
        others.sort_by_key(|other| other.attribution == Attribution::AnyDrive);
        others
    }
}

fn read_accounts(roots: &SysPaths) -> HashMap<u32, ProcessAccount> {
    let own = std::process::id();
    fs::read_dir(&roots.proc)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| Some((pid, read_account(&roots.proc.join(pid.to_string()))?)))
        .collect()
}

fn read_account(process: &Path) -> Option<ProcessAccount> {
    let io = stat::parse_io(&read_file(&process.join("io"))?)?;
    let began = stat::parse_stat(&read_file(&process.join("stat"))?)?.start_ticks;
    Some(ProcessAccount {
        start_ticks: began,
        read_bytes: io.read_bytes,
        written_bytes: io.write_bytes.saturating_sub(io.cancelled_write_bytes),
    })
}

/// Whether a process has one of these block devices, or a file on it, open.
fn has_device_open(process: &Path, devices: &[(u32, u32)]) -> bool {
    let descriptors = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    descriptors
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .any(|about| {
            let kind = about.file_type();
            let number = match kind.is_block_device() {
                true => about.rdev(),
                false if kind.is_file() => about.dev(),
                false => return false,
            };
            devices.contains(&split_device_number(number))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(roots: &SysPaths, pid: u32, began: u64, read: u64, written: u64) {
        let directory = roots.proc.join(pid.to_string());
        fs::create_dir_all(directory.join("fd")).unwrap();
        let io = format!(
            "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {read}\nwrite_bytes: {written}\n\
             cancelled_write_bytes: 0\n"
        );
        fs::write(directory.join("io"), io).unwrap();
        let zeros = "0 ".repeat(17);
        let stat = format!("{pid} (x) S 1 {zeros}{began} 0 0 0\n");
        fs::write(directory.join("stat"), stat).unwrap();
        fs::write(directory.join("comm"), format!("name{pid}\n")).unwrap();
    }

    #[test]
    fn processes_with_io_since_start_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        let mib = 1 << 20;
        process(&roots, 10, 100, 50 * mib, 0);
        process(&roots, 11, 100, 7 * mib, 0);
        process(&roots, 12, 100, 9 * mib, 0);
        let processes = CompetingProcesses::new(&roots);
        process(&roots, 10, 100, 50 * mib, 1000);
        process(&roots, 11, 100, 8 * mib, 2 * mib);
        // Another process with a reused process id.
        process(&roots, 12, 500, 6 * mib, 0);
        let file = root.path().join("open");
        fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, roots.proc.join("11/fd/3")).unwrap();
        let device = split_device_number(fs::metadata(&file).unwrap().dev());
        let gone = OtherUser {
            pid: 99,
            command: "gone".into(),
            read_bytes: 2 * mib,
            written_bytes: 0,
            attribution: Attribution::TracedRequests,
        };
        let users: Vec<_> = processes
            .users_since_start(&[device], vec![gone])
            .into_iter()
            .map(|it| {
                (
                    it.command,
                    it.read_bytes / mib,
                    it.written_bytes / mib,
                    it.attribution,
                )
            })
            .collect();
        assert_eq!(
            users,
            [
                ("name11".into(), 1, 2, Attribution::HasOpenDescriptor),
                ("gone".into(), 2, 0, Attribution::TracedRequests),
                ("name12".into(), 6, 0, Attribution::AnyDrive),
            ]
        );
    }
}
