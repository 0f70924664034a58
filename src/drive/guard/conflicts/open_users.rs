//! Processes that have something open for writing, locked or mapped (proc_pid_fd(5),
//! proc_pid_fdinfo(5), proc_pid_map_files(5)).

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use super::file_locks::parse_lock_line;
use super::passthrough::Passthrough;
use super::process_list;
use super::process_list::ProcessList;
use crate::drive::fcntl;
use crate::drive::medium::FileId;
use crate::roots::SysPaths;
use crate::safe_text::printable::printable_bytes;

/// `/dev/fuse` (kernel Documentation/admin-guide/devices.txt).
const FUSE: (u32, u32) = (10, 229);
/// How often the mappings of a process are read that changes them meanwhile.
const TRIES: usize = 5;

/// A process that has something open in a way that forbids writing.
#[derive(Debug)]
pub(super) struct OpenUser {
    /// Its number.
    pub process: u32,
    /// Its name.
    pub command: String,
    /// What it has open.
    pub id: FileId,
    /// How.
    pub kind: OpenKind,
}

/// How a process has something open, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpenKind {
    /// By a descriptor that writes.
    OpenForWriting,
    /// By a shared writable mapping.
    MappedForWriting,
    /// By a descriptor with a lock.
    Locked,
    /// By any other mapping, such as that of a program or library.
    Mapped,
    /// For reading, by a process that serves a FUSE file system, perhaps from it.
    Served,
}

/// Whether what has that identity, and can be looked at by that path, is wanted.
pub(super) type IsWanted<'a> = dyn Fn(FileId, &Path) -> bool + 'a;

/// Why not all processes could be examined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnseenProcesses {
    /// This PID namespace is not the first one.
    PidNamespace,
    /// /proc is mounted with `hidepid` or `subset`.
    HiddenProc,
    /// Processes start others all the time, and one of them was never examined.
    Changing,
    /// Descriptors or mappings of some processes may not be examined.
    PermissionDenied {
        /// How many.
        count: usize,
        /// One of them.
        process: u32,
    },
}

/// What an examination of all processes gave.
#[derive(Debug)]
pub(super) struct OpenUsers {
    /// Who has it open like that, this program excepted.
    pub users: Vec<OpenUser>,
    /// Why there may be more.
    pub unseen: Option<UnseenProcesses>,
}

/// Everybody who has open for writing, locked or mapped what `is_wanted`. Processes that are started
/// meanwhile are examined too, for they inherit descriptors, until no unknown one is listed.
pub(super) fn find_open_users(roots: &SysPaths, is_wanted: &IsWanted<'_>) -> OpenUsers {
    let mut users = Vec::new();
    let mut forbidden = Vec::new();
    let mut others = HashSet::new();
    let passthrough = Passthrough::new(roots);
    let mut list = ProcessList::new();
    let is_changing = loop {
        let new = list.new_processes(roots);
        if new.is_empty() || !users.is_empty() {
            break false;
        }
        if list.is_endless() {
            break true;
        }
        for process in new {
            let directory = roots.proc.join(process.to_string());
            let examined = examine_process(&directory, is_wanted, &passthrough, &mut others);
            if examined.permission_denied {
                forbidden.push(process);
            }
            for (kind, id) in examined.open_files {
                users.push(OpenUser {
                    process,
                    command: process_command(&directory),
                    id,
                    kind,
                });
            }
        }
    };
    let changing = is_changing.then_some(UnseenProcesses::Changing);
    let unseen = process_list::hidden(roots)
        .or(changing)
        .or_else(|| unseen_processes(forbidden, || process_list::may_examine_all(roots)));
    OpenUsers { users, unseen }
}

/// Processes that may have it open, for they could not be examined. The first process does not count
/// where this program may examine all: some virtual machines let nobody look into it. It starts the
/// others and works on no device itself.
fn unseen_processes(
    mut forbidden: Vec<u32>,
    may_examine_all: impl Fn() -> bool,
) -> Option<UnseenProcesses> {
    if forbidden.contains(&1) && may_examine_all() {
        forbidden.retain(|process| *process != 1);
    }
    Some(UnseenProcesses::PermissionDenied {
        count: forbidden.len(),
        process: *forbidden.first()?,
    })
}

