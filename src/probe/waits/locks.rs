//! Who waits for the lock of a file that somebody else holds (`/proc/locks`, proc_locks(5)).

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};
use crate::probe::waits::processes;
use crate::probe::waits::sleeps::slept_times;
use crate::roots::SysPaths;

/// A process that waits for the lock of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWait {
    /// Process that waits.
    pub waiter: u32,
    /// Process that holds the lock.
    pub holder: u32,
    /// Device number of the file.
    pub device_number: (u32, u32),
    /// Its inode.
    pub inode: u64,
    /// How long the process has slept at least; `None` where the kernel does not tell.
    pub slept: Option<Duration>,
}

/// The processes that wait for locks. A lock whose holder has no number here, as one of a file
/// description, is left out.
#[must_use]
pub fn lock_waits(roots: &SysPaths) -> Vec<LockWait> {
    let text = read_file(&roots.proc.join("locks")).unwrap_or_default();
    let mut waits = Vec::new();
    let (mut lock, mut holder) = (None, None);
    for line in nonempty_lines(&text) {
        let mut fields: Vec<&[u8]> = split_fields(line).skip(1).collect();
        let is_waiter = fields.first() == Some(&&b"->"[..]);
        fields.retain(|field| *field != b"->");
        let pid = fields.get(3).and_then(|pid| parse_number(pid));
        let pid = pid.and_then(|pid| u32::try_from(pid).ok());
        let is_alive = |pid: &u32| roots.proc.join(pid.to_string()).exists();
        if !is_waiter {
            lock = fields.get(4).copied();
            holder = pid.filter(is_alive);
        } else if let (Some(waiter), Some(holder), Some((device_number, inode))) = (
            pid,
            holder.or_else(|| holder_of(roots, lock?)),
            fields.get(4).and_then(|place| parse_place(place)),
        ) {
            waits.push(LockWait {
                waiter,
                holder,
                device_number,
                inode,
                slept: None,
            });
        }
    }
    let keys: Vec<(u32, u32)> = waits.iter().map(|it| (it.waiter, it.waiter)).collect();
    let slept = slept_times(roots, &keys);
    for wait in &mut waits {
        wait.slept = slept.get(&(wait.waiter, wait.waiter)).copied();
    }
    waits
}

/// The process that has a file with this lock open: the one that took it may have ended, as flock(1) does that
/// was given the descriptor of a shell.
fn holder_of(roots: &SysPaths, lock: &[u8]) -> Option<u32> {
    let holds = |info: &Path| {
        let text = read_file(info).unwrap_or_default();
        let mut locks = nonempty_lines(&text).filter(|line| line.starts_with(b"lock:"));
        locks.any(|line| split_fields(line).any(|field| field == lock))
    };
    let holders = processes(roots).filter(|(_, place)| {
        let files = fs::read_dir(place.join("fdinfo")).into_iter().flatten();
        files.flatten().any(|file| holds(&file.path()))
    });
    holders.map(|(pid, _)| pid).next()
}

/// `MAJOR:MINOR:INODE`, the numbers of the device hexadecimal.
fn parse_place(field: &[u8]) -> Option<((u32, u32), u64)> {
    let mut parts = std::str::from_utf8(field).ok()?.split(':');
    let mut number = || u32::from_str_radix(parts.next()?, 16).ok();
    let device = (number()?, number()?);
    Some((device, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiter_is_listed_below_the_holder() {
        let text = "1: FLOCK  ADVISORY  WRITE 900 fe:10:59 0 EOF\n\
                    1: -> FLOCK  ADVISORY  WRITE 901 fe:10:59 0 EOF\n\
                    2: OFDLCK ADVISORY  WRITE -1 fe:10:60 0 EOF\n\
                    2: -> POSIX  ADVISORY  WRITE 902 fe:10:60 0 EOF\n";
        let (root, roots) = SysPaths::with_files(&[("proc/locks", text)]);
        let wait = LockWait {
            waiter: 901,
            holder: 900,
            device_number: (254, 16),
            inode: 59,
            slept: None,
        };
        assert_eq!(lock_waits(&roots), [], "nobody is known to hold it");
        let info = "pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 900 fe:10:59 0 EOF\n";
        fs::create_dir_all(root.path().join("proc/905/fdinfo")).unwrap();
        fs::write(root.path().join("proc/905/fdinfo/9"), info).unwrap();
        let holder = 905;
        assert_eq!(lock_waits(&roots), [LockWait { holder, ..wait }]);
        fs::create_dir_all(root.path().join("proc/900")).unwrap();
        assert_eq!(lock_waits(&roots), [wait]);
    }
}
