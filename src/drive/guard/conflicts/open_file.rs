//! How a process uses a file, and the identity of that file.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use crate::drive::guard::conflicts::same_file::FileSameness;
use crate::drive::medium::FileId;

/// How a process has something open, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpenKind {
    /// By a descriptor that writes.
    OpenForWriting,
    /// By a shared writable mapping.
    MappedForWriting,
    /// By a descriptor with a lock.
    Locked,
    /// By a descriptor that only reads a block device, with a shared flock(2) lock: as udev does while it
    /// examines the device.
    LockedByReader,
    /// By any other mapping, such as that of a program or library.
    Mapped,
    /// For reading, by a process that serves a file system, a block device or the disk of a virtual
    /// machine, perhaps from it.
    Served,
    /// In any of these ways, perhaps: what is open cannot be compared with what is wanted.
    Incomparable,
}

impl OpenKind {
    /// This kind, for what may only perhaps be wanted.
    pub(super) fn if_wanted(self, sameness: FileSameness) -> Self {
        match sameness {
            FileSameness::Unknown => Self::Incomparable,
            FileSameness::Same | FileSameness::Different => self,
        }
    }
}

/// What a process has open, and how; each once.
pub(super) type OpenFiles = BTreeSet<(OpenKind, FileId)>;

/// Whether what has that identity, and can be looked at by that path, is wanted.
pub(super) type IsWanted<'a> = dyn Fn(FileId, &Path) -> FileSameness + 'a;

/// What a path leads to.
#[derive(Debug)]
pub(super) struct Facts {
    /// A block device by its number, everything else by its inode.
    pub id: FileId,
    /// The inode, of a device that of its node.
    pub inode: FileId,
    /// Number of the character device that it is, if it is one.
    pub character_device: Option<(u32, u32)>,
    /// Whether it is a socket.
    pub is_socket: bool,
    /// Whether it is a regular file or a block device. Everything else (a pipe, a socket, an
    /// anonymous inode) has no bytes of a medium.
    pub may_be_medium: bool,
}

/// What a path leads to, without asking the server of a network file system.
pub(super) fn facts(path: &Path) -> io::Result<Facts> {
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
        is_socket: kind == FileType::Socket,
        may_be_medium: matches!(kind, FileType::BlockDevice | FileType::RegularFile),
    })
}
