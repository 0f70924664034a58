//! Files that processes have mapped (proc_pid_maps(5), proc_pid_map_files(5)).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::drive::guard::conflicts::open_file::{IsWanted, OpenFiles, OpenKind, facts};
use crate::drive::guard::conflicts::process_list;
use crate::drive::guard::conflicts::same_file::FileSameness;
use crate::drive::io_error::is_gone;
use crate::drive::medium::FileId;

/// How often the mappings of a process are read that changes them meanwhile.
const TRIES: usize = 5;
/// The most bytes of one process's tables of mappings. Each process decides how many mappings it
/// has, and how long the paths in them are; one with as many as the kernel permits has 7 MB.
const MAX_MAP_BYTES: u64 = 64 << 20;
/// The longest line of such a table: a path of `PATH_MAX` bytes, each of them an escape.
const MAX_LINE_BYTES: u64 = 32 << 10;
/// The longest that the mappings of one process are examined.
const MAX_MAP_TIME: Duration = Duration::from_secs(2);
/// The most files that are remembered as not wanted.
const MAX_IGNORED_FILES: usize = 1 << 18;

/// Files that were looked at and are not wanted, as maps name them: most processes have the same
/// ones mapped.
pub(super) type IgnoredFiles = HashSet<((u32, u32), u64)>;

/// How much the examination of one process's mappings may still take.
#[derive(Debug)]
pub(super) struct MapBudget {
    bytes: u64,
    line_bytes: u64,
    deadline: Instant,
}

impl MapBudget {
    /// What one process may take.
    pub(super) fn for_process() -> Self {
        Self {
            bytes: MAX_MAP_BYTES,
            line_bytes: MAX_LINE_BYTES,
            deadline: Instant::now() + MAX_MAP_TIME,
        }
    }

    fn check_time(&self) -> io::Result<()> {
        if Instant::now() > self.deadline {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "examining its mappings takes too long",
            ));
        }
        Ok(())
    }
}

/// The mappings of files in a table that are not known as not wanted. The table is read line by
/// line: of what is not kept, one line is held at a time.
fn read_mappings(
    path: &Path,
    others: &IgnoredFiles,
    budget: &mut MapBudget,
) -> io::Result<Vec<MappedFile>> {
    let too_long = |what| io::Error::new(io::ErrorKind::FileTooLarge, what);
    let mut maps = BufReader::new(File::open(path)?);
    let (mut mappings, mut line) = (Vec::new(), Vec::new());
    loop {
        budget.check_time()?;
        line.clear();
        let limit = budget.line_bytes + 1;
        let length = (&mut maps).take(limit).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            return Ok(mappings);
        }
        if length == limit {
            return Err(too_long("a line of its mappings is too long"));
        }
        budget.bytes = budget
            .bytes
            .checked_sub(length)
            .ok_or_else(|| too_long("its table of mappings is too long"))?;
        let mapping = parse_mapping(line.strip_suffix(b"\n").unwrap_or(&line));
        mappings
            .extend(mapping.filter(|mapping| !others.contains(&(mapping.device, mapping.inode))));
    }
}

/// Directories with a table of the memory: the process's own; its threads' where the first has
/// ended, for it shows none any more.
///
/// # Errors
/// When the threads cannot be listed.
pub(super) fn memory_map_directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut first = [0];
    let read = File::open(directory.join("maps")).and_then(|mut maps| maps.read(&mut first));
    match read {
        Ok(1..) => Ok(vec![directory.to_owned()]),
        Ok(0) => thread_directories(directory),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {
            thread_directories(directory)
        }
        // Reading it fails again, and is counted.
        Err(_) => Ok(vec![directory.to_owned()]),
    }
}

/// The directories of the threads of a process.
///
/// # Errors
/// When they cannot all be listed.
pub(super) fn thread_directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory.join("task"))?
        .map(|thread| Ok(thread?.path()))
        .collect()
}

