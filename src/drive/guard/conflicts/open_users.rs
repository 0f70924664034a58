//! Processes that have something open for writing, locked or mapped (proc_pid_fd(5),
//! proc_pid_fdinfo(5), proc_pid_map_files(5)).

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use super::file_locks::parse_lock;
use crate::drive::target::FileId;
use crate::printable::printable;
use crate::roots::Roots;

/// Inode number of the first PID namespace (kernel include/linux/proc_ns.h).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// CAP_SYS_PTRACE (include/uapi/linux/capability.h): every process may be examined.
const CAP_SYS_PTRACE: u32 = 19;

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
    Written,
    /// By a shared writable mapping.
    MappedForWriting,
    /// By a descriptor with a lock.
    Locked,
    /// By any other mapping, such as that of a program or library.
    Mapped,
}

/// Whether what has that identity, and can be looked at by that path, is wanted.
pub(super) type IsWanted<'a> = dyn Fn(FileId, &Path) -> bool + 'a;

/// Why not all processes could be examined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unseen {
    /// This PID namespace is not the first one.
    Namespace,
    /// /proc is mounted with `hidepid` or `subset`.
    Hidden,
    /// Descriptors of some processes may not be examined.
    Forbidden {
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
    pub unseen: Option<Unseen>,
}

/// Everybody who has open for writing, locked or mapped what `is_wanted`.
pub(super) fn find(roots: &Roots, is_wanted: &IsWanted<'_>) -> OpenUsers {
    let mut users = Vec::new();
    let mut forbidden = Vec::new();
    let mut others = HashSet::new();
    for process in processes(roots) {
        let directory = roots.proc.join(process.to_string());
        let examined = examine(&directory, is_wanted, &mut others);
        if examined.is_forbidden {
            forbidden.push(process);
        }
        for (kind, id) in examined.found {
            users.push(OpenUser {
                process,
                command: command(&directory),
                id,
                kind,
            });
        }
    }
    let unseen = hidden(roots).or_else(|| unexamined(forbidden, || may_examine_all(roots)));
    OpenUsers { users, unseen }
}

/// Processes that may have it open, for they could not be examined. The first process does not count
/// where this program may examine all: some virtual machines let nobody look into it. It starts the
/// others and works on no device itself.
fn unexamined(mut forbidden: Vec<u32>, may_examine_all: impl Fn() -> bool) -> Option<Unseen> {
    if forbidden.contains(&1) && may_examine_all() {
        forbidden.retain(|process| *process != 1);
    }
    Some(Unseen::Forbidden {
        count: forbidden.len(),
        process: *forbidden.first()?,
    })
}

/// Whether a process has open for reading what `is_wanted`; of this program's own descriptors all
/// count but that one.
pub(super) fn is_read(roots: &Roots, except: &File, is_wanted: &IsWanted<'_>) -> bool {
    let except = except.as_raw_fd().to_string();
    let own = roots.proc.join("self/fd");
    let reads = |path: &Path| {
        let link = fs::symlink_metadata(path);
        link.is_ok_and(|link| link.mode() & 0o400 != 0)
            && identity(path).is_ok_and(|id| is_wanted(id, path))
    };
    let listed = |table: &Path| fs::read_dir(table).into_iter().flatten().flatten();
    let by_us = listed(&own)
        .filter(|entry| entry.file_name().to_str() != Some(&except))
        .any(|entry| reads(&entry.path()));
    by_us
        || processes(roots).into_iter().any(|process| {
            descriptor_tables(&roots.proc.join(process.to_string()))
                .iter()
                .any(|table| listed(table).any(|entry| reads(&entry.path())))
        })
}

/// Numbers of all processes but this one.
pub(super) fn processes(roots: &Roots) -> Vec<u32> {
    let own = std::process::id();
    fs::read_dir(&roots.proc)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|process| *process != own)
        .collect()
}

/// The name of a process.
pub(super) fn command(directory: &Path) -> String {
    let name = fs::read(directory.join("comm")).unwrap_or_default();
    match name.trim_ascii_end() {
        [] => "gone meanwhile".to_owned(),
        name => printable(name),
    }
}

/// What one process has open.
#[derive(Debug, Default)]
struct Examined {
    /// One of each kind.
    found: BTreeMap<OpenKind, FileId>,
    is_forbidden: bool,
}

