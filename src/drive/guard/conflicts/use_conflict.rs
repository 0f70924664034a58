//! Uses of a medium that forbid writing.

use std::io;
use std::path::PathBuf;

use crate::drive::guard::conflicts::unseen_processes::UnseenProcesses;
use crate::drive::identity::sanitized;

/// A use that forbids writing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseConflict {
    /// A file system is mounted.
    Mounted {
        /// The device that holds it, or the file.
        device: String,
        /// Mount point.
        at: String,
    },
    /// A file system is mounted in another mount namespace, such as a container's.
    MountedInOtherNamespace {
        /// The device that holds it, or the file.
        device: String,
        /// Mount point in that namespace.
        at: String,
        /// A process of that namespace.
        process: u32,
    },
    /// It is a member of a mounted multi-device file system.
    FileSystemMember {
        /// The device.
        device: String,
        /// Type and identity of the file system, such as `btrfs UUID`.
        file_system: String,
    },
    /// The kernel uses it as swap.
    UsedAsSwap {
        /// The device or file.
        device: String,
    },
    /// A loop device is attached to it.
    AttachedLoopDevice {
        /// The device or file.
        device: String,
        /// The loop device.
        by: String,
    },
    /// Another device is stacked on it.
    HeldByDevice {
        /// The device.
        device: String,
        /// The upper device.
        by: String,
    },
    /// Another device in use covers, or may cover, the same sectors.
    OverlappingSectors {
        /// The other device.
        device: String,
        /// The common lower device, or the disk that both are paths to.
        lower: String,
    },
    /// It has sectors of the partition table of a disk, of which another partition is in use.
    PartitionTable {
        /// The other partition.
        partition: String,
        /// The disk.
        disk: String,
    },
    /// A device that appeared during the run is another path to the same disk.
    OtherPath {
        /// The device.
        device: String,
        /// The disk, by the name of the path in use.
        disk: String,
    },
    /// The kernel exports it to other machines.
    Exported {
        /// The device or file.
        device: String,
        /// The exporter, such as `nvmet subsystem NAME`.
        by: String,
    },
    /// The kernel writes to it by itself, without a file system.
    WrittenByKernel {
        /// The device.
        device: String,
        /// What writes, such as `OCFS2 heartbeat region NAME`.
        by: String,
    },
    /// A process has it open.
    OpenByProcess {
        /// The device or file.
        device: String,
        /// Process ID.
        process: u32,
        /// Name of the process.
        command: String,
        /// Whether by a shared writable mapping rather than by a descriptor.
        mapped: bool,
    },
    /// A process has it mapped, for any purpose.
    MappedByProcess {
        /// The device or file.
        device: String,
        /// Process ID.
        process: u32,
        /// Name of the process.
        command: String,
    },
    /// A process reads it and serves a file system, a block device or the disk of a virtual machine,
    /// possibly from it.
    Served {
        /// The device or file.
        device: String,
        /// Process ID.
        process: u32,
        /// Name of the process.
        command: String,
    },
    /// A client of the NFS server of this machine has it open for writing.
    OpenByNfsClient {
        /// The file.
        device: String,
        /// The address of the client, or its number at the server.
        client: String,
    },
    /// A user that /proc does not show has it open for writing.
    OpenByUnknown {
        /// The file.
        device: String,
    },
    /// Another process holds a lease on it (fcntl(2), `F_SETLEASE`), which opening it would break.
    Leased {
        /// The file.
        device: String,
    },
    /// Another process holds a lock on it.
    Locked {
        /// The device or file.
        device: String,
        /// ID and name of the process, if known.
        by: Option<(u32, String)>,
    },
    /// Another program, or a file system in another namespace, has a device with the same bytes
    /// open exclusively (`O_EXCL`).
    AliasOpenedExclusively {
        /// That device.
        device: String,
    },
    /// It has sectors of the partition table of a disk, and another program, or a file system in
    /// another namespace, has another partition open exclusively (`O_EXCL`).
    PartitionOpenedExclusively {
        /// The other partition.
        partition: String,
        /// The disk.
        disk: String,
    },
    /// Another program, or a file system in another namespace, has it open exclusively (`O_EXCL`).
    OpenedExclusively,
    /// It is an md array in a container with metadata of a controller (IMSM, DDF), and mdmon(8),
    /// which writes them, has the disks open.
    KeptByMdmon {
        /// The container.
        container: String,
    },
}

/// The name of mdmon(8) in /proc.
const MDMON: &str = "mdmon";

/// Where an export was configured, and as what. Another source is another export.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExportSource {
    /// Its directory in configfs or sysfs: it has the namespace, LUN or the like.
    pub directory: PathBuf,
    /// The path or device as it was configured; `None` if it cannot be read.
    pub path: Option<PathBuf>,
    /// When it was switched on, in seconds and nanoseconds since 1970: a relative path may lead
    /// elsewhere each time.
    pub enabled_at: Option<(i64, u32)>,
}

