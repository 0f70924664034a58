//! Processes that have something open for writing, locked or mapped (proc_pid_fd(5),
//! proc_pid_fdinfo(5)).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::drive::fcntl;
use crate::drive::guard::conflicts::lock_line::{HeldLock, parse_lock_line};
use crate::drive::guard::conflicts::mappings::{IgnoredFiles, MapBudget};
use crate::drive::guard::conflicts::open_file::{IsWanted, OpenFiles, OpenKind, facts};
use crate::drive::guard::conflicts::passthrough::Passthrough;
use crate::drive::guard::conflicts::process_list::{ListedProcess, ProcessList};
use crate::drive::guard::conflicts::process_numbers::{process_command, process_numbers};
use crate::drive::guard::conflicts::same_file::FileSameness;
use crate::drive::guard::conflicts::storage_servers::StorageServers;
use crate::drive::guard::conflicts::unseen_processes::UnseenProcesses;
use crate::drive::guard::conflicts::use_conflict::UseConflict;
use crate::drive::guard::conflicts::{mappings, process_list};
use crate::drive::io_error::is_gone;
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

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

impl OpenUser {
    /// Its use of the device or file of that name; `None` where it may be another one.
    pub(super) fn into_conflict(self, device: String) -> Option<UseConflict> {
        let (process, command) = (self.process, self.command);
        Some(match self.kind {
            OpenKind::OpenForWriting | OpenKind::MappedForWriting => UseConflict::OpenByProcess {
                device,
                process,
                command,
                mapped: self.kind == OpenKind::MappedForWriting,
            },
            OpenKind::Mapped => UseConflict::MappedByProcess {
                device,
                process,
                command,
            },
            OpenKind::Served => UseConflict::Served {
                device,
                process,
                command,
            },
            OpenKind::Locked | OpenKind::LockedByReader => UseConflict::Locked {
                device,
                by: Some((process, command)),
            },
            OpenKind::Incomparable => return None,
        })
    }
}

/// What is known of files that are neither regular ones nor the devices themselves.
struct SpecialFiles<'a> {
    passthrough: Passthrough<'a>,
    servers: StorageServers<'a>,
}

/// Examines processes one by one.
pub(super) struct ProcessExaminer<'a> {
    roots: &'a SysPaths,
    special: SpecialFiles<'a>,
    others: IgnoredFiles,
}

/// What one process has open of what is wanted.
#[derive(Debug, Default)]
pub(super) struct ProcessUses {
    /// Its uses.
    pub users: Vec<OpenUser>,
    /// Whether it has something open that cannot be compared with what is wanted.
    pub incomparable: bool,
    /// What could not be read.
    pub errors: Vec<io::Error>,
}

impl<'a> ProcessExaminer<'a> {
    pub(super) fn new(roots: &'a SysPaths) -> Self {
        Self {
            roots,
            special: SpecialFiles::new(roots),
            others: HashSet::new(),
        }
    }

    /// Forgets what character devices stand for: their numbers are used again, and network block
    /// devices are connected meanwhile.
    pub(super) fn renew_special_files(&mut self) {
        self.special = SpecialFiles::new(self.roots);
    }

    /// Whether a process has a channel open by which it may serve a file system or a block device, or run a virtual
    /// machine.
    fn is_storage_server(&self, listed: &ListedProcess) -> bool {
        let directory = self.roots.proc.join(listed.process.to_string());
        let (tables, _) = descriptor_directories(&directory);
        let entries = |table: &PathBuf| fs::read_dir(table).into_iter().flatten().flatten();
        let mut opened = tables.iter().flat_map(entries);
        opened.any(|entry| {
            facts(&entry.path()).is_ok_and(|opened| self.special.servers.is_channel(&opened))
        })
    }

