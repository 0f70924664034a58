//! Lists processes, and determines whether /proc shows all of them (proc(5)).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::EventfdFlags;
use rustix::fs::{MemfdFlags, Mode, OFlags};

use crate::drive::guard::conflicts::unseen_processes::UnseenProcesses;
use crate::drive::io_error::is_gone;
use crate::drive::medium::FileId;
use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::drive::user_namespace;
use crate::roots::SysPaths;
use crate::roots::is_proc_of_initial_namespace;

/// CAP_SYS_PTRACE (include/uapi/linux/capability.h): allows every process to be examined.
const CAP_SYS_PTRACE: u32 = 19;
/// `f_type` of procfs (statfs(2)).
const PROCFS: u64 = 0x9fa0;
/// How long to keep examining processes that start during the search.
const LONGEST: Duration = Duration::from_secs(2);

/// Processes already listed.
#[derive(Debug, Default)]
pub(in crate::drive::guard) struct ProcessList {
    /// By process ID and inode of the directory in /proc, because IDs are reused.
    known: HashSet<(u32, u64)>,
    /// End of the first pass over all processes.
    first_pass: Option<Instant>,
}

/// A process that was listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ListedProcess {
    /// Its number.
    pub process: u32,
    /// Inode of its directory in /proc, where that is known.
    inode: Option<u64>,
}

impl ListedProcess {
    #[cfg(test)]
    pub(super) fn with_inode(process: u32, inode: u64) -> Self {
        Self {
            process,
            inode: Some(inode),
        }
    }

    /// Whether it has ended: its directory is gone, or another process has its number, which is
    /// listed by itself.
    pub(super) fn has_ended(&self, directory: &Path) -> bool {
        match fs::symlink_metadata(directory) {
            Ok(facts) => self.inode.is_some_and(|inode| inode != facts.ino()),
            Err(error) => is_gone(&error),
        }
    }
}

impl ProcessList {
    /// The processes.
    pub(super) fn listed(&self) -> impl Iterator<Item = ListedProcess> {
        let known = self.known.iter();
        known.map(|&(process, inode)| ListedProcess {
            process,
            inode: Some(inode),
        })
    }

    /// Processes not listed before, except this one. When there are none, every process was started
    /// and examined before the last list was made, so none of them has inherited a descriptor from
    /// a process that exited unexamined.
    ///
    /// # Errors
    /// When the processes cannot all be listed.
    pub(super) fn new_processes(&mut self, roots: &SysPaths) -> io::Result<Vec<ListedProcess>> {
        if !self.known.is_empty() {
            self.first_pass.get_or_insert_with(Instant::now);
        }
        let listed = list_identified(roots)?;
        // A process that exits while it is listed may have started another.
        let is_new = |one: &ListedProcess| {
            one.inode
                .is_none_or(|inode| self.known.insert((one.process, inode)))
        };
        Ok(listed.into_iter().filter(is_new).collect())
    }

    /// Whether new processes were examined for the maximum time.
    pub(super) fn is_endless(&self) -> bool {
        self.first_pass
            .is_some_and(|since| since.elapsed() > LONGEST)
    }
}

/// All processes but this one.
///
/// # Errors
/// When the processes cannot all be listed.
pub(super) fn list_identified(roots: &SysPaths) -> io::Result<Vec<ListedProcess>> {
    let listed = super::process_numbers::list_processes(roots)?.into_iter();
    let identified = listed.map(|process| {
        let facts = fs::symlink_metadata(roots.proc.join(process.to_string()));
        ListedProcess {
            process,
            inode: facts.ok().map(|facts| facts.ino()),
        }
    });
    Ok(identified.collect())
}

/// Whether some processes are not listed at all.
pub(super) fn hidden(roots: &SysPaths) -> Option<UnseenProcesses> {
    if !is_proc_of_initial_namespace(roots) {
        return Some(UnseenProcesses::PidNamespace);
    }
    let mounted = match mounts::mounts(roots) {
        Ok(mounted) => mounted,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Some(UnseenProcesses::ExaminationFailed {
                count: 0,
                process: 0,
                reason: error.to_string(),
            });
        }
    };
    let hides = match procfs(roots) {
        Some(procfs) if shows_parts_only(&procfs, &mounted) => {
            return Some(UnseenProcesses::HiddenProc);
        }
        Some(procfs) => procfs.options.iter().any(|option| hides_processes(option)),
        // A test tree of ordinary files hides nothing; a mount that no table lists may.
        None => is_procfs(roots),
    };
    (hides && !may_examine_all(roots)).then_some(UnseenProcesses::HiddenProc)
}