/// Files that were looked at and are not wanted, as maps name them: most processes have the same
/// ones mapped.
type Others = HashSet<((u32, u32), u64)>;

fn examine(directory: &Path, is_wanted: &IsWanted<'_>, others: &mut Others) -> Examined {
    let mut examined = Examined::default();
    // With any other error it ended meanwhile.
    let is_forbidden = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    for table in descriptor_tables(directory) {
        if let Err(error) = descriptors(&table, is_wanted, &mut examined.found) {
            examined.is_forbidden |= is_forbidden(error);
        }
    }
    for view in memory_views(directory) {
        if let Err(error) = mappings(&view, is_wanted, others, &mut examined.found) {
            examined.is_forbidden |= is_forbidden(error);
        }
    }
    examined
}

/// Directories with a table of the memory: the process's own; its threads' where the first has
/// ended, for it shows none any more.
fn memory_views(directory: &Path) -> Vec<PathBuf> {
    if fs::read(directory.join("maps")).map_or(true, |maps| !maps.is_empty()) {
        return vec![directory.to_owned()];
    }
    let threads = fs::read_dir(directory.join("task")).into_iter().flatten();
    threads
        .filter_map(|thread| Some(thread.ok()?.path()))
        .collect()
}

/// Directories of descriptors: the process's own; its threads' where the first has ended, and those
/// of the others live on.
fn descriptor_tables(directory: &Path) -> Vec<PathBuf> {
    let own = directory.join("fd");
    let is_empty = fs::read_dir(&own).is_ok_and(|mut entries| entries.next().is_none());
    if !is_empty {
        return vec![own];
    }
    let threads = fs::read_dir(directory.join("task")).into_iter().flatten();
    threads
        .filter_map(|thread| Some(thread.ok()?.path().join("fd")))
        .collect()
}

/// The descriptors of a table that write to what is wanted, or hold a lock on it.
fn descriptors(
    table: &Path,
    is_wanted: &IsWanted<'_>,
    found: &mut BTreeMap<OpenKind, FileId>,
) -> io::Result<()> {
    let mut forbidden = None;
    for entry in fs::read_dir(table)? {
        let entry = entry?;
        let path = entry.path();
        // The bits of the link tell how it was opened.
        let Ok(link) = fs::symlink_metadata(&path) else {
            continue;
        };
        let writes = link.mode() & 0o200 != 0;
        match identity(&path) {
            Ok(id) if is_wanted(id, &path) => {
                if writes {
                    found.entry(OpenKind::Written).or_insert(id);
                }
                let info = table.with_file_name("fdinfo").join(entry.file_name());
                if has_lock(&info) {
                    found.entry(OpenKind::Locked).or_insert(id);
                }
            }
            Err(error) if writes && error.kind() == io::ErrorKind::PermissionDenied => {
                forbidden = Some(error);
            }
            Ok(_) | Err(_) => {}
        }
    }
    forbidden.map_or(Ok(()), Err)
}

/// Whether a lock was taken by that descriptor, whatever number the file has in the table of locks.
fn has_lock(info: &Path) -> bool {
    let info = fs::read_to_string(info).unwrap_or_default();
    let mut locks = info.lines().filter(|line| line.starts_with("lock:"));
    locks.any(|line| parse_lock(line).is_some())
}

/// The mappings of what is wanted. `view` is the directory of a process or thread.
fn mappings(
    view: &Path,
    is_wanted: &IsWanted<'_>,
    others: &mut Others,
    found: &mut BTreeMap<OpenKind, FileId>,
) -> io::Result<()> {
    let maps = fs::read(view.join("maps"))?;
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(mapping) = parse_mapping(line) else {
            continue;
        };
        let number = (mapping.device, mapping.inode);
        if others.contains(&number) {
            continue;
        }
        // Its link leads to the file whatever its name has become; it takes more privileges.
        let linked = view.join("map_files").join(&mapping.range);
        let named = view.join("root").join(&mapping.path);
        let seen = [&linked, &named]
            .into_iter()
            .find_map(|path| Some((identity(path).ok()?, path)));
        let listed = FileId::Inode(
            rustix::fs::makedev(mapping.device.0, mapping.device.1),
            mapping.inode,
        );
        // What no path leads to any more, such as a memfd, is compared by its numbers alone.
        let nowhere = PathBuf::new();
        let (id, path) = seen.unwrap_or((listed, &nowhere));
        if is_wanted(id, path) {
            let kind = if mapping.is_shared_writable {
                OpenKind::MappedForWriting
            } else {
                OpenKind::Mapped
            };
            found.entry(kind).or_insert(id);
        } else if id == listed && seen.is_some_and(|(_, path)| *path == linked) {
            // Only numbers that are the file's own: on btrfs and overlays several files share
            // those that the mapping shows.
            others.insert(number);
        }
    }
    Ok(())
}