    /// What a process has open of what `is_wanted`.
    pub(super) fn examine(
        &mut self,
        listed: &ListedProcess,
        is_wanted: &IsWanted<'_>,
    ) -> ProcessUses {
        let directory = self.roots.proc.join(listed.process.to_string());
        let examined = examine_process(&directory, is_wanted, &self.special, &mut self.others);
        let mut uses = ProcessUses {
            errors: examined.errors,
            ..ProcessUses::default()
        };
        for (kind, id) in examined.open_files {
            if kind == OpenKind::Incomparable {
                uses.incomparable = true;
                continue;
            }
            uses.users.push(OpenUser {
                process: listed.process,
                command: process_command(&directory),
                id,
                kind,
            });
        }
        uses
    }
}

impl<'a> SpecialFiles<'a> {
    fn new(roots: &'a SysPaths) -> Self {
        Self {
            passthrough: Passthrough::new(roots),
            servers: StorageServers::new(roots),
        }
    }
}

/// What an examination of all processes gave.
#[derive(Debug)]
pub(super) struct OpenUsers {
    /// Who has it open like that, this program excepted.
    pub users: Vec<OpenUser>,
    /// Whether anybody has something open that cannot be compared with what is wanted.
    pub incomparable: bool,
    /// Why there may be more.
    pub unseen: Option<UnseenProcesses>,
    /// The processes that were examined.
    pub processes: ProcessList,
}

/// Everybody who has open for writing, locked or mapped what `is_wanted`. Processes that are started
/// meanwhile are examined too, for they inherit descriptors, until no unknown one is listed.
pub(super) fn find_open_users(roots: &SysPaths, is_wanted: &IsWanted<'_>) -> OpenUsers {
    let (mut users, mut incomparable) = (Vec::new(), false);
    let mut unexamined = UnexaminedProcesses::default();
    let mut examiner = ProcessExaminer::new(roots);
    let mut list = ProcessList::default();
    let is_changing = loop {
        let new = match list.new_processes(roots) {
            Ok(new) => new,
            Err(error) => {
                unexamined.failed.push((0, error.to_string()));
                break false;
            }
        };
        if new.is_empty() || !users.is_empty() {
            break false;
        }
        if list.is_endless() {
            break true;
        }
        for listed in new {
            let directory = roots.proc.join(listed.process.to_string());
            let found = examiner.examine(&listed, is_wanted);
            for error in found.errors {
                unexamined.add(&listed, &directory, &error);
            }
            incomparable |= found.incomparable;
            users.extend(found.users);
        }
    };
    let changing = is_changing.then_some(UnseenProcesses::Changing);
    let unseen = process_list::hidden(roots)
        .or(changing)
        .or_else(|| unexamined.into_unseen(|| process_list::may_examine_all(roots)));
    OpenUsers {
        users,
        incomparable,
        unseen,
        processes: list,
    }
}

/// Every process that has what `is_wanted` open or mapped, and serves a file system or a block device, perhaps from
/// it, or runs a virtual machine. Processes that this program may not examine are left out.
pub(super) fn find_storage_servers(roots: &SysPaths, is_wanted: &IsWanted<'_>) -> Vec<OpenUser> {
    let mut examiner = ProcessExaminer::new(roots);
    let mut listed = process_list::list_identified(roots).unwrap_or_default();
    listed.retain(|one| examiner.is_storage_server(one));
    let found = listed
        .iter()
        .flat_map(|one| examiner.examine(one, is_wanted).users);
    found.collect()
}

/// Processes that may have it open, for they could not be examined.
#[derive(Debug, Default)]
pub(super) struct UnexaminedProcesses {
    forbidden: Vec<u32>,
    failed: Vec<(u32, String)>,
}

