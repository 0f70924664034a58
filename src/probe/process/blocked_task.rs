//! Where a blocked task waits: its kernel stack, the file that it uses, the file systems of its process.
//! Nothing here asks the file systems themselves, which may not respond.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::drive::mounts::MountEntry;
use crate::probe::text::{nonempty_lines, parse_number, read_file, read_start, split_fields};
use crate::roots::SysPaths;

/// Open files that are examined for a blocked process at most.
const MAX_FILES: usize = 64;
/// Bytes of its arguments that are examined.
const MAX_ARGUMENTS: u64 = 4096;
/// System calls whose first argument is the descriptor of the only file that they use. Their numbers in a
/// program for 32 bits stand for other calls, of which none is given a descriptor and waits for another
/// file.
const CALLS_ON_DESCRIPTOR: [libc::c_long; 10] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_getdents64,
    libc::SYS_ftruncate,
];

/// A sleep of a thread. What the thread uses in it is still there while it lasts: the mount and the file
/// system of a file too, whose numbers the kernel gives to another one afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSleep {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// `/proc/PID/task/TID/schedstat`: nanoseconds on a processor, nanoseconds in the queue for one, and how
    /// often it was on one (kernel Documentation/scheduler/sched-stats.rst). They change when it wakes up,
    /// and no other thread has the same.
    pub run_times: [u64; 3],
}