/// The mount of /proc.
fn procfs(roots: &SysPaths) -> Option<MountEntry> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(&roots.proc, flags, Mode::empty()).ok()?;
    mounts::mount_of_file(roots, &File::from(directory)).filter(|mount| mount.file_system == "proc")
}

fn is_procfs(roots: &SysPaths) -> bool {
    rustix::fs::statfs(&roots.proc).map_or(true, |facts| facts.f_type as u64 == PROCFS)
}

/// Whether entries are hidden from all users: everything that is not a process, or process
/// directories that are mounted over.
fn shows_parts_only(procfs: &MountEntry, mounted: &[MountEntry]) -> bool {
    let covers_process = |mount: &MountEntry| {
        let below = mount
            .mount_point
            .strip_prefix(procfs.mount_point.trim_end_matches('/'));
        let name = below.and_then(|below| below.strip_prefix('/')?.split('/').next());
        name.is_some_and(|name| name.parse::<u32>().is_ok())
    };
    procfs.options.iter().any(|option| option == "subset=pid") || mounted.iter().any(covers_process)
}

fn hides_processes(option: &str) -> bool {
    option.starts_with("hidepid=") && !matches!(option, "hidepid=0" | "hidepid=off")
}

/// Whether this program has CAP_SYS_PTRACE over all processes, which overrides `hidepid`. In a user
/// namespace other than the initial one a capability is valid for that namespace only.
pub(super) fn may_examine_all(roots: &SysPaths) -> bool {
    let status = fs::read_to_string(roots.proc.join("self/status")).unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|value| u64::from_str_radix(value.trim(), 16).ok());
    user_namespace::is_first(roots) && effective.is_some_and(|bits| bits >> CAP_SYS_PTRACE & 1 == 1)
}

/// Whether a file is in the kernel's internal mount for shared memory and unnamed objects. No
/// device node can be created there, and the numbers are the files' own.
pub(super) fn is_kernel_memory(id: FileId) -> bool {
    static DEVICES: OnceLock<Vec<u64>> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| {
        let memory = rustix::fs::memfd_create("diskscope", MemfdFlags::CLOEXEC);
        let nameless = rustix::event::eventfd(0, EventfdFlags::CLOEXEC);
        let device = |file: OwnedFd| Some(rustix::fs::fstat(file).ok()?.st_dev);
        let found = [memory, nameless];
        found
            .into_iter()
            .filter_map(|file| device(file.ok()?))
            .collect()
    });
    matches!(id, FileId::Inode(device, _) if devices.contains(&device))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(at: &str, options: &[&str]) -> MountEntry {
        MountEntry {
            id: 1,
            parent: 0,
            device_id: (0, 20),
            root: "/".to_owned(),
            mount_point: at.to_owned(),
            path: at.into(),
            file_system: "proc".to_owned(),
            source: "proc".to_owned(),
            source_number: None,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        }
    }

    #[test]
    fn procfs_with_hidden_parts_is_known_by_options_and_mounts() {
        let plain = mount("/proc", &["rw"]);
        let other = [mount("/proc/sys/fs/binfmt_misc", &[]), mount("/proc", &[])];
        assert!(!shows_parts_only(&plain, &other));
        assert!(shows_parts_only(&mount("/proc", &["subset=pid"]), &other));
        assert!(shows_parts_only(&plain, &[mount("/proc/17", &[])]));
        assert!(shows_parts_only(&plain, &[mount("/proc/17/fd", &[])]));
        assert!(
            ["hidepid=2", "hidepid=invisible"]
                .into_iter()
                .all(hides_processes)
        );
        assert!(
            !["hidepid=0", "hidepid=off", "rw"]
                .into_iter()
                .any(hides_processes)
        );
    }

    #[test]
    fn process_is_new_once_and_again_when_its_number_is_used_again() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let seven = roots.proc.join("7");
        fs::create_dir_all(&seven).unwrap();
        let mut list = ProcessList::default();
        let new = |list: &mut ProcessList| -> Vec<u32> {
            let new = list.new_processes(&roots).unwrap();
            new.into_iter().map(|one| one.process).collect()
        };
        assert_eq!(new(&mut list), [7]);
        assert!(new(&mut list).is_empty());
        // Kept, so that the inode number is not given to the next one.
        fs::rename(&seven, tree.path().join("ended")).unwrap();
        fs::create_dir(&seven).unwrap();
        assert_eq!(new(&mut list), [7]);
        assert!(new(&mut list).is_empty());
    }

    #[test]
    fn anonymous_memory_is_distinguished_from_files() {
        let memory = File::from(rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
        assert!(is_kernel_memory(FileId::of_metadata(
            &memory.metadata().unwrap()
        )));
        let file = tempfile::tempfile().unwrap();
        assert!(!is_kernel_memory(FileId::of_metadata(
            &file.metadata().unwrap()
        )));
    }
}
