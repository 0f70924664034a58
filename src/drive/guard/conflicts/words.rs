//! Uses and open questions as text.

use std::fmt;

use super::open_users::Unseen;
use super::{Conflict, Unresolved};

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => write!(formatter, "{device} is mounted at {at}"),
            Self::MountedElsewhere {
                device,
                at,
                process,
            } => write!(
                formatter,
                "{device} is mounted at {at} in the mount namespace of process {process}"
            ),
            Self::Member {
                device,
                file_system,
            } => write!(
                formatter,
                "{device} belongs to the mounted file system {file_system}"
            ),
            Self::Swap { device } => write!(formatter, "the kernel swaps to {device}"),
            Self::Loop { device, by } => write!(formatter, "{by} is attached to {device}"),
            Self::Held { device, by } => write!(formatter, "{by} lies on {device}"),
            Self::SameSectors { device, lower } => write!(
                formatter,
                "{device} is in use and has, or may have, the same sectors of {lower}"
            ),
            Self::OtherPath { device, disk } => write!(
                formatter,
                "{device}, which came up meanwhile, is another path to the disk {disk}"
            ),
            Self::Exported { device, by } => write!(formatter, "{by} exports {device}"),
            Self::Open {
                device,
                process,
                command,
                mapped: false,
            } => write!(
                formatter,
                "process {process} ({command}) has {device} open for writing"
            ),
            Self::Open {
                device,
                process,
                command,
                mapped: true,
            } => write!(
                formatter,
                "process {process} ({command}) has {device} mapped for writing"
            ),
            Self::Mapped {
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
                "process {process} ({command}) reads {device} and serves a FUSE file system, \
                 perhaps from it"
            ),
            Self::OpenUnseen { device } => write!(
                formatter,
                "a process that /proc does not show, or the kernel, has {device} open for writing"
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
            Self::Taken { device } => write!(
                formatter,
                "another program or file system has opened {device}, which has the same bytes, for \
                 itself alone"
            ),
            Self::Exclusive => write!(
                formatter,
                "another program or file system has opened it for itself alone"
            ),
        }
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoopDevice { device, reason } => {
                write!(formatter, "what {device} is attached to ({reason})")
            }
            Self::MountedFile { at, source } => write!(
                formatter,
                "which file is mounted at {at} (the table of mounts says {source:?})"
            ),
            Self::FileSystem { name } => write!(
                formatter,
                "which file the file system {name} is mounted from (see /sys/fs/erofs)"
            ),
            Self::Reader => write!(
                formatter,
                "who has it open for reading: no process that can be seen; perhaps the kernel, for \
                 a file system in it"
            ),
            Self::Device { device, reason } => write!(
                formatter,
                "whether {device}, which has the same bytes, is in use ({reason})"
            ),
            Self::Overlay { at } => write!(
                formatter,
                "who uses the file in the upper directory of the overlay at {at}"
            ),
            Self::Export { by } => write!(formatter, "what {by} exports"),
            Self::Processes(unseen) => write!(formatter, "which processes have it open ({unseen})"),
            Self::Watch { reason } => {
                write!(formatter, "whether it came into use meanwhile ({reason})")
            }
            Self::Mounts { reason } => write!(
                formatter,
                "what is mounted in other mount namespaces ({reason})"
            ),
            Self::Lease { reason } => {
                write!(
                    formatter,
                    "whether anybody has it open (no lease: {reason})"
                )
            }
        }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace => write!(
                formatter,
                "this PID namespace does not show the processes of the host"
            ),
            Self::Hidden => write!(formatter, "/proc hides the processes of other users"),
            Self::Changing => write!(
                formatter,
                "processes start others faster than they can be examined"
            ),
            Self::Forbidden { count, process } => write!(
                formatter,
                "descriptors or mappings of {count} processes, such as {process}, may not be \
                 examined"
            ),
        }
    }
}