/// Whether a process has open for reading what `is_wanted`; of this program's own descriptors all
/// count but that one.
pub(super) fn is_open_for_reading(
    roots: &SysPaths,
    except: &File,
    is_wanted: &IsWanted<'_>,
) -> bool {
    let except = except.as_raw_fd().to_string();
    let own = roots.proc.join("self/fd");
    let reads = |path: &Path| {
        let link = fs::symlink_metadata(path);
        link.is_ok_and(|link| link.mode() & 0o400 != 0)
            && path_identity(path).is_ok_and(|id| is_wanted(id, path))
    };
    let listed = |table: &Path| fs::read_dir(table).into_iter().flatten().flatten();
    let by_us = listed(&own)
        .filter(|entry| entry.file_name().to_str() != Some(&except))
        .any(|entry| reads(&entry.path()));
    by_us
        || process_numbers(roots).into_iter().any(|process| {
            descriptor_directories(&roots.proc.join(process.to_string()))
                .iter()
                .any(|table| listed(table).any(|entry| reads(&entry.path())))
        })
}

/// Numbers of all processes but this one.
pub(super) fn process_numbers(roots: &SysPaths) -> Vec<u32> {
    let own = std::process::id();
    fs::read_dir(&roots.proc)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|process| *process != own)
        .collect()
}

/// The name of a process.
pub(super) fn process_command(directory: &Path) -> String {
    let name = fs::read(directory.join("comm")).unwrap_or_default();
    match name.trim_ascii_end() {
        [] => "gone meanwhile".to_owned(),
        name => printable_bytes(name),
    }
}

/// What one process has open.
#[derive(Debug, Default)]
struct ExaminedProcess {
    /// One of each kind.
    open_files: BTreeMap<OpenKind, FileId>,
    permission_denied: bool,
}

/// Files that were looked at and are not wanted, as maps name them: most processes have the same
/// ones mapped.
type IgnoredFiles = HashSet<((u32, u32), u64)>;

fn examine_process(
    directory: &Path,
    is_wanted: &IsWanted<'_>,
    passthrough: &Passthrough<'_>,
    others: &mut IgnoredFiles,
) -> ExaminedProcess {
    let mut examined = ExaminedProcess::default();
    // With any other error it ended meanwhile.
    let is_forbidden = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    for table in descriptor_directories(directory) {
        if let Err(error) =
            examine_descriptors(&table, is_wanted, passthrough, &mut examined.open_files)
        {
            examined.permission_denied |= is_forbidden(error);
        }
    }
    for view in memory_map_directories(directory) {
        if let Err(error) = lasting_mappings(&view, is_wanted, others, &mut examined.open_files) {
            examined.permission_denied |= is_forbidden(error);
        }
    }
    examined
}

/// Directories with a table of the memory: the process's own; its threads' where the first has
/// ended, for it shows none any more.
fn memory_map_directories(directory: &Path) -> Vec<PathBuf> {
    if fs::read(directory.join("maps")).map_or(true, |maps| !maps.is_empty()) {
        return vec![directory.to_owned()];
    }
    let threads = fs::read_dir(directory.join("task")).into_iter().flatten();
    threads
        .filter_map(|thread| Some(thread.ok()?.path()))
        .collect()
}

/// Directories of descriptors: the process's own, and those of threads that have a table of their
/// own, as after unshare(2), or where the first thread has ended, and those of the others live on.
fn descriptor_directories(directory: &Path) -> Vec<PathBuf> {
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<i32>().ok();
    let first = number(directory);
    let mut tables = vec![directory.join("fd")];
    let threads = fs::read_dir(directory.join("task")).into_iter().flatten();
    for thread in threads.filter_map(|thread| Some(thread.ok()?.path())) {
        let thread_number = number(&thread);
        let shares = first.zip(thread_number).is_some_and(|(first, thread)| {
            first == thread || fcntl::share_descriptors(first, thread)
        });
        if !shares {
            tables.push(thread.join("fd"));
        }
    }
    tables
}

/// The descriptors of a table that write to what is wanted, hold a lock on it, or read it for a file
/// system.
fn examine_descriptors(
    table: &Path,
    is_wanted: &IsWanted<'_>,
    passthrough: &Passthrough<'_>,
    found: &mut BTreeMap<OpenKind, FileId>,
) -> io::Result<()> {
    let mut forbidden = None;
    let (mut read, mut is_server) = (None, false);
    for entry in fs::read_dir(table)? {
        let entry = entry?;
        let path = entry.path();
        // The bits of the link tell how it was opened.
        let Ok(link) = fs::symlink_metadata(&path) else {
            continue;
        };
        let (reads, writes) = (link.mode() & 0o400 != 0, link.mode() & 0o200 != 0);
        let opened = match facts(&path) {
            Ok(opened) => opened,
            Err(error) => {
                if writes && error.kind() == io::ErrorKind::PermissionDenied {
                    forbidden = Some(error);
                }
                continue;
            }
        };
        is_server |= opened.character_device == Some(FUSE);
        let disk = opened
            .character_device
            .and_then(|number| passthrough.disk(number));
        let id = disk.unwrap_or(opened.id);
        if !is_wanted(id, &path) {
            continue;
        }
        if writes {
            found.entry(OpenKind::OpenForWriting).or_insert(id);
        } else if reads {
            read = Some(id);
        }
        let info = table.with_file_name("fdinfo").join(entry.file_name());
        if descriptor_has_lock(&info) {
            found.entry(OpenKind::Locked).or_insert(id);
        }
    }
    if let Some(id) = read.filter(|_| is_server) {
        found.entry(OpenKind::Served).or_insert(id);
    }
    forbidden.map_or(Ok(()), Err)
}

