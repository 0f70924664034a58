//! Open files on request: all of one process, deleted files of the whole system that still occupy space,
//! and opening what another process has open.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::stat::{DescriptorInfo, parse_descriptor_info};
use crate::drive::guard;
use crate::drive::guard::Subject;
use crate::drive::medium::FileId;
use crate::drive::mounts::split_device_number;
use crate::probe::text::{list_numbers_at, nonempty_lines, read_file, split_fields};
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

impl DeletedFile {
    /// Whether it is written as a log is: no process that has it open for writing also has it open for
    /// reading.
    #[must_use]
    pub fn is_log(&self) -> bool {
        let is_writer = |it: &&DeletedFileHolder| it.access == Some(ContentAccess::Log);
        let mut writers = self.holders.iter().filter(is_writer);
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
    for descriptor in list_numbers_at(&process.join("fd"))? {
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
    for pid in list_numbers_at(&roots.proc).unwrap_or_default() {
        collect_deleted(&roots.proc.join(pid.to_string()), pid, &mut found);
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
    for descriptor in list_numbers_at(&process.join("fd")).unwrap_or_default() {
        let link = process.join("fd").join(descriptor.to_string());
        let metadata = || fs::metadata(&link).ok();
        let Some((path, metadata)) = deleted_path(&link).and_then(|it| Some((it, metadata()?)))
        else {
            continue;
        };
        if !metadata.is_file() || metadata.nlink() > 0 {
            continue;
        }
        let name = read_file(&process.join("comm")).unwrap_or_default();
        let info = read_descriptor_info(process, descriptor);
        let new = || DeletedFile {
            path,
            device_number: split_device_number(metadata.dev()),
            device_id: metadata.dev(),
            inode: metadata.ino(),
            held_bytes: metadata.blocks().saturating_mul(512),
            size: metadata.len(),
            holders: Vec::new(),
            is_medium: None,
        };
        let file = found
            .entry((metadata.dev(), metadata.ino()))
            .or_insert_with(new);
        file.holders.push(DeletedFileHolder {
            pid,
            name: name.trim_ascii().to_vec(),
            descriptor,
            access: info.map(|info| ContentAccess::of_flags(info.flags)),
        });
    }
}

/// The last path of a link's target, if it is deleted and was in a file system.
fn deleted_path(link: &Path) -> Option<Vec<u8>> {
    let target = fs::read_link(link)
        .ok()?
        .into_os_string()
        .into_encoded_bytes();
    let path = target.strip_suffix(DELETED_SUFFIX)?;
    let memory = [&b"/memfd:"[..], b"/SYSV", b"/dev/zero", b"/[aio]"];
    let is_file = path.starts_with(b"/") && !memory.iter().any(|start| path.starts_with(start));
    is_file.then(|| path.to_vec())
}

fn read_descriptor_info(process: &Path, descriptor: u32) -> Option<DescriptorInfo> {
    let info = process.join("fdinfo").join(descriptor.to_string());
    parse_descriptor_info(&read_file(&info)?)
}

/// Opens for reading what a process has open: neither a lease nor a FIFO delays the caller (open(2),
/// `O_NONBLOCK`), and a write lease of the process is not broken. Only the process itself can have one, because a
/// file with a write lease is open nowhere else.
///
/// # Errors
/// The kernel's error; `EAGAIN` where the process, or somebody else, has a write lease.
pub fn open_foreign_descriptor(descriptor: &Path, flags: OFlags) -> rustix::io::Result<File> {
    if has_write_lease(descriptor) {
        return Err(Errno::AGAIN);
    }
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    openat(CWD, descriptor, flags, Mode::empty()).map(File::from)
}

/// Whether a process has a lease (fcntl(2), `F_SETLEASE`) by this descriptor that another one breaks by opening the
/// file: its `/proc/PID/fdinfo` lists it (proc_pid_fdinfo(5), kernel 4.1).
pub fn has_write_lease(descriptor: &Path) -> bool {
    let information = || {
        let (directory, number) = (descriptor.parent()?, descriptor.file_name()?);
        let is_descriptor = directory.file_name() == Some(OsStr::new("fd"));
        let path = directory.with_file_name("fdinfo").join(number);
        fs::read(path).ok().filter(|_| is_descriptor)
    };
    let is_write_lease = |line: &[u8]| {
        let mut words = split_fields(line);
        words.next() == Some(b"lock:")
            && words.any(|word| word == b"LEASE")
            && words.any(|word| word == b"WRITE")
    };
    information().is_some_and(|text| nonempty_lines(&text).any(is_write_lease))
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

    #[test]
    fn opening_of_a_fifo_without_a_writer_does_not_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, &path, kind, Mode::RUSR, 0).unwrap();
        assert!(open_foreign_descriptor(&path, OFlags::empty()).is_ok());
    }

    #[test]
    fn file_with_a_write_lease_is_not_opened() {
        let process = tempfile::tempdir().unwrap();
        for directory in ["fd", "fdinfo"] {
            fs::create_dir(process.path().join(directory)).unwrap();
        }
        let file = process.path().join("file");
        fs::write(&file, "x").unwrap();
        let descriptor = process.path().join("fd/3");
        std::os::unix::fs::symlink(&file, &descriptor).unwrap();
        let error_with = |lock: &str| {
            let text = format!("pos:\t0\nflags:\t0100002\nmnt_id:\t29\nino:\t7\n{lock}");
            fs::write(process.path().join("fdinfo/3"), text).unwrap();
            open_foreign_descriptor(&descriptor, OFlags::empty()).err()
        };
        assert_eq!(error_with(""), None);
        for lock in [
            "lock:\t1: LEASE  ACTIVE    READ 709 fe:00:7 0 EOF\n",
            "lock:\t1: POSIX  ADVISORY  WRITE 709 fe:00:7 0 EOF\n",
        ] {
            assert_eq!(error_with(lock), None, "{lock}");
        }
        let lease = "lock:\t1: LEASE  ACTIVE    WRITE 709 fe:00:7 0 EOF\n";
        assert_eq!(error_with(lease), Some(Errno::AGAIN));
    }
}
