//! A look at a process at one moment: which of its threads are blocked in the kernel, where, and since
//! which context switch. Several looks show who waits most, without delay accounting and without
//! tracing.

use std::path::Path;

use super::stat::parse_stat;
use super::system_call::mount_id;
use crate::drive::mounts::MountEntry;
use crate::probe::text::{nonempty_lines, parse_number, read_file, read_small_file, read_word};
use crate::roots::SysPaths;

pub use super::scanned_tasks::{BlockedTask, ScannedProcess, TaskScan};

/// The parent of all kernel threads.
const KERNEL_THREAD_PARENT: u32 = 2;
/// Wait channels of a request to a FUSE server, which may be slept in interruptibly
/// (fs/fuse/dev.c).
const FUSE_CHANNELS: [&str; 2] = ["request_wait_answer", "fuse_wait_on_page_writeback"];
/// Open files that are examined for a blocked process at most.
const MAX_FILES: usize = 64;
/// `/proc/PID/stat` is never longer: 52 numbers and a name of 15 bytes.
const STAT_BYTES: usize = 1024;

/// What is seen of a process at one moment.
#[derive(Debug)]
pub(super) struct ProcessLook {
    pub(super) process: ScannedProcess,
    /// Whether the process, or the first of its threads, runs or wants to.
    pub(super) is_running: bool,
    /// Its threads that are blocked.
    pub(super) blocked: Vec<BlockedTask>,
}

/// Looks at a process and its threads; `None` where it has ended. `with_fuse` is whether requests to
/// FUSE servers may be outstanding, which makes the wait channels of sleeping tasks worth reading.
pub(super) fn look_at_process(roots: &SysPaths, pid: u32, with_fuse: bool) -> Option<ProcessLook> {
    let place = roots.proc.join(pid.to_string());
    let mut buffer = [0; STAT_BYTES];
    let text = read_small_file(&place.join("stat"), &mut buffer);
    let stat = text.and_then(parse_stat)?;
    let is_kernel_thread = pid == KERNEL_THREAD_PARENT || stat.parent_pid == KERNEL_THREAD_PARENT;
    let blocked_thread = |tid: u32, place: &Path, state: char, name: &[u8]| {
        let asleep = state == 'S' && with_fuse && !is_kernel_thread;
        if state != 'D' && !asleep {
            return None;
        }
        let channel = read_word(&place.join("wchan")).filter(|name| name != "0");
        let in_fuse = || {
            let channel = channel.as_deref().unwrap_or_default();
            FUSE_CHANNELS.iter().any(|known| channel.starts_with(known))
        };
        (state == 'D' || in_fuse()).then(|| BlockedTask {
            pid,
            tid,
            name: name.to_vec(),
            is_kernel_thread,
            wait_channel: channel,
            switches: switches_of(place),
        })
    };
    let blocked = if stat.thread_count <= 1 {
        let only = blocked_thread(pid, &place, stat.state, stat.name);
        only.into_iter().collect()
    } else {
        let threads = std::fs::read_dir(place.join("task"));
        let threads = threads.into_iter().flatten().flatten();
        let look = |thread: std::fs::DirEntry| {
            let tid = parse_number(thread.file_name().as_encoded_bytes())?;
            let mut buffer = [0; STAT_BYTES];
            let text = read_small_file(&thread.path().join("stat"), &mut buffer);
            let stat = text.and_then(parse_stat)?;
            let tid = u32::try_from(tid).ok()?;
            blocked_thread(tid, &thread.path(), stat.state, stat.name)
        };
        threads.filter_map(look).collect()
    };
    Some(ProcessLook {
        process: ScannedProcess {
            start_ticks: stat.start_ticks,
            name: stat.name.into(),
            cpu_ticks: stat.cpu_ticks,
        },
        is_running: stat.state == 'R',
        blocked,
    })
}

/// The context switches of a thread so far.
#[must_use]
pub fn read_switches(roots: &SysPaths, (pid, tid): (u32, u32)) -> Option<u64> {
    switches_of(&roots.proc.join(format!("{pid}/task/{tid}")))
}

/// The context switches of the task with this directory.
fn switches_of(place: &Path) -> Option<u64> {
    parse_switches(&read_file(&place.join("status"))?)
}

/// The context switches of a task, voluntary or not, from `/proc/PID/status`.
#[must_use]
pub fn parse_switches(text: &[u8]) -> Option<u64> {
    let count = |name: &[u8]| {
        let line = nonempty_lines(text).find_map(|line| line.strip_prefix(name))?;
        parse_number(line.trim_ascii())
    };
    count(b"voluntary_ctxt_switches:")?.checked_add(count(b"nonvoluntary_ctxt_switches:")?)
}

