//! Locks that other processes hold: POSIX, open file description and flock(2) locks (proc_locks(5),
//! the `lock:` lines of proc_pid_fdinfo(5)).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use crate::drive::fcntl;
use crate::drive::guard::conflicts::lock_line::{LockLine, parse_lock_line};
use crate::drive::guard::conflicts::use_conflict::UseConflict;
use crate::drive::guard::conflicts::{process_numbers, same_file};
use crate::drive::medium::FileId;
use crate::drive::mounts::split_device_number;
use crate::roots::SysPaths;

/// How long to wait for a lock that may be held only briefly, as udev does while it probes a
/// device.
pub(in crate::drive::guard) const LOCK_TIMEOUT: Duration = Duration::from_millis(300);
/// Interval between attempts.
pub(in crate::drive::guard) const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Locks that others hold on an open file, or on files of which only the identity is known.
///
/// # Errors
/// When the table of locks cannot be read.
pub(super) fn find_lock_conflict(
    roots: &SysPaths,
    anchor: &File,
    files: &[(FileId, Option<Rc<File>>)],
    name: &str,
) -> io::Result<Option<UseConflict>> {
    let text = match fs::read_to_string(roots.proc.join("locks")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let listed: Vec<LockLine> = text.lines().filter_map(parse_lock_line).collect();
    let own = anchor
        .metadata()
        .ok()
        .map(|facts| (facts.dev(), facts.ino()));
    let held = has_conflicting_lock(anchor);
    let others = files.iter().filter_map(|(id, file)| match *id {
        FileId::Inode(device, inode) if Some((device, inode)) != own => {
            Some(((device, inode), file))
        }
        _ => None,
    });
    // The underlying files are queried as well: some have another device number in the table than
    // `stat` reports (btrfs).
    let below = others.clone().any(|(_, file)| {
        let open = file
            .as_ref()
            .and_then(|file| same_file::reopen_for_reading(file).ok());
        open.is_some_and(|file| has_conflicting_lock(&file))
    });
    let is_of = |line: &LockLine, (device, inode): (u64, u64)| {
        line.inode == inode && line.device == split_device_number(device)
    };
    // The kernel lists locks by the internal device number of the file system, which some do not
    // report elsewhere (btrfs). The holder is named only if it can be found.
    let found = others
        .into_iter()
        .find_map(|(file, _)| listed.iter().find(|line| is_of(line, file)))
        .or_else(|| {
            let own = own.filter(|_| held)?;
            listed.iter().find(|line| is_of(line, own))
        });
    if !held && !below && found.is_none() {
        return Ok(None);
    }
    let process = found.and_then(|line| line.process.or_else(|| lock_holder(roots, line)));
    Ok(Some(UseConflict::Locked {
        device: name.to_owned(),
        by: process.map(|process| {
            let directory = roots.proc.join(process.to_string());
            (process, process_numbers::process_command(&directory))
        }),
    }))
}

/// Whether another process holds a conflicting lock.
fn has_conflicting_lock(file: &File) -> bool {
    let began = Instant::now();
    loop {
        // On a file system without locks no one can hold one.
        let record = fcntl::conflicting_lock(file).is_ok_and(|lock| lock.is_some());
        let whole = rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
        if whole.is_ok() {
            let _ = rustix::fs::flock(file, FlockOperation::Unlock);
        }
        let busy = whole.is_err_and(|error| error == rustix::io::Errno::WOULDBLOCK);
        if !record && !busy {
            return false;
        }
        if began.elapsed() > LOCK_TIMEOUT {
            return true;
        }
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
}

/// The process that holds an open file description lock.
fn lock_holder(roots: &SysPaths, lock: &LockLine) -> Option<u32> {
    process_numbers::process_numbers(roots)
        .into_iter()
        .find(|process| {
            let directory = roots.proc.join(format!("{process}/fdinfo"));
            let infos = fs::read_dir(directory).into_iter().flatten().flatten();
            infos
                .filter_map(|info| fs::read_to_string(info.path()).ok())
                .any(|info| {
                    let mut locks = info.lines().filter(|line| line.starts_with("lock:"));
                    locks.any(|line| {
                        parse_lock_line(line).is_some_and(|line| {
                            line.inode == lock.inode && line.device == lock.device
                        })
                    })
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::guard::conflicts::lock_line::HeldLock;

    #[test]
    fn lock_line_is_parsed_with_process_and_inode() {
        let line = "12: POSIX  ADVISORY  WRITE 3568 fd:0a:2531452 0 EOF";
        let expected = LockLine {
            process: Some(3568),
            device: (0xfd, 0x0a),
            inode: 2_531_452,
            held: HeldLock::Other,
        };
        assert_eq!(parse_lock_line(line), Some(expected));
        let line = "lock:\t1: OFDLCK ADVISORY  READ -1 fd:0a:2531452 100 201";
        assert_eq!(parse_lock_line(line).unwrap().process, None);
        let line = "lock:\t1: FLOCK  ADVISORY  READ 3568 fd:0a:2531452 0 EOF";
        assert_eq!(parse_lock_line(line).unwrap().held, HeldLock::SharedFlock);
        for other in [
            "3: LEASE  ACTIVE    READ 3568 fd:0a:2531452 0 EOF",
            "3: -> FLOCK  ADVISORY  WRITE 3568 fd:0a:2531452 0 EOF",
            "nonsense",
            "",
        ] {
            assert_eq!(parse_lock_line(other), None, "{other}");
        }
    }
}
