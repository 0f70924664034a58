//! A target with a descriptor that anchors it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode as Permissions, OFlags};

use super::{Target, TargetKind};
use crate::drive::guard::{self, WritePermit};
use crate::drive::mounts::split_number;
use crate::drive::{DriveError, failed};
use crate::roots::Roots;

/// What makes two names the same thing: of a block device its number, whatever node leads there;
/// of a file the file system and the inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileId {
    /// A block device, by major and minor number.
    Device(u32, u32),
    /// Anything else, by `st_dev` and inode.
    Inode(u64, u64),
}

impl FileId {
    /// The identity of what a descriptor or path leads to.
    #[must_use]
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        if metadata.file_type().is_block_device() {
            let (major, minor) = split_number(metadata.rdev());
            Self::Device(major, minor)
        } else {
            Self::Inode(metadata.dev(), metadata.ino())
        }
    }
}

/// Whether a descriptor writes. Nothing but a [`WritePermit`] leads to one that does.
#[derive(Debug, Clone, Copy, Default)]
pub enum Mode<'a> {
    /// `O_RDONLY`.
    #[default]
    Read,
    /// `O_RDWR`, as permitted.
    Write(&'a WritePermit),
}

/// When a write on a descriptor counts as done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it was taken.
    #[default]
    None,
    /// `O_DSYNC`.
    Data,
    /// `O_SYNC`.
    Everything,
}

/// How a medium is opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Access<'a> {
    /// Whether it may be written.
    pub mode: Mode<'a>,
    /// `O_DIRECT`: past the page cache.
    pub direct: bool,
    /// When a write is done.
    pub durability: Durability,
}

impl Access<'_> {
    fn flags(self) -> OFlags {
        let mut flags = match self.mode {
            Mode::Read => OFlags::RDONLY,
            Mode::Write(_) => OFlags::RDWR,
        };
        flags.set(OFlags::DIRECT, self.direct);
        flags |= match self.durability {
            Durability::None => OFlags::empty(),
            Durability::Data => OFlags::DSYNC,
            Durability::Everything => OFlags::SYNC,
        };
        flags | OFlags::CLOEXEC
    }
}

/// A target and a descriptor that anchors it: whatever happens to the name meanwhile, every
/// [`open`](Self::open) reaches the same inode.
#[derive(Debug)]
pub struct Medium {
    /// What it is.
    pub target: Target,
    anchor: File,
    id: FileId,
    roots: Roots,
    filled: AtomicBool,
}

impl Medium {
    pub(super) fn new(roots: &Roots, target: Target, anchor: File, id: FileId) -> Self {
        Self {
            filled: AtomicBool::new(target.kind != TargetKind::Scratch),
            target,
            anchor,
            id,
            roots: roots.clone(),
        }
    }

    /// What makes it the same as something else.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Where the kernel's file systems are found.
    #[must_use]
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Number of the block device that it is, if it is one.
    #[must_use]
    pub fn device_number(&self) -> Option<(u32, u32)> {
        match self.id {
            FileId::Device(major, minor) => Some((major, minor)),
            FileId::Inode(..) => None,
        }
    }

    /// The anchoring descriptor; it reads (of a scratch file it also writes).
    pub(in crate::drive) fn anchor(&self) -> &File {
        &self.anchor
    }

    /// Whether there is data in it: false for a scratch file until it is filled.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::Acquire)
    }

    pub(in crate::drive) fn set_filled(&self) {
        self.filled.store(true, Ordering::Release);
    }

    /// Another descriptor of the same inode, for reading or, with a permit for this very medium,
    /// for writing too. What forbids writing is looked for once more after opening.
    ///
    /// # Errors
    /// When the kernel refuses (`O_DIRECT` that the file system lacks, a device that is gone), or
    /// when writing has become unsafe since the permit was given.
    pub fn open(&self, access: Access<'_>) -> Result<OwnedFd, DriveError> {
        if let Mode::Write(permit) = access.mode
            && permit.id() != self.id
        {
            return Err(self.changed());
        }
        let descriptor = reopen(self.anchor.as_fd(), access.flags())
            .map_err(failed("open", &self.target.name))?;
        let file = File::from(descriptor);
        let metadata = file
            .metadata()
            .map_err(failed("look at", &self.target.name))?;
        if FileId::of(&metadata) != self.id {
            return Err(self.changed());
        }
        if matches!(access.mode, Mode::Write(_)) {
            guard::check_opened(&self.roots, self)?;
        }
        Ok(file.into())
    }

    fn changed(&self) -> DriveError {
        DriveError::Changed {
            name: self.target.name.clone(),
        }
    }
}

/// Opens the inode behind a descriptor anew, with other flags (proc_pid_fd(5): the link leads to
/// the open file itself, also when its name is gone).
pub(super) fn reopen(anchor: BorrowedFd<'_>, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(
        format!("/proc/self/fd/{}", anchor.as_raw_fd()),
        flags,
        Permissions::empty(),
    )
}
