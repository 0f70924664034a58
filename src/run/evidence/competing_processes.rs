//! Other processes with I/O during a run, where their requests could not be traced.
//!
//! `/proc/PID/io` contains the ended children that a process has waited for (kernel/exit.c,
//! `wait_task_zombie`): a shell would be accused of what its command did. Where it has waited for some, its
//! own threads are counted one by one, and the rest is that of its ended children, unless the kernel reports
//! them itself (taskstats, root).

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::CWD;

use super::traced_competitors::{process_command, sort_users};
use crate::drive::mounts::split_device_number;
use crate::files::safe_text::SafeText;
use crate::probe::process::own_io::OwnIo;
use crate::probe::process::stat;
use crate::probe::process::taskstats::{ExitRecordSocket, ThreadExit};
use crate::probe::sample::ProcessIo;
use crate::probe::text::{list_numbers, open_relative, read_file};
use crate::roots::SysPaths;
use crate::session::document::{Attribution, OtherUser};

/// Processes with fewer bytes are not reported.
const MIN_REPORTED_BYTES: u64 = 64 << 10;

/// What a process had done at some time.
#[derive(Debug)]
struct ProcessAccount {
    start_ticks: u64,
    /// Rises with each child that it has waited for.
    reaped_faults: u64,
    /// With its ended threads and children.
    whole: ProcessIo,
    /// Its threads; `None` where they cannot be counted.
    own: Option<OwnIo>,
    /// Sum of its threads.
    own_total: ProcessIo,
}

/// The I/O of all processes from the start of a run on.
#[derive(Debug)]
pub struct CompetingProcesses {
    roots: SysPaths,
    proc: Option<OwnedFd>,
    at_start: HashMap<u32, ProcessAccount>,
    exit_records: Option<ExitRecordSocket>,
    /// What threads did that have ended since, by process: its name, and their I/O.
    ended: HashMap<u32, (SafeText, ProcessIo)>,
}

