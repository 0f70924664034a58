//! Who uses a device or a file. The one answer to "is it in use?": for refusals, the question before an overwrite,
//! the list of devices, and "safe to unplug".

use std::fmt;
use std::io;

use crate::drive::guard::exports;
use crate::drive::guard::processes::{OpenFile, ProcessScan};
use crate::drive::guard::stack::Stack;
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::{directory_entries, is_absent};
use crate::drive::medium::FileId;
use crate::drive::mounts;
use crate::roots::SysPaths;

/// Somebody who uses a device or a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// A file system on it is mounted in the mount namespace of this process.
    Mounted {
        /// The device of the file system.
        device: String,
        /// Mount point.
        at: String,
    },
    /// The kernel uses it as swap.
    Swap {
        /// The device.
        device: String,
    },
    /// It belongs to a mounted file system of several devices.
    FileSystemMember {
        /// The device.
        device: String,
        /// Type and identity of the file system.
        file_system: String,
    },
    /// Another block device is stacked on it (`holders/` in sysfs).
    Stacked {
        /// The device.
        device: String,
        /// The upper device.
        by: String,
    },
    /// A loop device is attached to it.
    Loop {
        /// The device or file.
        device: String,
        /// The loop device.
        by: String,
    },
    /// The kernel exports it to other machines or to virtual machines.
    Export {
        /// The device or file.
        device: String,
        /// The exporter.
        by: String,
    },
    /// A process has it open: a device for writing, a file in any way.
    Process {
        /// The device or file.
        device: String,
        /// Process ID.
        pid: u32,
        /// Name of the process.
        command: String,
    },
    /// Another program holds a lock on it (flock(2), or fcntl(2)).
    Lock {
        /// The device or file.
        device: String,
    },
    /// Another process holds a lease on the file (fcntl(2)), which opening it would break.
    Lease {
        /// The file.
        device: String,
    },
    /// A file system in another mount namespace, or a program, holds it exclusively (`O_EXCL`).
    Exclusive {
        /// The device.
        device: String,
    },
    /// It is another path to the same disk, and cannot be claimed.
    OtherPath {
        /// That device.
        device: String,
    },
    /// A process that /proc does not show, or the kernel, has the file open.
    Unlisted {
        /// The file.
        device: String,
    },
}

/// Something that may use a device or a file, and cannot be examined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownUse {
    /// Descriptors of processes may not be examined.
    Processes {
        /// Their number.
        count: usize,
        /// One of them.
        example: u32,
    },
    /// /proc does not show all processes of the host: of another PID namespace, or mounted with `hidepid`.
    HiddenProcesses,
    /// What a part of the kernel exports, or to what it was told to export.
    Exports {
        /// The exporter.
        by: String,
    },
    /// What a loop device is attached to.
    Loop {
        /// The loop device.
        device: String,
    },
    /// A table of the kernel.
    Table {
        /// Its path.
        path: String,
        /// Why it cannot be read.
        error: String,
    },
}

/// What a search is for.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// Block devices by kernel name, with their partitions, what is stacked on them, and what they are on.
    Devices(&'a [&'a str]),
    /// A regular file, with its name for display.
    File(FileId, &'a str),
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// The users that were found, each once.
    pub users: Vec<User>,
    /// What could not be examined.
    pub unknown: Vec<UnknownUse>,
}

/// Finds the users of devices or of a file. Opens none of them; loop devices are opened for their status.
#[must_use]
pub fn find_users(roots: &SysPaths, subject: Subject<'_>) -> Uses {
    let stack = Stack::new(roots, subject);
    let mut uses = Uses::default();
    uses.add_claims(roots, &stack);
    uses.add_unclaimed(roots, &stack);
    let mut scan = ProcessScan::new(roots, &stack);
    while scan.examine_next() {}
    uses.add_scan(scan);
    uses
}

/// As [`find_users`], without processes.
#[must_use]
pub fn find_kernel_users(roots: &SysPaths, subject: Subject<'_>) -> Uses {
    let stack = Stack::new(roots, subject);
    let mut uses = Uses::default();
    uses.add_claims(roots, &stack);
    uses.add_unclaimed(roots, &stack);
    uses
}

impl Uses {
    /// What claims devices: named for the message, the kernel enforces it.
    fn add_claims(&mut self, roots: &SysPaths, stack: &Stack) {
        let mounted = mounts::mounts(roots);
        let swapped = mounts::swaps(roots);
        self.note_error(roots, "self/mountinfo", mounted.as_ref().err());
        self.note_error(roots, "swaps", swapped.as_ref().err());
        let (mounted, swapped) = (mounted.unwrap_or_default(), swapped.unwrap_or_default());
        for (name, number) in stack.claimable() {
            let device = || name.to_owned();
            for mount in mounted.iter().filter(|mount| mount.is_on(number)) {
                let at = sanitized(&mount.mount_point);
                self.add(User::Mounted {
                    device: device(),
                    at,
                });
            }
            if swapped.iter().any(|swap| swap.number == Some(number)) {
                self.add(User::Swap { device: device() });
            }
            if let Some(file_system) = btrfs_of_member(roots, name) {
                let device = device();
                self.add(User::FileSystemMember {
                    device,
                    file_system,
                });
            }
        }
        for (device, by) in &stack.holders {
            let (device, by) = (device.clone(), by.clone());
            self.add(User::Stacked { device, by });
        }
    }

