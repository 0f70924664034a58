//! Where a blocked task waits: its kernel stack, the file that it uses, the file systems of its process.
//! Nothing here asks the file systems themselves, which may not respond.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::drive::mounts::MountEntry;
use crate::probe::sample::BlockedTask;
use crate::probe::text::{field, named_numbers, parse_number, read_file, read_start, split_fields};
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

/// Details of a blocked task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedDetails {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Functions of its kernel stack, innermost first; `None` without root.
    pub stack: Option<Vec<String>>,
    /// ID of the mount of the file that it reads, writes or flushes at this moment; `None` where that is not
    /// known, as in a call with a path.
    pub used_mount_id: Option<u64>,
    /// File systems that its process has files open on.
    pub mounts: Vec<UsedMount>,
    /// Paths below `/dev` that its process has open, among them its block devices.
    pub device_paths: Vec<String>,
    /// Absolute paths among the arguments of its process.
    pub named_paths: Vec<PathBuf>,
    /// The working directory of its process.
    pub working_directory: Option<PathBuf>,
    /// Its context switches up to this sleep; `None` where that is not known, or ended meanwhile.
    pub switches: Option<u64>,
    /// Since when it sleeps at least (`CLOCK_BOOTTIME`), where the kernel tells.
    pub asleep_since: Option<Duration>,
}

impl BlockedDetails {
    /// Where a task waits: its kernel stack, where root allows, and the file systems that its process uses.
    #[must_use]
    pub fn read(roots: &SysPaths, mounts: &[MountEntry], task: &BlockedTask) -> Self {
        let (pid, tid) = (task.pid, task.tid);
        let used_mount_id = mount_of_used_file(roots, (pid, tid));
        // Without a context switch since the scan, what was read before is that of the same sleep.
        let switches = switches_of(&roots.proc.join(format!("{pid}/task/{tid}")));
        let is_same_sleep = switches.is_some() && switches == task.switches;
        let process = roots.proc.join(pid.to_string());
        let mut details = Self {
            pid,
            tid,
            stack: kernel_stack(roots, pid, tid),
            used_mount_id: used_mount_id.filter(|_| is_same_sleep),
            named_paths: named_paths(&process),
            switches: switches.filter(|_| is_same_sleep),
            ..Self::default()
        };
        details.working_directory = std::fs::read_link(process.join("cwd")).ok();
        details.add_open_files(&process, mounts);
        details
    }

    /// Adds what its process has open. The links are read, not followed.
    fn add_open_files(&mut self, process: &Path, mounts: &[MountEntry]) {
        let descriptors = std::fs::read_dir(process.join("fd"));
        for descriptor in descriptors.into_iter().flatten().flatten().take(MAX_FILES) {
            let target = std::fs::read_link(descriptor.path()).ok();
            let path = target.and_then(|path| path.into_os_string().into_string().ok());
            let paths = path.filter(|path| path.starts_with("/dev/"));
            self.device_paths.extend(paths);
            let id = mount_id(&process.join("fdinfo").join(descriptor.file_name()));
            let mount = mounts.iter().find(|mount| Some(mount.id) == id);
            let used = mount.map(|mount| UsedMount {
                id: mount.id,
                device_id: mount.device_id,
                kind: mount.file_system.clone(),
            });
            let known = &self.mounts;
            let used = used.filter(|used| !known.contains(used));
            self.mounts.extend(used);
        }
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

/// The context switches of the task with this directory.
pub(super) fn switches_of(place: &Path) -> Option<u64> {
    parse_switches(&read_file(&place.join("status"))?)
}

/// The context switches of a task, voluntary or not, from `/proc/PID/status`.
#[must_use]
pub fn parse_switches(text: &[u8]) -> Option<u64> {
    let names = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
    let [voluntary, other] = named_numbers(text, names);
    voluntary?.checked_add(other?)
}

/// The kernel stack of a task, innermost function first; `None` without root.
fn kernel_stack(roots: &SysPaths, pid: u32, tid: u32) -> Option<Vec<String>> {
    let text = read_file(&roots.proc.join(format!("{pid}/task/{tid}/stack")))?;
    let text = String::from_utf8_lossy(&text);
    // `[<0>] FUNCTION+OFFSET/LENGTH`
    let function = |line: &str| Some(line.split_once("] ")?.1.split('+').next()?.to_owned());
    let functions: Vec<String> = text.lines().filter_map(function).collect();
    (!functions.is_empty()).then_some(functions)
}

/// The absolute paths among the arguments of a process, also behind a `=`.
fn named_paths(place: &Path) -> Vec<PathBuf> {
    let arguments = read_start(&place.join("cmdline"), MAX_ARGUMENTS).unwrap_or_default();
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
fn mount_of_used_file(roots: &SysPaths, (pid, tid): (u32, u32)) -> Option<u64> {
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
    parse_number(field(&read_file(info)?, "mnt_id:")?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        let paths = named_paths(&roots.proc.join("7"));
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
