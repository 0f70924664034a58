//! Text of uses and unresolved uses.

use std::fmt;

use crate::drive::guard::conflicts::unseen_processes::UnseenProcesses;
use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};

impl fmt::Display for UseConflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => write!(formatter, "{device} is mounted at {at}"),
            Self::MountedInOtherNamespace {
                device,
                at,
                process,
            } => write!(
                formatter,
                "{device} is mounted at {at} in the mount namespace of process {process}"
            ),
            Self::FileSystemMember {
                device,
                file_system,
            } => write!(
                formatter,
                "{device} belongs to the mounted file system {file_system}"
            ),
            Self::UsedAsSwap { device } => write!(formatter, "the kernel swaps to {device}"),
            Self::AttachedLoopDevice { device, by } => {
                write!(formatter, "{by} is attached to {device}")
            }
            Self::HeldByDevice { device, by } => write!(formatter, "{by} is stacked on {device}"),
            Self::OverlappingSectors { device, lower } => write!(
                formatter,
                "{device} is in use and has, or may have, the same sectors of {lower}"
            ),
            Self::PartitionTable { partition, disk } => write!(
                formatter,
                "the target has sectors of the partition table of {disk}, without which {partition} \
                 is lost"
            ),
            Self::OtherPath { device, disk } => write!(
                formatter,
                "{device}, which appeared meanwhile, is another path to the disk {disk}"
            ),
            Self::Exported { device, by } => write!(formatter, "{by} exports {device}"),
            Self::WrittenByKernel { device, by } => write!(formatter, "{by} writes to {device}"),
            Self::OpenByProcess {
                device,
                process,
                command,
                mapped: false,
            } => write!(
                formatter,
                "process {process} ({command}) has {device} open for writing"
            ),
            Self::OpenByProcess {
                device,
                process,
                command,
                mapped: true,
            } => write!(
                formatter,
                "process {process} ({command}) has {device} mapped for writing"
            ),
            Self::MappedByProcess {
                device,
                process,
                command,
            } => write!(
                formatter,
                "process {process} ({command}) has {device} mapped"
            ),
            Self::Served {
                device,
                process,
                command,
            } => write!(
                formatter,
                "process {process} ({command}) reads {device} and may serve a file system, \
                 a block device or the disk of a virtual machine from it"
            ),
            Self::OpenByNfsClient { device, client } => write!(
                formatter,
                "the NFS client {client} of this machine has {device} open for writing"
            ),
            Self::OpenByUnknown { device } => write!(
                formatter,
                "a process that /proc does not show, or the kernel, has {device} open for writing"
            ),
            Self::Leased { device } => write!(
                formatter,
                "another process holds a lease on {device}, as file servers do"
            ),
            Self::Locked {
                device,
                by: Some((process, command)),
            } => write!(
                formatter,
                "process {process} ({command}) holds a lock on {device}"
            ),
            Self::Locked { device, by: None } => {
                write!(formatter, "another program holds a lock on {device}")
            }
            Self::AliasOpenedExclusively { device } => write!(
                formatter,
                "another program or file system has opened {device}, which has the same bytes, exclusively"
            ),
            Self::PartitionOpenedExclusively { partition, disk } => write!(
                formatter,
                "another program or file system has opened {partition} exclusively, and the target \
                 has sectors of the partition table of {disk}, without which {partition} is lost"
            ),
            Self::OpenedExclusively => write!(
                formatter,
                "another program or file system has opened it exclusively"
            ),
            Self::KeptByMdmon { container } => write!(
                formatter,
                "mdmon has the disks of the container {container} open for as long as an array of \
                 it runs, to write the metadata of the controller (IMSM, DDF): no such array can be \
                 overwritten, only a file on it"
            ),
        }
    }
}

impl fmt::Display for UnresolvedUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoopDevice { device, reason } => {
                write!(formatter, "what {device} is attached to ({reason})")
            }
            Self::MountSource { at, source } => write!(
                formatter,
                "which file is mounted at {at} (the table of mounts says {source:?})"
            ),
            Self::UnlistedMountSource { name } => write!(
                formatter,
                "which file the file system {name} is mounted from (see /sys/fs/erofs)"
            ),
            Self::IncomparableFile { file } => write!(
                formatter,
                "whether {file} is in use through an overlay: it cannot be compared with a file \
                 that is in use there"
            ),
            Self::OpenByNfsClient { device, client } => write!(
                formatter,
                "whether {device} is what the NFS client {client} of this machine has open for \
                 writing"
            ),
            Self::OpenForReading => write!(
                formatter,
                "which process has it open for reading: none is visible; perhaps the kernel, for \
                 a file system in it"
            ),
            Self::AliasInUse { device, reason } => write!(
                formatter,
                "whether {device}, which has the same bytes, is in use ({reason})"
            ),
            Self::FlashMemory { device } => write!(
                formatter,
                "whether a file system or UBI uses the flash memory of {device}: they use MTD \
                 without opening the block device"
            ),
            Self::OverlayUpperFile { at } => write!(
                formatter,
                "which process uses the file in the upper directory of the overlay at {at}"
            ),
            Self::StackedFile { at, file_system } => write!(
                formatter,
                "which process uses the file below and through the {file_system} at {at}, which \
                 shows it as another file"
            ),
            Self::UnlistedExports { by, reason } => {
                write!(formatter, "what {by} uses or exports ({reason})")
            }
            Self::Export { by, .. } => write!(
                formatter,
                "what {by} exports (its path is missing, is relative, or may have changed since \
                 it was set up)"
            ),
            Self::OpenDescriptors(unseen) => {
                write!(formatter, "which processes have it open ({unseen})")
            }
            Self::UnreadableTable { path, reason } => {
                write!(formatter, "the contents of {path} ({reason})")
            }
            Self::UseWhileWriting { reason } => {
                write!(formatter, "whether it came into use meanwhile ({reason})")
            }
            Self::ReplacedTable { device } => write!(
                formatter,
                "what it consists of now: {device} got another table, or its table can no longer \
                 be read"
            ),
            Self::OtherNamespaceMounts { reason } => write!(
                formatter,
                "what is mounted in other mount namespaces ({reason})"
            ),
            Self::LeaseUnavailable { reason } => {
                write!(
                    formatter,
                    "whether another process has it open (no lease: {reason})"
                )
            }
        }
    }
}

impl fmt::Display for UnseenProcesses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PidNamespace => write!(
                formatter,
                "this PID namespace does not show the processes of the host"
            ),
            Self::HiddenProc => write!(formatter, "/proc hides the processes of other users"),
            Self::Changing => write!(
                formatter,
                "processes start others faster than they can be examined"
            ),
            Self::PermissionDenied { count, process } => write!(
                formatter,
                "descriptors or mappings of {count} processes, such as {process}, may not be \
                 examined"
            ),
            Self::ExaminationFailed {
                count: 0 | 1,
                process: 0,
                reason,
            } => {
                write!(formatter, "the processes cannot be listed: {reason}")
            }
            Self::ExaminationFailed {
                count,
                process,
                reason,
            } => write!(
                formatter,
                "descriptors or mappings of {count} processes, such as {process}, cannot be \
                 examined: {reason}"
            ),
        }
    }
}