impl UnexaminedProcesses {
    /// Counts a process of which something could not be read. Only one that has ended has nothing
    /// open: an error for want of memory or descriptors says nothing about the process.
    pub(super) fn add(&mut self, listed: &ListedProcess, directory: &Path, error: &io::Error) {
        if error.kind() == io::ErrorKind::PermissionDenied {
            if self.forbidden.last() != Some(&listed.process) {
                self.forbidden.push(listed.process);
            }
        } else if !(is_gone(error) && listed.has_ended(directory))
            && self
                .failed
                .last()
                .is_none_or(|(last, _)| *last != listed.process)
        {
            self.failed.push((listed.process, error.to_string()));
        }
    }

    /// The first process does not count where this program may examine all: some virtual machines
    /// let nobody look into it. It starts the others and works on no device itself.
    pub(super) fn into_unseen(
        mut self,
        may_examine_all: impl Fn() -> bool,
    ) -> Option<UnseenProcesses> {
        if let Some((process, reason)) = self.failed.first() {
            return Some(UnseenProcesses::ExaminationFailed {
                count: self.failed.len(),
                process: *process,
                reason: reason.clone(),
            });
        }
        if self.forbidden.contains(&1) && may_examine_all() {
            self.forbidden.retain(|process| *process != 1);
        }
        Some(UnseenProcesses::PermissionDenied {
            count: self.forbidden.len(),
            process: *self.forbidden.first()?,
        })
    }
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
            && facts(path).is_ok_and(|file| {
                file.may_be_medium && is_wanted(file.id, path) != FileSameness::Different
            })
    };
    let listed = |table: &Path| fs::read_dir(table).into_iter().flatten().flatten();
    let by_us = listed(&own)
        .filter(|entry| entry.file_name().to_str() != Some(&except))
        .any(|entry| reads(&entry.path()));
    by_us
        || process_numbers(roots).into_iter().any(|process| {
            let (tables, _) = descriptor_directories(&roots.proc.join(process.to_string()));
            tables
                .iter()
                .any(|table| listed(table).any(|entry| reads(&entry.path())))
        })
}

/// What one process has open.
#[derive(Debug, Default)]
struct ExaminedProcess {
    open_files: OpenFiles,
    /// What could not be read.
    errors: Vec<io::Error>,
}

fn examine_process(
    directory: &Path,
    is_wanted: &IsWanted<'_>,
    special: &SpecialFiles<'_>,
    others: &mut IgnoredFiles,
) -> ExaminedProcess {
    let mut examined = ExaminedProcess::default();
    let (tables, error) = descriptor_directories(directory);
    examined.errors.extend(error);
    for table in tables {
        let found = examine_descriptors(&table, is_wanted, special, &mut examined.open_files);
        examined.errors.extend(lasting_error(found, &table));
    }
    let mut budget = MapBudget::for_process();
    let views = mappings::memory_map_directories(directory);
    let views = views.unwrap_or_else(|error| {
        examined.errors.push(error);
        Vec::new()
    });
    for view in views {
        let files = &mut examined.open_files;
        let found = mappings::lasting_mappings(&view, is_wanted, others, files, &mut budget);
        examined
            .errors
            .extend(lasting_error(found, &view.join("maps")));
    }
    examined
}

/// The error of reading a table, unless the table is of a thread that has ended.
fn lasting_error(result: io::Result<()>, table: &Path) -> Option<io::Error> {
    let error = result.err()?;
    let thread = table.parent()?;
    let is_thread = thread
        .parent()
        .is_some_and(|parent| parent.ends_with("task"));
    let has_ended = is_thread
        && is_gone(&error)
        && fs::symlink_metadata(thread).is_err_and(|error| is_gone(&error));
    (!has_ended).then_some(error)
}