/// The kernel stack of a task, innermost function first; `None` without root.
#[must_use]
pub fn kernel_stack(roots: &SysPaths, pid: u32, tid: u32) -> Option<Vec<String>> {
    let text = read_file(&roots.proc.join(format!("{pid}/task/{tid}/stack")))?;
    let functions: Vec<String> = nonempty_lines(&text)
        .filter_map(|line| {
            let line = String::from_utf8_lossy(line);
            let (_, function) = line.split_once("] ")?;
            Some(function.split('+').next().unwrap_or(function).to_owned())
        })
        .collect();
    (!functions.is_empty()).then_some(functions)
}

/// A file system that a process has files open on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedMount {
    /// Mount ID.
    pub id: u64,
    /// Device number of its files.
    pub device_id: (u32, u32),
    /// File system type.
    pub kind: String,
}

/// Paths below `/dev` that a process has open, among them its block devices. The links are read,
/// not followed.
#[must_use]
pub fn open_device_paths(roots: &SysPaths, pid: u32) -> Vec<String> {
    let Ok(descriptors) = std::fs::read_dir(roots.proc.join(format!("{pid}/fd"))) else {
        return Vec::new();
    };
    let paths = descriptors
        .flatten()
        .take(MAX_FILES)
        .filter_map(|descriptor| {
            let path = std::fs::read_link(descriptor.path()).ok()?;
            path.to_str()
                .filter(|path| path.starts_with("/dev/"))
                .map(str::to_owned)
        });
    paths.collect()
}

/// The file systems of the open files of a process. Nothing here asks the file systems themselves, which may not respond.
#[must_use]
pub fn used_mounts(roots: &SysPaths, mounts: &[MountEntry], pid: u32) -> Vec<UsedMount> {
    let process = roots.proc.join(pid.to_string());
    let Ok(descriptors) = std::fs::read_dir(process.join("fdinfo")) else {
        return Vec::new();
    };
    let mut found: Vec<UsedMount> = Vec::new();
    for descriptor in descriptors.flatten().take(MAX_FILES) {
        let id = mount_id(&descriptor.path());
        let mount = mounts.iter().find(|mount| Some(mount.id) == id);
        let used = mount.map(|mount| UsedMount {
            id: mount.id,
            device_id: mount.device_id,
            kind: mount.file_system.clone(),
        });
        found.extend(used.filter(|used| !found.contains(used)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, content: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn stat(pid: u32, name: &str, state: char, parent: u32, threads: u32) -> String {
        format!(
            "{pid} ({name}) {state} {parent} {pid} 1 0 -1 4 1 0 0 0 7 5 0 0 20 0 {threads} 0 900 1 2\n"
        )
    }

    const STATUS: &str = "Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";

    #[test]
    fn look_finds_blocked_threads_and_processor_times() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        write(at, "proc/10/stat", &stat(10, "cp (1)", 'D', 1, 1));
        write(at, "proc/10/wchan", "balance_dirty_pages");
        write(at, "proc/10/status", STATUS);
        write(at, "proc/20/stat", &stat(20, "db", 'S', 1, 2));
        write(at, "proc/20/task/20/stat", &stat(20, "db", 'S', 1, 2));
        write(at, "proc/20/task/20/wchan", "request_wait_answer");
        write(at, "proc/20/task/21/stat", &stat(21, "writer", 'D', 1, 2));
        write(at, "proc/30/stat", &stat(30, "kworker/0:1", 'D', 2, 1));
        let roots = SysPaths::under_root(at);
        let look = |pid, with_fuse| look_at_process(&roots, pid, with_fuse).unwrap();
        assert_eq!(look(10, false).process.cpu_ticks, 12);
        let found: Vec<_> = [10, 20, 30]
            .into_iter()
            .flat_map(|pid| look(pid, false).blocked)
            .map(|task| (task.tid, task.is_kernel_thread, task.wait_channel))
            .collect();
        let channel = Some("balance_dirty_pages".to_owned());
        assert_eq!(
            found,
            [(10, false, channel), (21, false, None), (30, true, None)]
        );
        assert_eq!(look(10, false).blocked[0].switches, Some(42));
        assert!(look(20, true).blocked.iter().any(|task| task.tid == 20));
        assert!(look_at_process(&roots, 40, false).is_none());
    }

    #[test]
    fn stack_lists_functions_innermost_first() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            "proc/7/task/8/stack",
            "[<0>] request_wait_answer+0x12/0x20\n[<0>] fuse_lookup+0x1/0x2\n",
        );
        let roots = SysPaths::under_root(root.path());
        let stack = kernel_stack(&roots, 7, 8).unwrap();
        assert_eq!(stack, ["request_wait_answer", "fuse_lookup"]);
        assert_eq!(kernel_stack(&roots, 7, 9), None);
    }
}
