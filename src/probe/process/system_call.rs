//! The file that a blocked task uses at this moment.

use std::path::Path;

use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};
use crate::roots::SysPaths;

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
pub(super) fn mount_id(info: &Path) -> Option<u64> {
    let text = read_file(info)?;
    let line = nonempty_lines(&text).find_map(|line| line.strip_prefix(b"mnt_id:"))?;
    parse_number(line.trim_ascii())
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
}