/// Directories of descriptors: the process's own, and those of threads that have a table of their
/// own, as after unshare(2), or where the first thread has ended, and those of the others live on.
///
/// With them the error that the threads could not all be listed for.
fn descriptor_directories(directory: &Path) -> (Vec<PathBuf>, Option<io::Error>) {
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<i32>().ok();
    let first = number(directory);
    let mut tables = vec![directory.join("fd")];
    let (threads, error) = match mappings::thread_directories(directory) {
        Ok(threads) => (threads, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    for thread in threads {
        let thread_number = number(&thread);
        let shares = first.zip(thread_number).is_some_and(|(first, thread)| {
            first == thread || fcntl::share_descriptors(first, thread)
        });
        if !shares {
            tables.push(thread.join("fd"));
        }
    }
    (tables, error)
}

/// The descriptors of a table that write to what is wanted, hold a lock on it, or read it for a file
/// system or a block device.
fn examine_descriptors(
    table: &Path,
    is_wanted: &IsWanted<'_>,
    special: &SpecialFiles<'_>,
    found: &mut OpenFiles,
) -> io::Result<()> {
    let mut forbidden = None;
    let (mut read, mut is_server) = (None, false);
    for entry in fs::read_dir(table)? {
        let entry = entry?;
        let path = entry.path();
        // The bits of the link tell how it was opened.
        let link = match fs::symlink_metadata(&path) {
            Ok(link) => link,
            // It was closed meanwhile.
            Err(error) if is_gone(&error) => continue,
            Err(error) => {
                forbidden = Some(error);
                continue;
            }
        };
        let (reads, writes) = (link.mode() & 0o400 != 0, link.mode() & 0o200 != 0);
        let opened = match facts(&path) {
            Ok(opened) => opened,
            Err(error) => {
                if writes && !is_gone(&error) {
                    forbidden = Some(error);
                }
                continue;
            }
        };
        is_server |= special.servers.is_channel(&opened);
        let disk = opened
            .character_device
            .and_then(|number| special.passthrough.disk(number));
        let id = disk.unwrap_or(opened.id);
        if disk.is_none() && !opened.may_be_medium {
            continue;
        }
        let sameness = is_wanted(id, &path);
        if sameness == FileSameness::Different {
            continue;
        }
        let mut add = |kind: OpenKind| {
            found.insert((kind.if_wanted(sameness), id));
        };
        if writes {
            add(OpenKind::OpenForWriting);
        } else if reads {
            read = Some((id, sameness));
        }
        let info = table.with_file_name("fdinfo").join(entry.file_name());
        let is_reader_of_device = !writes && matches!(id, FileId::Device(..));
        match lock_of_descriptor(&info) {
            Ok(Some(HeldLock::SharedFlock)) if is_reader_of_device => add(OpenKind::LockedByReader),
            Ok(Some(_)) => add(OpenKind::Locked),
            Ok(None) => {}
            Err(error) => forbidden = Some(error),
        }
    }
    if let Some((id, sameness)) = read.filter(|_| is_server) {
        let kind = OpenKind::Served.if_wanted(sameness);
        found.insert((kind, id));
    }
    forbidden.map_or(Ok(()), Err)
}

/// The strongest lock that was taken by that descriptor, whatever number the file has in the table of
/// locks.
fn lock_of_descriptor(info: &Path) -> io::Result<Option<HeldLock>> {
    let info = match fs::read_to_string(info) {
        Err(error) if is_gone(&error) => return Ok(None),
        info => info?,
    };
    let locks = info.lines().filter(|line| line.starts_with("lock:"));
    Ok(locks
        .filter_map(parse_lock_line)
        .map(|line| line.held)
        .max())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, Mode};

    #[test]
    fn unexaminable_init_process_alone_is_ignored() {
        let forbidden = |count, process| Some(UnseenProcesses::PermissionDenied { count, process });
        let unseen = |forbidden: &[u32], may_examine_all: bool| {
            let unexamined = UnexaminedProcesses {
                forbidden: forbidden.to_vec(),
                failed: Vec::new(),
            };
            unexamined.into_unseen(|| may_examine_all)
        };
        assert_eq!(unseen(&[], true), None);
        assert_eq!(unseen(&[1], true), None);
        assert_eq!(unseen(&[1, 7], true), forbidden(1, 7));
        assert_eq!(unseen(&[1], false), forbidden(1, 1));
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
        let found = find_open_users(&roots, &|id, _| match id == file {
            true => FileSameness::Same,
            false => FileSameness::Different,
        });
        let users: Vec<_> = found.users.iter().map(|user| user.process).collect();
        assert_eq!(users, [1]);
        assert_eq!(found.users[0].kind, OpenKind::OpenForWriting);
    }

    #[test]
    fn process_with_a_file_that_cannot_be_compared_is_not_named() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let descriptors = roots.proc.join("7/fd");
        fs::create_dir_all(&descriptors).unwrap();
        fs::write(roots.proc.join("7/comm"), "bash\n").unwrap();
        let find = || find_open_users(&roots, &|_, _| FileSameness::Unknown);
        // A pipe, a socket or an anonymous inode is not even compared.
        std::os::unix::fs::symlink("/dev/null", descriptors.join("3")).unwrap();
        let pipe = tree.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        std::os::unix::fs::symlink(pipe, descriptors.join("4")).unwrap();
        let found = find();
        assert!(found.users.is_empty() && !found.incomparable, "{found:?}");
        std::os::unix::fs::symlink(roots.proc.join("7/comm"), descriptors.join("5")).unwrap();
        let found = find();
        assert!(found.users.is_empty() && found.incomparable, "{found:?}");
    }

    #[test]
    fn process_counts_as_ended_only_when_its_directory_is_gone() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let directory = roots.proc.join("7");
        fs::create_dir_all(&directory).unwrap();
        let listed = ProcessList::default()
            .new_processes(&roots)
            .unwrap()
            .remove(0);
        let unseen = |error: rustix::io::Errno| {
            let mut unexamined = UnexaminedProcesses::default();
            unexamined.add(&listed, &directory, &error.into());
            unexamined.into_unseen(|| true)
        };
        use rustix::io::Errno;
        let errors = [Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::IO];
        for error in errors.iter().chain(&[Errno::NOENT, Errno::SRCH]) {
            let found = unseen(*error);
            let failed = UnseenProcesses::ExaminationFailed {
                count: 1,
                process: 7,
                reason: io::Error::from(*error).to_string(),
            };
            assert_eq!(found, Some(failed));
        }
        // Another process of the same number is examined by itself.
        fs::rename(&directory, tree.path().join("ended")).unwrap();
        fs::create_dir(&directory).unwrap();
        assert_eq!(unseen(Errno::NOENT), None);
        fs::remove_dir(&directory).unwrap();
        assert_eq!(unseen(Errno::SRCH), None);
        for error in errors {
            assert!(unseen(error).is_some(), "{error}");
        }
    }

    #[test]
    fn process_whose_tables_cannot_be_read_is_unseen() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let directory = roots.proc.join("7");
        fs::create_dir_all(directory.join("task")).unwrap();
        fs::write(directory.join("maps"), "").unwrap();
        // A file in place of a directory: an error that says nothing about the process.
        fs::write(directory.join("fd"), "").unwrap();
        let seen = || find_open_users(&roots, &|_, _| FileSameness::Different).unseen;
        let process_of = |unseen| match unseen {
            Some(UnseenProcesses::ExaminationFailed { process, .. }) => Some(process),
            _ => None,
        };
        // No process 1 and no namespaces there: what hides processes is asked first.
        std::os::unix::fs::symlink("pid:[4026531836]", {
            fs::create_dir_all(roots.proc.join("self/ns")).unwrap();
            roots.proc.join("self/ns/pid")
        })
        .unwrap();
        assert_eq!(process_of(seen()), Some(7));
        fs::remove_file(directory.join("fd")).unwrap();
        fs::create_dir(directory.join("fd")).unwrap();
        assert_eq!(seen(), None);
        fs::remove_dir(directory.join("task")).unwrap();
        fs::write(directory.join("task"), "").unwrap();
        assert_eq!(process_of(seen()), Some(7));
    }
}
