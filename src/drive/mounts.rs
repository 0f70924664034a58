//! Mounted file systems and swap areas, from /proc (kernel Documentation/filesystems/proc.rst;
//! proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::drive::foreign_tree::{FileStatus, ForeignTree};
use crate::drive::mountinfo::{MountinfoLine, mountinfo_lines, unescape};
use crate::roots::SysPaths;

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// Mount ID, as `mnt_id` in proc_pid_fdinfo(5).
    pub id: u64,
    /// ID of the mount that it is mounted on.
    pub parent: u64,
    /// `st_dev` of its files; the number of a block device only if the file system has just one.
    pub device_id: (u32, u32),
    /// Root of the mount within the file system: `/` except for bind mounts.
    pub root: String,
    /// Mount point, as text.
    pub mount_point: String,
    /// Mount point, byte for byte: a path that is not UTF-8 is another one than its text.
    pub path: PathBuf,
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
    mounts_of(roots, &roots.proc.join("self/mountinfo"))
}

/// The mounts in a table of any process.
///
/// # Errors
/// When it cannot be read.
pub fn mounts_of(roots: &SysPaths, table: &Path) -> io::Result<Vec<MountEntry>> {
    let table = fs::read(table)?;
    Ok(mountinfo_lines(&table)
        .filter_map(|line| mount_entry(roots, &line))
        .collect())
}

/// The mount through which a file was opened (`mnt_id` in proc_pid_fdinfo(5)).
#[must_use]
pub fn mount_of_file(roots: &SysPaths, file: &File) -> Option<MountEntry> {
    let info = roots.proc.join(format!("self/fdinfo/{}", file.as_raw_fd()));
    let info = fs::read_to_string(info).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    let id: u64 = id.trim().parse().ok()?;
    mounts(roots).ok()?.into_iter().find(|mount| mount.id == id)
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
    let path_field = |line: &'_ [u8]| {
        let end = line.iter().position(u8::is_ascii_whitespace);
        line[..end.unwrap_or(line.len())].to_vec()
    };
    Ok(text
        .split(|byte| *byte == b'\n')
        .skip(1)
        .map(path_field)
        .filter(|field| !field.is_empty())
        .map(|field| SwapEntry {
            number: device_number(roots, &plain_path(&field)),
            path: plain_path(&field),
        })
        .collect())
}

fn mount_entry(roots: &SysPaths, line: &MountinfoLine<'_>) -> Option<MountEntry> {
    let number = |field| std::str::from_utf8(field).ok();
    let source = plain_text(line.source);
    let mut options: Vec<String> = Vec::new();
    let all = [line.options, line.super_options];
    for option in all.iter().flat_map(|all| all.split(|byte| *byte == b',')) {
        let option = plain_text(option);
        if !option.is_empty() && options.iter().all(|known| *known != option) {
            options.push(option);
        }
    }
    Some(MountEntry {
        id: number(line.id)?.parse().ok()?,
        parent: number(line.parent)?.parse().ok()?,
        device_id: parse_device_number(number(line.device_number)?)?,
        root: plain_text(line.root),
        mount_point: plain_text(line.mount_point),
        path: plain_path(line.mount_point),
        file_system: String::from_utf8_lossy(line.file_system).into_owned(),
        source_number: device_number(roots, Path::new(&source)),
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

/// Number of the block device that a path below `/dev` names. Any user can mount something with any path as its
/// source, or start a program with any argument: nothing is looked up outside the file system of `/dev`.
#[must_use]
pub fn device_number(roots: &SysPaths, path: &Path) -> Option<(u32, u32)> {
    let nodes = Path::new("/dev");
    path.strip_prefix(nodes).ok()?;
    let tree = ForeignTree::with_root(roots.dev.parent()?, &roots.proc.join("thread-self"));
    let device = FileStatus::of_path(&roots.dev).ok()?.device();
    let found = tree.find_if(path, |path, directory| {
        path == nodes || path.starts_with(nodes) && directory.status().device() == device
    });
    found.ok()?.status().block_device()
}

/// Major and minor number of a device number as `stat` reports it.
#[must_use]
pub fn split_device_number(number: u64) -> (u32, u32) {
    (rustix::fs::major(number), rustix::fs::minor(number))
}

/// The path in a field of a mount table, byte for byte.
fn plain_path(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

/// The plain text of a field of a mount table.
fn plain_text(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(field)).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::requirement::{Requirement, skip};

    fn parse_mount(roots: &SysPaths, line: &[u8]) -> Option<MountEntry> {
        mount_entry(roots, &MountinfoLine::parse(line)?)
    }

    #[test]
    fn device_is_looked_up_in_the_file_system_of_dev_only() {
        let (root, roots) = SysPaths::with_files(&[("dev/disk/file", "")]);
        let place = |name: &str| root.path().join(name);
        for name in ["dev/node", "outside"] {
            let number = rustix::fs::makedev(7, 99);
            let (kind, mode) = (rustix::fs::FileType::BlockDevice, rustix::fs::Mode::RUSR);
            let made = rustix::fs::mknodat(rustix::fs::CWD, place(name), kind, mode, number);
            if let Err(error) = made {
                return skip(Requirement::Root, error);
            }
        }
        std::os::unix::fs::symlink("../node", place("dev/disk/name")).unwrap();
        std::os::unix::fs::symlink("/outside", place("dev/disk/foreign")).unwrap();
        #[rustfmt::skip]
        let cases = [
            ("/dev/node", true), ("/dev/disk/name", true), ("/dev", false), ("/dev/disk/file", false),
            ("/outside", false), ("/dev/../outside", false), ("/dev/disk/foreign", false),
        ];
        for (path, is_found) in cases {
            let number = device_number(&roots, Path::new(path));
            assert_eq!(number, is_found.then_some((7, 99)), "{path}");
        }
    }

    #[test]
    fn tables_are_parsed_and_keep_the_bytes_of_paths() {
        let line = br"36 35 8:1 / /mnt/my\040disk rw,noatime master:1 - ext4 /dev/sda1 rw,lowerdir=/a\134:b,upperdir=/my\040\054\075disk";
        let swaps_table = b"Filename\tType\n/srv/\xfe\\040b  file\t9\t0\t-2\n";
        let (_root, roots) = SysPaths::with_files(&[("proc/x", "")]);
        let mount = parse_mount(&roots, line).unwrap();
        assert_eq!(
            (&*mount.mount_point, &*mount.file_system),
            ("/mnt/my disk", "ext4")
        );
        assert_eq!(
            mount.options,
            ["rw", "noatime", r"lowerdir=/a\:b", "upperdir=/my ,=disk"]
        );
        assert!(mount.is_on((8, 1)) && !mount.is_on((8, 2)));
        let mount = parse_mount(
            &roots,
            b"36 35 8:1 / /mnt/\xff\\040a rw - ext4 /dev/sda1 rw",
        )
        .unwrap();
        assert_eq!(mount.path.as_os_str().as_bytes(), b"/mnt/\xff a");
        assert_eq!(parse_mount(&roots, b"nonsense"), None);
        std::fs::write(roots.proc.join("swaps"), swaps_table).unwrap();
        let areas = swaps(&roots).unwrap();
        assert_eq!(areas.len(), 1);
        assert_eq!(areas[0].path.as_os_str().as_bytes(), b"/srv/\xfe b");
    }
}