/// A possible use of a medium that could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnresolvedUse {
    /// The backing file of a loop device is unknown.
    LoopDevice {
        /// The loop device.
        device: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The file that a file system is mounted from is unknown.
    MountSource {
        /// Mount point.
        at: String,
        /// Source in the mount table.
        source: String,
    },
    /// The file is unknown that a file system is mounted from, and possibly no visible mount table
    /// lists it.
    UnlistedMountSource {
        /// Its name in sysfs.
        name: String,
    },
    /// Whether a process or the kernel uses a file by another path, through an overlay, is unknown:
    /// what is used there cannot be compared with it.
    IncomparableFile {
        /// The file.
        file: String,
    },
    /// Whether the file that a client of the NFS server has open for writing is this one is unknown.
    OpenByNfsClient {
        /// The file.
        device: String,
        /// The address of the client, or its number at the server.
        client: String,
    },
    /// The readers of a file are unknown.
    OpenForReading,
    /// Whether a device with the same bytes is in use is unknown.
    AliasInUse {
        /// The device.
        device: String,
        /// Reason of the failure.
        reason: String,
    },
    /// It is, or is on, a block device of flash memory (MTD). File systems such as JFFS2, and UBI,
    /// use that memory without opening the block device.
    FlashMemory {
        /// The block device of the flash memory.
        device: String,
    },
    /// The file of the upper directory behind an overlay file is unknown.
    OverlayUpperFile {
        /// The mount point of the overlay.
        at: String,
    },
    /// The users of the file by the other one of its two inodes are unknown: that of a stacked file
    /// system (ecryptfs or the like), and that of the file below it.
    StackedFile {
        /// The mount point of the stacked file system.
        at: String,
        /// Its type.
        file_system: String,
    },
    /// The device or file that is exported to other machines is unknown.
    Export {
        /// The exporter.
        by: String,
        /// What distinguishes it from any other export, also of the same exporter.
        source: ExportSource,
    },
    /// The list of what the kernel exports, or writes to by itself, is unknown.
    UnlistedExports {
        /// The part of the kernel.
        by: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The processes that have it open are unknown.
    OpenDescriptors(UnseenProcesses),
    /// The content of a kernel table is unknown because it cannot be read.
    UnreadableTable {
        /// The file or directory.
        path: String,
        /// Reason of the failure.
        reason: String,
    },
    /// Whether it came into use during writing is unknown.
    UseWhileWriting {
        /// Reason of the failure.
        reason: &'static str,
    },
    /// What it consists of changed during writing.
    ReplacedTable {
        /// The device-mapper device that got another table.
        device: String,
    },
    /// The mounts of other mount namespaces are unknown.
    OtherNamespaceMounts {
        /// Reason of the failure.
        reason: &'static str,
    },
    /// Whether anyone has the file open is unknown: no lease can be taken on it.
    LeaseUnavailable {
        /// Reason of the failure.
        reason: String,
    },
}

impl UseConflict {
    /// The device or file that a process has open.
    pub(super) fn opened_device(&self) -> Option<&str> {
        match self {
            Self::OpenByProcess { device, .. }
            | Self::MappedByProcess { device, .. }
            | Self::Served { device, .. } => Some(device),
            _ => None,
        }
    }

    /// What a user named mdmon means where arrays of these containers are below the target.
    pub(super) fn mdmon_of_containers(
        conflicts: &[Self],
        containers: &[String],
    ) -> impl Iterator<Item = Self> {
        let is_mdmon =
            |it: &Self| matches!(it, Self::OpenByProcess { command, .. } if command == MDMON);
        let kept = conflicts.iter().any(is_mdmon).then_some(containers);
        let containers = kept.unwrap_or_default().to_vec().into_iter();
        containers.map(|container| Self::KeptByMdmon { container })
    }
}

impl UnresolvedUse {
    /// The question about a table that cannot be read.
    pub(super) fn unreadable(path: &std::path::Path, error: &io::Error) -> Self {
        Self::UnreadableTable {
            path: sanitized(&path.to_string_lossy()),
            reason: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mdmon_is_explained_where_there_is_a_container() {
        let user = |command: &str| UseConflict::OpenByProcess {
            device: "sdb".to_owned(),
            process: 487,
            command: command.to_owned(),
            mapped: false,
        };
        let explained = |command: &str, containers: &[String]| -> Vec<String> {
            let users = [user(command)];
            let found = UseConflict::mdmon_of_containers(&users, containers);
            found.map(|it| it.to_string()).collect()
        };
        let containers = ["md127".to_owned()];
        let lines = explained("mdmon", &containers);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("the container md127"), "{lines:?}");
        assert!(explained("mdmon", &[]).is_empty());
        assert!(explained("dd", &containers).is_empty());
    }
}