/// The mappings of what is wanted, read again as long as they change meanwhile. A process that never
/// stops changing them counts as one that may not be examined.
pub(super) fn lasting_mappings(
    view: &Path,
    is_wanted: &IsWanted<'_>,
    others: &mut IgnoredFiles,
    found: &mut OpenFiles,
    budget: &mut MapBudget,
) -> io::Result<()> {
    for _ in 0..TRIES {
        if examine_mappings(view, is_wanted, others, found, budget)? == Proof::Complete {
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
    found: &mut OpenFiles,
    budget: &mut MapBudget,
) -> io::Result<Proof> {
    // All of them are read before the first is looked at, so that they change as little as can be.
    let mappings = match read_mappings(&view.join("maps"), others, budget) {
        Ok(mappings) => mappings,
        // A thread of the kernel, or one that has ended: it has no memory (kernel 6.16).
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Vec::new(),
        Err(error) => return Err(error),
    };
    let (mut forbidden, mut proof) = (None, Proof::Complete);
    for mapping in mappings {
        budget.check_time()?;
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
                let used = match file.may_be_medium {
                    true => wanted(file.id, &linked, is_wanted),
                    false => None,
                };
                // Only numbers that are the file's own: on btrfs and overlays several files share
                // those that the mapping shows.
                if used.is_none() && file.id == listed && others.len() < MAX_IGNORED_FILES {
                    others.insert(number);
                }
                used
            }
            Err(error) => {
                let named = by_name(view, &mapping, listed, is_wanted);
                match error.kind() {
                    _ if named.is_proven || named.used.is_some() => {}
                    // ESRCH where the process has just lost its memory (kernel 6.13).
                    _ if is_gone(&error) => proof = Proof::Changed,
                    _ => forbidden = Some(error),
                }
                named.used
            }
        };
        if let Some((id, sameness)) = used {
            let kind = if mapping.is_shared_writable {
                OpenKind::MappedForWriting
            } else {
                OpenKind::Mapped
            };
            found.insert((kind.if_wanted(sameness), id));
        }
    }
    forbidden.map_or(Ok(proof), Err)
}

/// What path and numbers of a mapping tell whose link may not be followed.
struct ByName {
    /// What is wanted, or may be, and mapped.
    used: Option<(FileId, FileSameness)>,
    /// Whether the path leads to the mapped file: it may have been removed or replaced, and the
    /// numbers of a device are those of its node.
    is_proven: bool,
}

/// What has that identity, unless it is certainly not wanted.
fn wanted(id: FileId, path: &Path, is_wanted: &IsWanted<'_>) -> Option<(FileId, FileSameness)> {
    let sameness = is_wanted(id, path);
    (sameness != FileSameness::Different).then_some((id, sameness))
}

fn by_name(view: &Path, mapping: &MappedFile, listed: FileId, is_wanted: &IsWanted<'_>) -> ByName {
    let path = view.join("root").join(&mapping.path);
    let named = facts(&path).ok();
    let at_path = named.as_ref().filter(|file| file.may_be_medium);
    let used = at_path
        .and_then(|file| wanted(file.id, &path, is_wanted))
        .or_else(|| wanted(listed, Path::new(""), is_wanted));
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
    /// Number of the device that the file is on.
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn table_beyond_a_limit_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = "7f0000000000-7f0000001000 rw-s 00000000 fe:00 1234 /srv/a\n";
        fs::write(file.path(), line.repeat(3)).unwrap();
        let length = line.len() as u64;
        let read = |bytes, line_bytes, time| {
            let mut budget = MapBudget {
                bytes,
                line_bytes,
                deadline: Instant::now() + time,
            };
            read_mappings(file.path(), &HashSet::new(), &mut budget)
        };
        let minute = Duration::from_secs(60);
        assert_eq!(read(3 * length, length, minute).unwrap().len(), 3);
        let kind = |result: io::Result<Vec<MappedFile>>| result.unwrap_err().kind();
        let too_large = io::ErrorKind::FileTooLarge;
        assert_eq!(kind(read(3 * length - 1, length, minute)), too_large);
        assert_eq!(kind(read(3 * length, length - 1, minute)), too_large);
        let late = read(3 * length, length, Duration::ZERO);
        assert_eq!(kind(late), io::ErrorKind::TimedOut);
        let known = HashSet::from([((0xfe, 0), 1234)]);
        let mut budget = MapBudget::for_process();
        assert_eq!(read_mappings(file.path(), &known, &mut budget).unwrap(), []);
    }
}
