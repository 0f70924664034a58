//! Open files on request: all of one process, and deleted files of the whole system that still
//! occupy space.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::stat::{DescriptorInfo, parse_descriptor_info};
use crate::drive::guard;
use crate::drive::guard::Subject;
use crate::drive::medium::FileId;
use crate::drive::mounts::split_device_number;
use crate::probe::text::{parse_number, read_file};
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;

/// Suffix that the kernel appends to the link of a deleted file.
const DELETED_SUFFIX: &[u8] = b" (deleted)";
/// Deleted files of which it is examined what the kernel uses them for, the largest ones.
const MAX_EXAMINED: usize = 64;

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
    /// Processes that have it open.
    pub holders: Vec<DeletedFileHolder>,
    /// Whether the kernel uses it as a medium: for a loop device, as swap, for an export. `None` where that
    /// was not examined or cannot be determined.
    pub is_medium: Option<bool>,
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
    /// Access to the content; `None` if unknown.
    pub access: Option<ContentAccess>,
}

/// What a descriptor permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentAccess {
    /// Neither: it refers to a path only (`O_PATH`).
    None,
    /// Reading.
    Read,
    /// Writing only, as to a log.
    Log,
    /// Writing what is needed: by reading and writing, as in a database or the image of a virtual machine,
    /// or in a file that was created without a name and may get one (`O_TMPFILE`).
    Update,
}

impl ContentAccess {
    /// Of flags of open(2), as fdinfo reports them.
    #[must_use]
    pub fn of_flags(flags: u32) -> Self {
        let flags = OFlags::from_bits_retain(flags);
        match flags & OFlags::RWMODE {
            _ if flags.contains(OFlags::PATH) => Self::None,
            OFlags::RDONLY => Self::Read,
            OFlags::WRONLY if !flags.contains(OFlags::TMPFILE) => Self::Log,
            _ => Self::Update,
        }
    }
}

impl DeletedFileHolder {
    fn is_log_writer(&self) -> bool {
        self.access == Some(ContentAccess::Log)
    }
}

impl DeletedFile {
    /// Whether it is written as a log is: no process that has it open for writing also has it open for
    /// reading.
    #[must_use]
    pub fn is_log(&self) -> bool {
        let mut writers = self.holders.iter().filter(|holder| holder.is_log_writer());
        let is_harmless = |holder: &DeletedFileHolder| match holder.access {
            None | Some(ContentAccess::Update) => false,
            Some(ContentAccess::Read) => !writers.clone().any(|writer| writer.pid == holder.pid),
            Some(ContentAccess::None | ContentAccess::Log) => true,
        };
        self.holders.iter().all(is_harmless) && writers.next().is_some()
    }
}

/// All open files of a process, by descriptor.
///
/// # Errors
///
/// When the process has ended, or its descriptors are readable only by its owner and root.
pub fn files_of_process(roots: &SysPaths, pid: u32) -> io::Result<Vec<OpenDescriptor>> {
    let process = roots.proc.join(pid.to_string());
    let mut found = Vec::new();
    for descriptor in list_descriptors(&process)? {
        let link = process.join("fd").join(descriptor.to_string());
        let Ok(target) = fs::read_link(&link) else {
            continue;
        };
        let path = target.into_os_string().into_encoded_bytes();
        let info = read_descriptor_info(&process, descriptor);
        let metadata = fs::metadata(&link).ok().filter(fs::Metadata::is_file);
        found.push(OpenDescriptor {
            descriptor,
            position: info.map(|info| info.position),
            flags: info.map(|info| info.flags),
            is_deleted: metadata.as_ref().is_some_and(|file| file.nlink() == 0),
            size: metadata.map(|file| file.len()),
            path,
        });
    }
    Ok(found)
}

/// The deleted regular files of the whole system that are open, the largest first. Anonymous memory
/// (memfd, shared memory of System V) is not included.
#[must_use]
pub fn deleted_files(roots: &SysPaths) -> Vec<DeletedFile> {
    let mut found: BTreeMap<(u64, u64), DeletedFile> = BTreeMap::new();
    let processes = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    for process in processes {
        let name = process.file_name();
        if let Some(pid) = parse_number(name.as_encoded_bytes())
            && let Ok(pid) = u32::try_from(pid)
        {
            collect_deleted(&process.path(), pid, &mut found);
        }
    }
    let mut found: Vec<DeletedFile> = found.into_values().collect();
    found.sort_list_by_key(|file| std::cmp::Reverse(file.held_bytes));
    let logs = found.iter_mut().filter(|file| file.is_log());
    for file in logs.take(MAX_EXAMINED) {
        file.is_medium = is_medium(roots, file);
    }
    found
}

/// Whether a loop device or an export has a file as its medium; `None` if that cannot be determined.
fn is_medium(roots: &SysPaths, file: &DeletedFile) -> Option<bool> {
    let id = FileId::Inode(file.device_id, file.inode);
    let uses = guard::find_kernel_users(roots, Subject::File(id, ""));
    let is_used = !uses.users.is_empty();
    (is_used || uses.unknown.is_empty()).then_some(is_used)
}

