//! Open files on request: all of one process, and deleted files of the whole system that still occupy
//! space.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::stat::{DescriptorInfo, parse_descriptor_info};
use crate::drive::mounts::split_device_number;
use crate::probe::text::{list_numbers_at, read_file};
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;

/// Suffix that the kernel appends to the link of a deleted file.
const DELETED_SUFFIX: &[u8] = b" (deleted)";

/// An open file of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDescriptor {
    /// File descriptor number.
    pub descriptor: u32,
    /// Path as the kernel reports it, or a text such as `pipe:[4711]`.
    pub path: Vec<u8>,
    /// Offset of the next read or write.
    pub position: Option<u64>,
    /// Flags of open(2).
    pub flags: Option<u32>,
    /// Length in bytes of a regular file.
    pub size: Option<u64>,
    /// Whether it is deleted.
    pub is_deleted: bool,
}

/// A deleted file that is still open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedFile {
    /// Its last path.
    pub path: Vec<u8>,
    /// Device number of the file system, as `stat` reports it.
    pub device_number: (u32, u32),
    /// The same as one number, as stat(1) prints it.
    pub device_id: u64,
    /// Number of the inode.
    pub inode: u64,
    /// Allocated bytes that are freed when it is closed.
    pub held_bytes: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Descriptors by which it is open.
    pub holders: Vec<DeletedFileHolder>,
}

/// A process that has a deleted file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedFileHolder {
    /// Process id.
    pub pid: u32,
    /// Name of the program.
    pub name: Vec<u8>,
    /// File descriptor number.
    pub descriptor: u32,
    /// Flags of open(2); `None` if unknown.
    pub flags: Option<u32>,
}

/// All open files of a process, by descriptor.
///
/// # Errors
///
/// When the process has ended, or its descriptors are readable only by its owner and root.
pub fn files_of_process(roots: &SysPaths, pid: u32) -> io::Result<Vec<OpenDescriptor>> {
    let process = roots.proc.join(pid.to_string());
    let mut found = Vec::new();
    for descriptor in list_numbers_at(&process.join("fd"))? {
        let link = process.join("fd").join(descriptor.to_string());
        let Ok(target) = fs::read_link(&link) else {
            continue;
        };
        let info = read_descriptor_info(&process, descriptor);
        let metadata = fs::metadata(&link).ok().filter(fs::Metadata::is_file);
        found.push(OpenDescriptor {
            descriptor,
            path: target.into_os_string().into_encoded_bytes(),
            position: info.map(|info| info.position),
            flags: info.map(|info| info.flags),
            is_deleted: metadata.as_ref().is_some_and(|file| file.nlink() == 0),
            size: metadata.map(|file| file.len()),
        });
    }
    Ok(found)
}

/// All deleted files that processes have open, those that hold most first. Other users' processes show
/// theirs to root only.
#[must_use]
pub fn deleted_files(roots: &SysPaths) -> Vec<DeletedFile> {
    let mut found: BTreeMap<(u64, u64), DeletedFile> = BTreeMap::new();
    for pid in list_numbers_at(&roots.proc).unwrap_or_default() {
        collect_deleted(&roots.proc.join(pid.to_string()), pid, &mut found);
    }
    let mut found: Vec<DeletedFile> = found.into_values().collect();
    found.sort_list_by_key(|file| std::cmp::Reverse(file.held_bytes));
    found
}

fn collect_deleted(process: &Path, pid: u32, found: &mut BTreeMap<(u64, u64), DeletedFile>) {
    for descriptor in list_numbers_at(&process.join("fd")).unwrap_or_default() {
        let link = process.join("fd").join(descriptor.to_string());
        let Some(path) = deleted_path(&link) else {
            continue;
        };
        let is_deleted = |file: &fs::Metadata| file.is_file() && file.nlink() == 0;
        let Some(metadata) = fs::metadata(&link).ok().filter(is_deleted) else {
            continue;
        };
        let file = found
            .entry((metadata.dev(), metadata.ino()))
            .or_insert_with(|| DeletedFile {
                path,
                device_number: split_device_number(metadata.dev()),
                device_id: metadata.dev(),
                inode: metadata.ino(),
                held_bytes: metadata.blocks().saturating_mul(512),
                size: metadata.len(),
                holders: Vec::new(),
            });
        let name = read_file(&process.join("comm")).unwrap_or_default();
        file.holders.push(DeletedFileHolder {
            pid,
            name: name.trim_ascii().to_vec(),
            descriptor,
            flags: read_descriptor_info(process, descriptor).map(|info| info.flags),
        });
    }
}

/// The path of a deleted file; `None` for other files, and for shared memory.
fn deleted_path(link: &Path) -> Option<Vec<u8>> {
    let target = fs::read_link(link).ok()?;
    let target = target.into_os_string().into_encoded_bytes();
    let path = target.strip_suffix(DELETED_SUFFIX)?;
    let memory = [&b"/memfd:"[..], b"/SYSV", b"/dev/zero", b"/[aio]"];
    let is_file = path.starts_with(b"/") && !memory.iter().any(|start| path.starts_with(start));
    is_file.then(|| path.to_vec())
}

fn read_descriptor_info(process: &Path, descriptor: u32) -> Option<DescriptorInfo> {
    let info = process.join("fdinfo").join(descriptor.to_string());
    parse_descriptor_info(&read_file(&info)?)
}