/// Whether a lock was taken by that descriptor, whatever number the file has in the table of locks.
fn descriptor_has_lock(info: &Path) -> bool {
    let info = fs::read_to_string(info).unwrap_or_default();
    let mut locks = info.lines().filter(|line| line.starts_with("lock:"));
    locks.any(|line| parse_lock_line(line).is_some())
}

/// The mappings of what is wanted, read again as long as they change meanwhile. A process that never
/// stops changing them counts as one that may not be examined.
fn lasting_mappings(
    view: &Path,
    is_wanted: &IsWanted<'_>,
    others: &mut IgnoredFiles,
    found: &mut BTreeMap<OpenKind, FileId>,
) -> io::Result<()> {
    for _ in 0..TRIES {
        if examine_mappings(view, is_wanted, others, found)? == Proof::Complete {
            return Ok(());
        }
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// Whether it is known of every mapping which file it is of.
#[derive(Debug, PartialEq, Eq)]
enum Proof {
    Complete,
    /// Some were taken away or divided meanwhile.
    Changed,
}

/// The mappings of what is wanted. `view` is the directory of a process or thread. Fails when links
/// may not be followed and neither a path nor numbers prove that another file is mapped.
fn examine_mappings(
    view: &Path,
    is_wanted: &IsWanted<'_>,
    others: &mut IgnoredFiles,
    found: &mut BTreeMap<OpenKind, FileId>,
) -> io::Result<Proof> {
    let maps = fs::read(view.join("maps"))?;
    let (mut forbidden, mut proof) = (None, Proof::Complete);
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(mapping) = parse_mapping(line) else {
            continue;
        };
        let number = (mapping.device, mapping.inode);
        if others.contains(&number) {
            continue;
        }
        let listed = FileId::Inode(
            rustix::fs::makedev(mapping.device.0, mapping.device.1),
            mapping.inode,
        );
        // Its link leads to the file whatever its name has become; it takes more privileges.
        let linked = view.join("map_files").join(&mapping.range);
        let used = match facts(&linked) {
            Ok(file) => {
                let used = is_wanted(file.id, &linked).then_some(file.id);
                // Only numbers that are the file's own: on btrfs and overlays several files share
                // those that the mapping shows.
                if used.is_none() && file.id == listed {
                    others.insert(number);
                }
                used
            }
            Err(error) => {
                let named = by_name(view, &mapping, listed, is_wanted);
                match error.kind() {
                    _ if named.is_proven || named.used.is_some() => {}
                    io::ErrorKind::PermissionDenied => forbidden = Some(error),
                    _ => proof = Proof::Changed,
                }
                named.used
            }
        };
        if let Some(id) = used {
            let kind = if mapping.is_shared_writable {
                OpenKind::MappedForWriting
            } else {
                OpenKind::Mapped
            };
            found.entry(kind).or_insert(id);
        }
    }
    forbidden.map_or(Ok(proof), Err)
}

/// What path and numbers of a mapping tell whose link may not be followed.
struct ByName {
    /// What is wanted and mapped.
    used: Option<FileId>,
    /// Whether the path leads to the mapped file: it may have been removed or replaced, and the
    /// numbers of a device are those of its node.
    is_proven: bool,
}

fn by_name(view: &Path, mapping: &MappedFile, listed: FileId, is_wanted: &IsWanted<'_>) -> ByName {
    let path = view.join("root").join(&mapping.path);
    let named = facts(&path).ok();
    let at_path = named.as_ref().map(|file| file.id);
    let used = at_path
        .filter(|id| is_wanted(*id, &path))
        .or_else(|| is_wanted(listed, Path::new("")).then_some(listed));
    ByName {
        used,
        is_proven: named.is_some_and(|file| file.inode == listed)
            || process_list::is_kernel_memory(listed),
    }
}

/// A mapping of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct MappedFile {
    /// Its addresses, as `map_files` names them.
    pub range: String,
    /// Number of the device that the file lies on.
    pub device: (u32, u32),
    /// Its inode.
    pub inode: u64,
    /// Its path below the root of the process.
    pub path: PathBuf,
    /// Whether the process writes to the file by it.
    pub is_shared_writable: bool,
}