impl CompetingProcesses {
    /// Reads the counters now, as the start. Those of other users' processes are readable only by
    /// root.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        // A socket reaches the running kernel, which is not the one that a test describes.
        let is_running_kernel = *roots == SysPaths::default();
        let socket = is_running_kernel.then(|| ExitRecordSocket::open(roots).ok());
        let mut processes = Self {
            roots: roots.clone(),
            proc: open_relative(CWD, roots.proc.as_path()).ok(),
            at_start: HashMap::new(),
            exit_records: socket.flatten(),
            ended: HashMap::new(),
        };
        let read = |pid| Some((pid, processes.read(pid, &HashMap::new())?));
        processes.at_start = processes.pids().into_iter().filter_map(read).collect();
        // What ended until now was before the run.
        if let Some(socket) = &mut processes.exit_records {
            let _ = socket.take();
        }
        processes
    }

    /// Counts the threads that have ended. The kernel keeps a few thousand of their records only.
    pub fn count_ended(&mut self) {
        if let Some(socket) = &mut self.exit_records {
            let (threads, _) = socket.take();
            self.add_ended(threads);
        }
    }

    fn add_ended(&mut self, threads: Vec<ThreadExit>) {
        let own_pid = std::process::id();
        for thread in threads.into_iter().filter(|thread| thread.pid != own_pid) {
            let known = self.at_start.get_mut(&thread.pid);
            let own = known.and_then(|process| process.own.as_mut());
            let io = own.map_or(thread.io, |own| own.count(thread.tid, &thread.io));
            let name = || (SafeText::from_bytes(&thread.name), ProcessIo::default());
            let (_, sum) = self.ended.entry(thread.pid).or_insert_with(name);
            *sum = sum.saturating_add(&io);
        }
    }

    /// Processes with I/O since the start. First come those that have one of these block devices or
    /// a file on it open, or some of whose requests were traced there (`seen`), then the others,
    /// each group sorted by bytes, largest first. Without exit records a process that began and ended
    /// in between is missing, or in the sum of its parent.
    #[must_use]
    pub fn users_since_start(
        &mut self,
        devices: &[(u32, u32)],
        seen: Vec<OtherUser>,
    ) -> Vec<OtherUser> {
        self.count_ended();
        let mut ended = std::mem::take(&mut self.ended);
        let mut others = Vec::new();
        for pid in self.pids() {
            let Some(now) = self.read(pid, &self.at_start) else {
                continue;
            };
            let ended_threads = ended.remove(&pid).map(|(_, io)| io);
            let (io, of_children) = self.since_start(pid, &now, ended_threads);
            let directory = self.roots.proc.join(pid.to_string());
            let command = process_command(&self.roots.proc, pid).unwrap_or_default();
            let attribution = if has_device_open(&directory, devices) {
                Attribution::HasOpenDescriptor
            } else {
                Attribution::AnyDrive
            };
            others.push(other_user(pid, command.as_str().into(), &io, attribution));
            let children = Attribution::EndedChildren;
            others.push(other_user(pid, command.into(), &of_children, children));
        }
        for (pid, (name, io)) in ended {
            others.push(other_user(pid, name, &io, Attribution::AnyDrive));
        }
        others.retain(|user| user.read_bytes + user.written_bytes >= MIN_REPORTED_BYTES);
        for traced in seen {
            let own = |user: &&mut OtherUser| {
                user.pid == traced.pid && user.attribution != Attribution::EndedChildren
            };
            match others.iter_mut().find(own) {
                // Some of its requests were traced. The total is higher, but may have gone to other
                // devices.
                Some(other) => other.attribution = Attribution::HasOpenDescriptor,
                None => others.push(traced),
            }
        }
        sort_users(&mut others);
        let is_unsure = |user: &OtherUser| {
            matches!(
                user.attribution,
                Attribution::AnyDrive | Attribution::EndedChildren
            )
        };
        others.sort_by_key(is_unsure);
        others
    }

    /// What a process has done itself since the start, and what is known of its ended children only by
    /// its counters.
    fn since_start(
        &self,
        pid: u32,
        now: &ProcessAccount,
        ended_threads: Option<ProcessIo>,
    ) -> (ProcessIo, ProcessIo) {
        let before = self.at_start.get(&pid);
        let before = before.filter(|before| before.start_ticks == now.start_ticks);
        let whole_before = before.map_or_else(ProcessIo::default, |before| before.whole);
        let whole = now.whole.saturating_sub(&whole_before);
        if now.reaped_faults == before.map_or(0, |before| before.reaped_faults) {
            return (whole, ProcessIo::default());
        }
        let own = match before {
            Some(before) => now.own_total.saturating_sub(&before.own_total),
            None => now
                .own_total
                .saturating_add(&ended_threads.unwrap_or_default()),
        };
        if self.exit_records.is_some() {
            return (own, ProcessIo::default());
        }
        (own, whole.saturating_sub(&own))
    }

    fn pids(&self) -> Vec<u32> {
        let proc = self.proc.as_ref();
        let mut pids = proc.map_or_else(Vec::new, |proc| list_numbers(proc.as_fd()));
        pids.retain(|pid| *pid != std::process::id());
        pids
    }

    /// Reads a process, which is continued from what is known of it.
    fn read(&self, pid: u32, known: &HashMap<u32, ProcessAccount>) -> Option<ProcessAccount> {
        let process = self.roots.proc.join(pid.to_string());
        let whole = stat::parse_io(&read_file(&process.join("io"))?)?;
        let text = read_file(&process.join("stat"))?;
        let stat = stat::parse_stat(&text)?;
        let same = |known: &&ProcessAccount| known.start_ticks == stat.start_ticks;
        let known = known
            .get(&pid)
            .filter(same)
            .and_then(|known| known.own.clone());
        let mut own = known.unwrap_or_default();
        let counted = own.read(self.proc.as_ref()?.as_fd(), pid, stat.thread_count);
        Some(ProcessAccount {
            start_ticks: stat.start_ticks,
            reaped_faults: stat.reaped_faults,
            whole,
            own_total: own.total,
            own: counted.map(|()| own),
        })
    }
}