/// A mapping of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Mapping {
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
pub fn parse_mapping(line: &[u8]) -> Option<Mapping> {
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
    Some(Mapping {
        range,
        device,
        inode,
        path: std::ffi::OsStr::from_bytes(path).into(),
        is_shared_writable,
    })
}

/// What a path leads to, without asking the server of a network file system.
fn identity(path: &Path) -> io::Result<FileId> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let wanted = StatxFlags::TYPE | StatxFlags::INO;
    let facts = rustix::fs::statx(CWD.as_fd(), path, flags, wanted)?;
    if FileType::from_raw_mode(u32::from(facts.stx_mode)) == FileType::BlockDevice {
        return Ok(FileId::Device(facts.stx_rdev_major, facts.stx_rdev_minor));
    }
    let device = rustix::fs::makedev(facts.stx_dev_major, facts.stx_dev_minor);
    Ok(FileId::Inode(device, facts.stx_ino))
}

/// Whether processes are not even listed.
fn hidden(roots: &Roots) -> Option<Unseen> {
    let namespace = |process: &str| fs::read_link(roots.proc.join(process).join("ns/pid")).ok();
    let is_first = ["self", "1"]
        .iter()
        .any(|process| namespace(process).is_some_and(|link| link.as_os_str() == FIRST_NAMESPACE));
    if !is_first {
        return Some(Unseen::Namespace);
    }
    let hides = |option: &String| {
        option == "subset=pid" || option.starts_with("hidepid=") && !is_open(option)
    };
    let mounted = crate::drive::mounts::mounts(roots).unwrap_or_default();
    let of_proc = mounted
        .iter()
        .rev()
        .find(|mount| mount.file_system == "proc" && mount.at == "/proc");
    let hidden = of_proc.is_some_and(|mount| mount.options.iter().any(hides));
    (hidden && !may_examine_all(roots)).then_some(Unseen::Hidden)
}

fn is_open(option: &str) -> bool {
    matches!(option, "hidepid=0" | "hidepid=off")
}

/// Whether this program has CAP_SYS_PTRACE, which `hidepid` gives way to.
fn may_examine_all(roots: &Roots) -> bool {
    let status = fs::read_to_string(roots.proc.join("self/status")).unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|value| u64::from_str_radix(value.trim(), 16).ok());
    effective.is_some_and(|bits| bits >> CAP_SYS_PTRACE & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_process_that_nobody_may_examine_is_the_only_one_that_does_not_count() {
        let forbidden = |count, process| Some(Unseen::Forbidden { count, process });
        assert_eq!(unexamined(vec![], || true), None);
        assert_eq!(unexamined(vec![1], || true), None);
        assert_eq!(unexamined(vec![1, 7], || true), forbidden(1, 7));
        assert_eq!(unexamined(vec![1], || false), forbidden(1, 1));
    }

    #[test]
    fn first_process_that_can_be_examined_counts() {
        let tree = tempfile::tempdir().unwrap();
        let roots = Roots::below(tree.path());
        let descriptors = roots.proc.join("1/fd");
        fs::create_dir_all(&descriptors).unwrap();
        fs::write(roots.proc.join("1/comm"), "init\n").unwrap();
        // The bits of a link of an ordinary file system say that it writes.
        std::os::unix::fs::symlink(roots.proc.join("1/comm"), descriptors.join("3")).unwrap();
        let file = FileId::of(&fs::metadata(roots.proc.join("1/comm")).unwrap());
        let found = find(&roots, &|id, _| id == file);
        let users: Vec<_> = found.users.iter().map(|user| user.process).collect();
        assert_eq!(users, [1]);
        assert_eq!(found.users[0].kind, OpenKind::Written);
    }

    #[test]
    fn mappings_of_files_are_told_by_whether_they_write() {
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
