//! Mounted file systems and swap areas, from /proc (kernel Documentation/filesystems/proc.rst;
//! proc_pid_mountinfo(5)).

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::drive::io_error::is_gone;
use crate::roots::SysPaths;

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// Mount ID, as `statx` reports it (STATX_MNT_ID).
    pub id: u64,
    /// `st_dev` of its files; the number of a block device only if the file system has just one.
    pub device_id: (u32, u32),
    /// Root of the mount within the file system: `/` except for bind mounts.
    pub root: String,
    /// Mount point.
    pub mount_point: String,
    /// File system type.
    pub file_system: String,
    /// Mount source, usually the path of a block device.
    pub source: String,
    /// Number of the block device that `source` names, if it names one.
    pub source_number: Option<(u32, u32)>,
    /// Mount options, then the options of the file system, each once.
    pub options: Vec<String>,
}

impl MountEntry {
    /// Whether this file system is on the block device of that number.
    #[must_use]
    pub fn is_on(&self, number: (u32, u32)) -> bool {
        self.device_id == number || self.source_number == Some(number)
    }

    /// The block device that holds the file system, if there is one.
    #[must_use]
    pub fn block_device(&self, roots: &SysPaths) -> Option<(u32, u32)> {
        let (major, minor) = self.device_id;
        let own = roots.sys.join(format!("dev/block/{major}:{minor}"));
        let known = self.source_number.is_none() && own.exists();
        self.source_number.or(known.then_some(self.device_id))
    }
}

/// One swap area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapEntry {
    /// Device or file.
    pub path: PathBuf,
    /// Number of the block device, if it is one.
    pub number: Option<(u32, u32)>,
}

/// All mounts, in the order of mounting.
///
/// # Errors
/// When `/proc/self/mountinfo` cannot be read.
pub fn mounts(roots: &SysPaths) -> io::Result<Vec<MountEntry>> {
    let text = fs::read(roots.proc.join("self/mountinfo"))?;
    Ok(String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| parse_mount(roots, line))
        .collect())
}

/// One process of each mount namespace, and of each root directory in it, other than those of this
/// process: a mount table shows only what is below the root of its process. Processes that may not
/// be examined are omitted.
///
/// # Errors
/// When the processes, or the namespace of a process that may be examined, cannot be read.
pub fn other_mount_namespaces(roots: &SysPaths) -> io::Result<Vec<u32>> {
    let of = |process: &str| {
        let directory = roots.proc.join(process);
        let namespace = match fs::read_link(directory.join("ns/mnt")) {
            Err(error) if has_no_namespace(&error) => return Ok(None),
            namespace => namespace?,
        };
        let root = fs::metadata(directory.join("root")).ok();
        Ok::<_, io::Error>(Some((namespace, root.map(|root| (root.dev(), root.ino())))))
    };
    let mut seen = HashSet::from([of("self")?]);
    let mut processes = Vec::new();
    for entry in fs::read_dir(&roots.proc)? {
        let entry = entry?;
        let Some(process) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let view = of(&format!("{process}"))?;
        if view.is_some() && seen.insert(view) {
            processes.push(process);
        }
    }
    Ok(processes)
}

/// Whether the mount namespace of a process cannot be read because the process has exited or belongs
/// to another user.
fn has_no_namespace(error: &io::Error) -> bool {
    is_gone(error) || error.kind() == io::ErrorKind::PermissionDenied
}

/// All swap areas; none on a kernel without swap.
///
/// # Errors
/// When `/proc/swaps` exists and cannot be read.
pub fn swaps(roots: &SysPaths) -> io::Result<Vec<SwapEntry>> {
    let text = match fs::read(roots.proc.join("swaps")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(String::from_utf8_lossy(&text)
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(|path| {
            let path = unescape_mountinfo(path);
            SwapEntry {
                number: device_number(roots, &path),
                path: PathBuf::from(path),
            }
        })
        .collect())
}

/// `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE OPTIONS`
pub(super) fn parse_mount(roots: &SysPaths, line: &str) -> Option<MountEntry> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ');
    let id = front.next()?.parse().ok()?;
    let number = parse_device_number(front.nth(1)?)?;
    let root = unescape_mountinfo(front.next()?);
    let at = unescape_mountinfo(front.next()?);
    let own_options = front.next()?;
    let mut back = back.split(' ');
    let file_system = back.next()?.to_owned();
    let source = unescape_mountinfo(back.next()?);
    let mut options: Vec<String> = Vec::new();
    for option in own_options
        .split(',')
        .chain(back.next().unwrap_or_default().split(','))
    {
        if !option.is_empty() && options.iter().all(|known| known != option) {
            options.push(option.to_owned());
        }
    }
    Some(MountEntry {
        id,
        device_id: number,
        root,
        mount_point: at,
        file_system,
        source_number: device_number(roots, &source),
        source,
        options,
    })
}

/// Parses `MAJOR:MINOR`.
#[must_use]
pub fn parse_device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Number of the block device that a path below `/dev` names.
fn device_number(roots: &SysPaths, path: &str) -> Option<(u32, u32)> {
    let below = Path::new(path).strip_prefix("/dev").ok()?;
    let metadata = fs::metadata(roots.dev.join(below)).ok()?;
    metadata
        .file_type()
        .is_block_device()
        .then(|| split_device_number(metadata.rdev()))
}

/// Major and minor number of a device number as `stat` reports it.
#[must_use]
pub fn split_device_number(number: u64) -> (u32, u32) {
    (rustix::fs::major(number), rustix::fs::minor(number))
}

/// The kernel escapes space, tab, newline and backslash as `\` and three octal digits.
fn unescape_mountinfo(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            .filter(|_| first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(octal.unwrap_or(first));
        rest = &tail[if octal.is_some() { 3 } else { 0 }..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_line_is_parsed() {
        let roots = SysPaths::under_root(Path::new("/nonexistent"));
        let line = r"36 35 8:1 / /mnt/my\040disk rw,noatime master:1 - ext4 /dev/sda1 rw";
        let mount = parse_mount(&roots, line).unwrap();
        assert_eq!(mount.mount_point, "/mnt/my disk");
        assert_eq!(mount.file_system, "ext4");
        assert!(mount.is_on((8, 1)) && !mount.is_on((8, 2)));
        assert_eq!(parse_mount(&roots, "nonsense"), None);
    }

    #[test]
    fn mountinfo_unescape_requires_three_octal_digits() {
        assert_eq!(unescape_mountinfo(r"a\134b\04"), r"a\b\04");
        assert_eq!(unescape_mountinfo(r"\011"), "\t");
    }
}