fn other_user(pid: u32, command: SafeText, io: &ProcessIo, attribution: Attribution) -> OtherUser {
    OtherUser {
        pid,
        command,
        read_bytes: io.read_bytes,
        written_bytes: io.write_bytes.saturating_sub(io.cancelled_write_bytes),
        attribution,
    }
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

    const MIB: u64 = 1 << 20;

    struct Process {
        pid: u32,
        began: u64,
        /// Page faults of its ended children.
        reaped: u64,
        /// Bytes read by itself, and with its ended children.
        own: u64,
        whole: u64,
    }

    impl Process {
        fn of(pid: u32, own: u64) -> Self {
            Self {
                pid,
                began: 100,
                reaped: 0,
                own,
                whole: own,
            }
        }

        fn write(&self, roots: &SysPaths) {
            let Self {
                pid, began, reaped, ..
            } = self;
            let directory = roots.proc.join(pid.to_string());
            let thread = directory.join(format!("task/{pid}"));
            fs::create_dir_all(&thread).unwrap();
            fs::create_dir_all(directory.join("fd")).unwrap();
            let io = |mib: u64| {
                format!(
                    "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {}\nwrite_bytes: 0\n\
                     cancelled_write_bytes: 0\n",
                    mib * MIB
                )
            };
            fs::write(thread.join("io"), io(self.own)).unwrap();
            fs::write(directory.join("io"), io(self.whole)).unwrap();
            let zeros = |count| "0 ".repeat(count);
            let stat = format!(
                "{pid} (x) S 1 {}{reaped} 0 0 {}1 0 {began} 0 0 0\n",
                zeros(6),
                zeros(6)
            );
            fs::write(directory.join("stat"), stat).unwrap();
            fs::write(directory.join("comm"), format!("name{pid}\n")).unwrap();
        }
    }

    fn described(users: &[OtherUser]) -> Vec<(&str, u64, Attribution)> {
        let users = users.iter();
        users
            .map(|it| (it.command.as_str(), it.read_bytes / MIB, it.attribution))
            .collect()
    }

    #[test]
    fn processes_with_io_since_start_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        for (pid, read) in [(10, 50), (11, 7), (12, 9)] {
            Process::of(pid, read).write(&roots);
        }
        let mut processes = CompetingProcesses::new(&roots);
        Process::of(11, 8).write(&roots);
        // Another process with a reused process id.
        let other = Process {
            began: 500,
            ..Process::of(12, 6)
        };
        other.write(&roots);
        let file = root.path().join("open");
        fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, roots.proc.join("11/fd/3")).unwrap();
        let device = split_device_number(fs::metadata(&file).unwrap().dev());
        let gone = OtherUser {
            pid: 99,
            command: "gone".into(),
            read_bytes: 2 * MIB,
            written_bytes: 0,
            attribution: Attribution::TracedRequests,
        };
        let users = processes.users_since_start(&[device], vec![gone]);
        assert_eq!(
            described(&users),
            [
                ("gone", 2, Attribution::TracedRequests),
                ("name11", 1, Attribution::HasOpenDescriptor),
                ("name12", 6, Attribution::AnyDrive),
            ]
        );
    }

    /// A shell waits for a command that reads 40 MiB, and reads 1 MiB itself.
    #[test]
    fn waiting_parent_is_not_accused_of_what_its_ended_child_did() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        Process::of(10, 3).write(&roots);
        let mut processes = CompetingProcesses::new(&roots);
        let shell = Process {
            reaped: 5,
            whole: 44,
            ..Process::of(10, 4)
        };
        shell.write(&roots);
        let users = processes.users_since_start(&[], Vec::new());
        let expected = [
            ("name10", 40, Attribution::EndedChildren),
            ("name10", 1, Attribution::AnyDrive),
        ];
        assert_eq!(described(&users), expected);
    }

    #[test]
    fn ended_processes_are_listed_by_their_exit_records() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        Process::of(10, 3).write(&roots);
        let mut processes = CompetingProcesses::new(&roots);
        let exit = |pid: u32, read: u64| ThreadExit {
            pid,
            tid: pid,
            parent_pid: 1,
            name: b"dd".to_vec(),
            io: ProcessIo {
                read_bytes: read * MIB,
                ..ProcessIo::default()
            },
        };
        processes.add_ended(vec![exit(10, 5), exit(20, 7), exit(std::process::id(), 9)]);
        fs::remove_dir_all(roots.proc.join("10")).unwrap();
        let users = processes.users_since_start(&[], Vec::new());
        let expected = [
            ("dd", 7, Attribution::AnyDrive),
            ("dd", 2, Attribution::AnyDrive),
        ];
        assert_eq!(described(&users), expected);
    }
}