/// `ADDRESSES rw-s OFFSET MAJOR:MINOR INODE PATH`; `None` for a mapping of no file.
#[must_use]
pub fn parse_mapping(line: &[u8]) -> Option<MappedFile> {
    use std::os::unix::ffi::OsStrExt;
    let mut rest = line;
    let mut word = || {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ');
        let (word, tail) = rest.split_at(end.unwrap_or(rest.len()));
        rest = tail;
        std::str::from_utf8(word).ok()
    };
    let range = word()?.to_owned();
    let rights = word()?.as_bytes();
    let is_shared_writable = rights.get(1) == Some(&b'w') && rights.get(3) == Some(&b's');
    word()?;
    let (major, minor) = word()?.split_once(':')?;
    let hexadecimal = |text| u32::from_str_radix(text, 16).ok();
    let device = (hexadecimal(major)?, hexadecimal(minor)?);
    let inode = word()?.parse().ok().filter(|inode| *inode != 0)?;
    let path = rest.trim_ascii_start();
    let slashes = path.iter().take_while(|byte| **byte == b'/').count();
    let path = &path[slashes..];
    Some(MappedFile {
        range,
        device,
        inode,
        path: std::ffi::OsStr::from_bytes(path).into(),
        is_shared_writable,
    })
}

/// What a path leads to.
#[derive(Debug)]
struct Facts {
    /// A block device by its number, everything else by its inode.
    id: FileId,
    /// The inode, of a device that of its node.
    inode: FileId,
    /// Number of the character device that it is, if it is one.
    character_device: Option<(u32, u32)>,
}

/// What a path leads to, without asking the server of a network file system.
fn facts(path: &Path) -> io::Result<Facts> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let wanted = StatxFlags::TYPE | StatxFlags::INO;
    let facts = rustix::fs::statx(CWD.as_fd(), path, flags, wanted)?;
    let device = rustix::fs::makedev(facts.stx_dev_major, facts.stx_dev_minor);
    let inode = FileId::Inode(device, facts.stx_ino);
    let number = (facts.stx_rdev_major, facts.stx_rdev_minor);
    let kind = FileType::from_raw_mode(u32::from(facts.stx_mode));
    Ok(Facts {
        id: match kind {
            FileType::BlockDevice => FileId::Device(number.0, number.1),
            _ => inode,
        },
        inode,
        character_device: (kind == FileType::CharacterDevice).then_some(number),
    })
}

/// The identity of what a path leads to.
fn path_identity(path: &Path) -> io::Result<FileId> {
    facts(path).map(|facts| facts.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexaminable_init_process_alone_is_ignored() {
        let forbidden = |count, process| Some(UnseenProcesses::PermissionDenied { count, process });
        assert_eq!(unseen_processes(vec![], || true), None);
        assert_eq!(unseen_processes(vec![1], || true), None);
        assert_eq!(unseen_processes(vec![1, 7], || true), forbidden(1, 7));
        assert_eq!(unseen_processes(vec![1], || false), forbidden(1, 1));
    }

    #[test]
    fn examinable_init_process_is_examined() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let descriptors = roots.proc.join("1/fd");
        fs::create_dir_all(&descriptors).unwrap();
        fs::write(roots.proc.join("1/comm"), "init\n").unwrap();
        // The bits of a link of an ordinary file system say that it writes.
        std::os::unix::fs::symlink(roots.proc.join("1/comm"), descriptors.join("3")).unwrap();
        let file = FileId::of_metadata(&fs::metadata(roots.proc.join("1/comm")).unwrap());
        let found = find_open_users(&roots, &|id, _| id == file);
        let users: Vec<_> = found.users.iter().map(|user| user.process).collect();
        assert_eq!(users, [1]);
        assert_eq!(found.users[0].kind, OpenKind::OpenForWriting);
    }

    #[test]
    fn file_mappings_are_parsed_with_write_access() {
        let line =
            b"7f0000000000-7f0000001000 rw-s 00000000 fe:00 1234                       /srv/a b";
        let mapping = parse_mapping(line).unwrap();
        assert_eq!(mapping.range, "7f0000000000-7f0000001000");
        assert_eq!((mapping.device, mapping.inode), ((0xfe, 0), 1234));
        assert_eq!(mapping.path, Path::new("srv/a b"));
        assert!(mapping.is_shared_writable);
        for other in [
            &b"7f0000000000-7f0000001000 rw-p 00000000 fe:00 1234 /srv/a"[..],
            b"7f0000000000-7f0000001000 r--s 00000000 fe:00 1234 /srv/a",
        ] {
            assert!(!parse_mapping(other).unwrap().is_shared_writable);
        }
        for other in [
            &b"7f0000000000-7f0000001000 rw-s 00000000 00:00 0"[..],
            b"nonsense",
            b"",
        ] {
            assert_eq!(parse_mapping(other), None);
        }
    }
}
