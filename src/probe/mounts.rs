//! `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::sample::Mount;
use super::text::{fields, lines, number, pread_all};
use crate::roots::Roots;

/// Reads the list of mounts when the kernel says that it has changed, and not otherwise: a host
/// of containers has thousands of them.
#[derive(Debug, Default)]
pub struct MountReader {
    file: Option<File>,
    mounts: Arc<[Mount]>,
}

impl MountReader {
    /// The mounts, and whether they were read anew.
    pub fn read(&mut self, roots: &Roots) -> (Arc<[Mount]>, bool) {
        let first = self.file.is_none();
        if first {
            self.file = File::open(roots.proc.join("self/mountinfo")).ok();
        }
        let Some(file) = &self.file else {
            return (Arc::clone(&self.mounts), false);
        };
        let stale = first || has_changed(file);
        if stale {
            let mut buffer = Vec::new();
            if pread_all(file.as_fd(), &mut buffer).is_ok() {
                self.mounts = parse(&buffer).into();
            }
        }
        (Arc::clone(&self.mounts), stale)
    }
}

/// The kernel marks the file with POLLERR and POLLPRI when a mount came or went since the last
/// poll.
fn has_changed(file: &File) -> bool {
    let mut watched = [PollFd::new(file, PollFlags::PRI)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut watched, Some(&at_once)).is_ok()
        && watched[0]
            .revents()
            .intersects(PollFlags::PRI | PollFlags::ERR)
}

/// Every mount, in the kernel's order.
#[must_use]
pub fn parse(text: &[u8]) -> Vec<Mount> {
    lines(text).filter_map(line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`: after the sixth field come
/// any number of optional ones up to a dash.
fn line(line: &[u8]) -> Option<Mount> {
    let mut words = fields(line);
    let device = words.nth(2)?;
    let colon = device.iter().position(|byte| *byte == b':')?;
    let root = words.next()?;
    let at = words.next()?;
    let mut after = words.skip_while(|word| *word != b"-").skip(1);
    Some(Mount {
        number: (
            u32::try_from(number(&device[..colon])?).ok()?,
            u32::try_from(number(&device[colon + 1..])?).ok()?,
        ),
        root: unescape(root),
        at: unescape(at),
        file_system: String::from_utf8_lossy(after.next()?).into_owned(),
        source: unescape(after.next().unwrap_or_default()),
    })
}

/// The kernel writes space, tab, newline and backslash as three octal digits after a backslash.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                plain.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            _ => {
                plain.push(first);
                rest = tail;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_and_escapes() {
        let text = b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw\n\
                     22 27 0:21 / /proc rw,relatime - proc proc rw\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].number, (98, 0));
        assert_eq!(mounts[0].at, b"/mnt 2");
        assert_eq!(mounts[0].file_system, "ext3");
        assert_eq!(mounts[0].source, b"/dev/root");
        assert_eq!(mounts[1].file_system, "proc");
    }

    #[test]
    fn a_backslash_that_is_no_escape_stays() {
        assert_eq!(unescape(b"a\\9\\134b\\"), b"a\\9\\b\\");
    }
}