impl ThreadSleep {
    /// The sleep that a thread is in; `None` where the kernel does not count.
    pub(crate) fn read(roots: &SysPaths, (pid, tid): (u32, u32)) -> Option<Self> {
        let path = roots.proc.join(format!("{pid}/task/{tid}/schedstat"));
        let text = read_file(&path)?;
        let mut fields = split_fields(text.trim_ascii_end()).map(parse_number);
        let mut next = || fields.next().flatten();
        let run_times = [next()?, next()?, next()?];
        let is_counted = run_times[2] > 0;
        is_counted.then_some(Self {
            pid,
            tid,
            run_times,
        })
    }
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

/// The context switches of a thread so far.
#[must_use]
pub fn read_switches(roots: &SysPaths, (pid, tid): (u32, u32)) -> Option<u64> {
    switches_of(&roots.proc.join(format!("{pid}/task/{tid}")))
}

/// The context switches of the task with this directory.
pub(super) fn switches_of(place: &Path) -> Option<u64> {
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

/// Paths below `/dev` that a process has open, among them its block devices. The links are read,
/// not followed.
#[must_use]
pub fn open_device_paths(roots: &SysPaths, pid: u32) -> Vec<String> {
    let descriptors = std::fs::read_dir(roots.proc.join(format!("{pid}/fd")));
    let descriptors = descriptors.into_iter().flatten().flatten().take(MAX_FILES);
    let path = |descriptor: std::fs::DirEntry| {
        let path = std::fs::read_link(descriptor.path()).ok()?.into_os_string();
        path.into_string()
            .ok()
            .filter(|path| path.starts_with("/dev/"))
    };
    descriptors.filter_map(path).collect()
}

/// The file systems of the open files of a process.
#[must_use]
pub fn used_mounts(roots: &SysPaths, mounts: &[MountEntry], pid: u32) -> Vec<UsedMount> {
    let descriptors = std::fs::read_dir(roots.proc.join(format!("{pid}/fdinfo")));
    let mut found: Vec<UsedMount> = Vec::new();
    for descriptor in descriptors.into_iter().flatten().flatten().take(MAX_FILES) {
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

/// The absolute paths among the arguments of a process, also behind a `=`.
#[must_use]
pub fn named_paths(roots: &SysPaths, pid: u32) -> Vec<PathBuf> {
    let file = roots.proc.join(format!("{pid}/cmdline"));
    let arguments = read_start(&file, MAX_ARGUMENTS).unwrap_or_default();
    let path = |argument: &[u8]| {
        let value = argument.rsplit(|byte| *byte == b'=').next()?;
        let is_path = value.starts_with(b"/");
        is_path.then(|| PathBuf::from(OsStr::from_bytes(value)))
    };
    let arguments = arguments.split(|byte| *byte == 0).skip(1);
    arguments.filter_map(path).collect()
}

/// ID of the mount on which the file is that the system call of a task reads, writes or flushes. `None`
/// where the call is given a path, and where the task may not be examined.
#[must_use]
pub fn mount_of_used_file(roots: &SysPaths, (pid, tid): (u32, u32)) -> Option<u64> {
    let task = roots.proc.join(format!("{pid}/task/{tid}"));
    let descriptor = parse_used_descriptor(&read_file(&task.join("syscall"))?)?;
    mount_id(&task.join("fdinfo").join(descriptor.to_string()))
}

/// The descriptor in `/proc/PID/syscall` (proc_pid_syscall(5)): number and arguments of the call that a task
/// sleeps in, `-1` where it sleeps for another reason.
fn parse_used_descriptor(text: &[u8]) -> Option<u32> {
    let mut fields = split_fields(text);
    let number = parse_number(fields.next()?)?;
    let argument = fields.next()?.strip_prefix(b"0x")?;
    let argument = std::str::from_utf8(argument).ok()?;
    let is_on_descriptor = |call: &libc::c_long| u64::try_from(*call) == Ok(number);
    let known = CALLS_ON_DESCRIPTOR.iter().any(is_on_descriptor);
    u32::from_str_radix(argument, 16).ok().filter(|_| known)
}

/// The mount ID in a file of `/proc/PID/fdinfo`.
fn mount_id(info: &Path) -> Option<u64> {
    let text = read_file(info)?;
    let line = nonempty_lines(&text).find_map(|line| line.strip_prefix(b"mnt_id:"))?;
    parse_number(line.trim_ascii())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn sleep_of_a_thread_is_known_by_its_run_times() {
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/7/task/8/schedstat", "81234 1204 31\n"),
            ("proc/7/task/9/schedstat", "0 0 0\n"),
            ("proc/7/task/10/schedstat", "5 6\n"),
        ]);
        let read = |tid| ThreadSleep::read(&roots, (7, tid));
        let run_times = [81_234, 1204, 31];
        let (pid, tid) = (7, 8);
        let sleep = ThreadSleep {
            pid,
            tid,
            run_times,
        };
        assert_eq!(read(8), Some(sleep));
        for tid in [9, 10, 11] {
            assert_eq!(read(tid), None, "{tid}");
        }
    }

    #[test]
    fn mount_of_a_file_is_known_by_the_descriptor_that_is_read() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("proc/7/task/8");
        fs::create_dir_all(task.join("fdinfo")).unwrap();
        let info = "pos:\t0\nflags:\t0100000\nmnt_id:\t31\nino:\t5\n";
        fs::write(task.join("fdinfo/3"), info).unwrap();
        let roots = SysPaths::under_root(root.path());
        let mount = |call: String| {
            fs::write(task.join("syscall"), call).unwrap();
            mount_of_used_file(&roots, (7, 8))
        };
        let read = libc::SYS_read;
        assert_eq!(mount(format!("{read} 0x3 0x7f00 0x1000 0x0\n")), Some(31));
        assert_eq!(mount(format!("{} 0x3 0x0\n", libc::SYS_fsync)), Some(31));
        // Another descriptor, a path, a call of several files; no call at all.
        assert_eq!(mount(format!("{read} 0x4 0x7f00 0x1000 0x0\n")), None);
        let open = libc::SYS_openat;
        assert_eq!(mount(format!("{open} 0x3 0x7f00 0x0 0x0\n")), None);
        let copy = libc::SYS_copy_file_range;
        assert_eq!(mount(format!("{copy} 0x3 0x0 0x4 0x0\n")), None);
        assert_eq!(mount("-1 0x3 0x7f00\n".to_owned()), None);
        assert_eq!(mount("running\n".to_owned()), None);
    }

    #[test]
    fn paths_that_a_process_names_are_those_of_its_arguments() {
        let command = "/bin/dd\0if=/dev/zero\0of=/mnt/a\0bs=4k\0/srv\0";
        let (_root, roots) = SysPaths::with_files(&[("proc/7/cmdline", command)]);
        let paths = named_paths(&roots, 7);
        let expected = ["/dev/zero", "/mnt/a", "/srv"];
        assert!(paths.iter().eq(expected.map(Path::new)), "{paths:?}");
    }

    #[test]
    fn stack_lists_functions_innermost_first() {
        let stack = "[<0>] request_wait_answer+0x12/0x20\n[<0>] fuse_lookup+0x1/0x2\n";
        let (_root, roots) = SysPaths::with_files(&[("proc/7/task/8/stack", stack)]);
        let stack = kernel_stack(&roots, 7, 8).unwrap();
        assert_eq!(stack, ["request_wait_answer", "fuse_lookup"]);
        assert_eq!(kernel_stack(&roots, 7, 9), None);
    }
}