    /// What uses devices and files without a claim, and without a descriptor of a process.
    pub(super) fn add_unclaimed(&mut self, roots: &SysPaths, stack: &Stack) {
        self.unknown.extend(stack.unknown.iter().cloned());
        for (device, by) in &stack.attached_loops {
            let (device, by) = (device.clone(), by.clone());
            self.add(User::Loop { device, by });
        }
        let exports = exports::list_exports(roots);
        for export in exports.exports {
            if let Some(device) = stack.name_of(export.target) {
                let (device, by) = (device.to_owned(), export.by);
                self.add(User::Export { device, by });
            }
        }
        let unknown = exports.unknown.into_iter();
        self.unknown
            .extend(unknown.map(|by| UnknownUse::Exports { by }));
    }

    /// What a complete scan of the processes found.
    pub(super) fn add_scan(&mut self, scan: ProcessScan<'_>) {
        let (found, unknown) = scan.finish();
        for OpenFile {
            device,
            pid,
            command,
        } in found
        {
            self.add(User::Process {
                device,
                pid,
                command,
            });
        }
        self.unknown.extend(unknown);
    }

    pub(super) fn add(&mut self, user: User) {
        if !self.users.contains(&user) {
            self.users.push(user);
        }
    }

    fn note_error(&mut self, roots: &SysPaths, file: &str, error: Option<&io::Error>) {
        if let Some(error) = error {
            self.unknown.push(UnknownUse::Table {
                path: roots.proc.join(file).display().to_string(),
                error: error.to_string(),
            });
        }
    }
}

/// The mounted btrfs that has a device: the mount table lists one of several (sysfs
/// `fs/btrfs/UUID/devices`).
fn btrfs_of_member(roots: &SysPaths, name: &str) -> Option<String> {
    let file_systems = roots.sys.join("fs/btrfs");
    let mut identities = directory_entries(&file_systems).into_iter();
    let has_device = |uuid: &String| {
        let link = file_systems.join(uuid).join("devices").join(name);
        std::fs::symlink_metadata(link).is_ok()
    };
    identities
        .find(has_device)
        .map(|uuid| format!("btrfs {uuid}"))
}

/// A failed reading of a directory of the kernel, unless it does not exist.
pub(super) fn unreadable(path: &std::path::Path, error: &io::Error) -> Option<UnknownUse> {
    (!is_absent(error)).then(|| UnknownUse::Table {
        path: sanitized(&path.to_string_lossy()),
        error: error.to_string(),
    })
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => write!(f, "{device} is mounted at {at}"),
            Self::Swap { device } => write!(f, "{device} is used as swap"),
            Self::FileSystemMember {
                device,
                file_system,
            } => write!(f, "{device} is a member of the mounted {file_system}"),
            Self::Stacked { device, by } => write!(f, "{device} is held by {by}"),
            Self::Loop { device, by } => write!(f, "loop device {by} is attached to {device}"),
            Self::Export { device, by } => write!(f, "{device} is exported by {by}"),
            Self::Process {
                device,
                pid,
                command,
            } => write!(f, "process {pid} ({command}) has {device} open"),
            Self::Lock { device } => write!(f, "another program holds a lock on {device}"),
            Self::Lease { device } => write!(f, "another process holds a lease on {device}"),
            Self::Exclusive { device } => write!(
                f,
                "{device} is held exclusively, by a file system in another mount namespace, a pool of ZFS, or a program"
            ),
            Self::OtherPath { device } => write!(
                f,
                "{device} is another path to the same disk, and is in use or came up meanwhile"
            ),
            Self::Unlisted { device } => write!(
                f,
                "{device} is open in the kernel, or in a process that cannot be seen"
            ),
        }
    }
}

impl fmt::Display for UnknownUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes { count, example } => write!(
                f,
                "the descriptors of {count} processes, such as {example}, may not be examined"
            ),
            Self::HiddenProcesses => {
                f.write_str("/proc does not show the processes of the whole host")
            }
            Self::Exports { by } => write!(f, "what {by} exports is not known"),
            Self::Loop { device } => write!(f, "what {device} is attached to is not known"),
            Self::Table { path, error } => write!(f, "{path} cannot be read: {error}"),
        }
    }
}