fn collect_deleted(process: &Path, pid: u32, found: &mut BTreeMap<(u64, u64), DeletedFile>) {
    for descriptor in list_descriptors(process).unwrap_or_default() {
        let link = process.join("fd").join(descriptor.to_string());
        let Some(path) = deleted_path(&link) else {
            continue;
        };
        let Ok(metadata) = fs::metadata(&link) else {
            continue;
        };
        if !metadata.is_file() || metadata.nlink() > 0 {
            continue;
        }
        let name = read_file(&process.join("comm")).unwrap_or_default();
        let info = read_descriptor_info(process, descriptor);
        let holder = DeletedFileHolder {
            pid,
            name: name.trim_ascii().to_vec(),
            descriptor,
            access: info.map(|info| ContentAccess::of_flags(info.flags)),
        };
        found
            .entry((metadata.dev(), metadata.ino()))
            .or_insert_with(|| DeletedFile {
                path,
                device_number: split_device_number(metadata.dev()),
                device_id: metadata.dev(),
                inode: metadata.ino(),
                held_bytes: metadata.blocks().saturating_mul(512),
                size: metadata.len(),
                holders: Vec::new(),
                is_medium: None,
            })
            .holders
            .push(holder);
    }
}

/// The last path of a link's target, if it is deleted and was in a file system.
fn deleted_path(link: &Path) -> Option<Vec<u8>> {
    let target: PathBuf = fs::read_link(link).ok()?;
    let target = target.into_os_string().into_encoded_bytes();
    let path = target.strip_suffix(DELETED_SUFFIX)?;
    let memory = [&b"/memfd:"[..], b"/SYSV", b"/dev/zero", b"/[aio]"];
    let file = path.starts_with(b"/") && !memory.iter().any(|start| path.starts_with(start));
    file.then(|| path.to_vec())
}

fn list_descriptors(process: &Path) -> io::Result<Vec<u32>> {
    let mut numbers: Vec<u32> = fs::read_dir(process.join("fd"))?
        .flatten()
        .filter_map(|entry| u32::try_from(parse_number(entry.file_name().as_encoded_bytes())?).ok())
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn read_descriptor_info(process: &Path, descriptor: u32) -> Option<DescriptorInfo> {
    parse_descriptor_info(&read_file(
        &process.join("fdinfo").join(descriptor.to_string()),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn deleted_open_file_is_found_with_its_held_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone\nforever");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let wanted = path.as_os_str().as_encoded_bytes();
        let find = || {
            let found = deleted_files(&SysPaths::default());
            found.into_iter().find(|file| file.path == wanted)
        };
        assert_eq!(find(), None, "it has a name still");
        fs::remove_file(&path).unwrap();
        let found = find().unwrap();
        assert_eq!(found.size, 1 << 20);
        assert!(found.held_bytes >= 1 << 20);
        let own = std::process::id();
        assert!(found.holders.iter().any(|holder| holder.pid == own));

        let files = files_of_process(&SysPaths::default(), own).unwrap();
        let opened = files
            .iter()
            .find(|file| file.path.starts_with(wanted))
            .unwrap();
        assert!(opened.is_deleted);
        assert_eq!(
            (opened.position, opened.size),
            (Some(1 << 20), Some(1 << 20))
        );
        drop(file);
        assert_eq!(find(), None);
    }

    #[test]
    fn file_that_no_writer_can_read_is_a_log() {
        let is_log = |holders: &[(u32, Option<u32>)]| {
            let holder = |(pid, flags): &(u32, Option<u32>)| DeletedFileHolder {
                pid: *pid,
                name: b"a".to_vec(),
                descriptor: 3,
                access: flags.map(ContentAccess::of_flags),
            };
            let file = DeletedFile {
                path: b"/a".to_vec(),
                device_number: (8, 1),
                device_id: 2049,
                inode: 131,
                held_bytes: 0,
                size: 0,
                holders: holders.iter().map(holder).collect(),
                is_medium: None,
            };
            file.is_log()
        };
        // As fdinfo has them, O_LARGEFILE included.
        let (read, write, update) = (Some(0o100_000), Some(0o100_001), Some(0o100_002));
        let (append, read_append, path) = (Some(0o102_001), Some(0o102_002), Some(0o10_000_000));
        let (unnamed, ioctls_only) = (Some(0o22_300_001), Some(0o100_003));
        assert!(is_log(&[(7, write)]) && is_log(&[(7, append)]));
        assert!(is_log(&[(7, append), (8, write), (9, read), (7, path)]));
        for holders in [
            &[(7, read)][..],
            &[(7, update)],
            &[(7, read_append)],
            &[(7, unnamed)],
            &[(7, ioctls_only)],
            &[(7, append), (8, update)],
            &[(7, append), (8, None)],
            &[(7, write), (8, read), (7, read)],
            &[(7, path)],
            &[],
        ] {
            assert!(!is_log(holders), "{holders:?}");
        }
    }

    #[test]
    fn open_files_of_ended_process_is_an_error() {
        assert!(files_of_process(&SysPaths::default(), u32::MAX).is_err());
    }
}
