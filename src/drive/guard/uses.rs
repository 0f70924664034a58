//! Uses of devices and files, and what may be one.

use std::io;

use serde::Serialize;

use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::is_absent;
use crate::files::file_id::FileId;

/// Somebody who uses a device or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{device} {usage}")]
pub struct User {
    /// The device or file.
    pub device: String,
    /// Who, and how.
    #[serde(flatten)]
    pub usage: Usage,
}

/// How a device or a file is used: a sentence that begins with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Usage {
    /// A file system on it is mounted in the mount namespace of this process.
    #[error("is mounted at {at}")]
    Mounted {
        /// Mount point.
        at: String,
    },
    /// A file system on it is mounted in another mount namespace, such as a container's.
    #[error("is mounted at {at} in the mount namespace of process {process}")]
    MountedElsewhere {
        /// Mount point in that namespace.
        at: String,
        /// A process of that namespace.
        process: u32,
    },
    /// The kernel uses it as swap.
    #[error("is used as swap")]
    Swap,
    /// It belongs to a mounted file system of several devices.
    #[error("is a member of the mounted {file_system}")]
    FileSystemMember {
        /// Type and identity of the file system.
        file_system: String,
    },
    /// Another block device is stacked on it (`holders/` in sysfs).
    #[error("is held by {by}")]
    Stacked {
        /// The upper device.
        by: String,
    },
    /// A loop device is attached to it.
    #[error("has the loop device {by} attached")]
    Loop {
        /// The loop device.
        by: String,
    },
    /// The kernel exports it to other machines or to virtual machines.
    #[error("is exported by {by}")]
    Export {
        /// The exporter.
        by: String,
    },
    /// A process has it open: a device for writing, a file in any way.
    #[error("is open in process {pid} ({command})")]
    Process {
        /// Process ID.
        pid: u32,
        /// Name of the process.
        command: String,
    },
    /// Another program holds a lock on it (flock(2), or fcntl(2)).
    #[error("is locked by another program")]
    Lock,
    /// Another process holds a lease on the file (fcntl(2)), which opening it would break.
    #[error("has a lease of another process on it")]
    Lease,
    /// A file system in another mount namespace, or a program, holds it exclusively (`O_EXCL`).
    #[error("is held exclusively (by a mount elsewhere, ZFS or a program)")]
    Exclusive,
    /// It is another path to the same disk, and cannot be claimed.
    #[error("is another path to the same disk, and is in use or came up meanwhile")]
    OtherPath,
    /// A process that /proc does not show, or the kernel, has the file open.
    #[error("is open in the kernel, or in a process that cannot be seen")]
    Unlisted,
}

impl User {
    /// A user of a device or file.
    #[must_use]
    pub fn new(device: impl Into<String>, usage: Usage) -> Self {
        let device = device.into();
        Self { device, usage }
    }
}

/// Something that may use a device or a file, and cannot be examined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownUse {
    /// Descriptors of processes may not be examined.
    #[error("the descriptors of {count} processes, such as {example}, may not be examined")]
    Processes {
        /// Their number.
        count: usize,
        /// One of them.
        example: u32,
    },
    /// /proc does not show all processes of the host: of another PID namespace, or mounted with `hidepid`.
    #[error("/proc does not show the processes of the whole host")]
    HiddenProcesses,
    /// What a part of the kernel exports, or to what it was told to export.
    #[error("what {by} exports is not known")]
    Exports {
        /// The exporter.
        by: String,
    },
    /// What a loop device is attached to.
    #[error("what {device} is attached to is not known")]
    Loop {
        /// The loop device.
        device: String,
    },
    /// A table of the kernel.
    #[error("{path} cannot be read: {error}")]
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

/// A failed reading of a directory of the kernel, unless it does not exist.
pub(super) fn unreadable(path: &std::path::Path, error: &io::Error) -> Option<UnknownUse> {
    (!is_absent(error)).then(|| UnknownUse::Table {
        path: sanitized(&path.to_string_lossy()),
        error: error.to_string(),
    })
}
