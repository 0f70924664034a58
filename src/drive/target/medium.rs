//! A target with a descriptor that anchors it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode as Permissions, OFlags};

use super::{Target, TargetKind};
use crate::drive::guard::{self, WritePermit};
use crate::drive::{DriveError, failed, ioctl};
use crate::roots::Roots;

pub use crate::named_file::FileId;

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

    /// Whether its bytes lie in this file: it is the file, or a loop device attached to it.
    #[must_use]
    pub fn consists_of(&self, file: FileId) -> bool {
        let is_image = || {
            self.target
                .drive
                .as_ref()
                .is_some_and(|drive| drive.name.starts_with("loop"))
                && ioctl::loop_backing(&self.anchor)
                    .is_ok_and(|image| FileId::Inode(image.device, image.inode) == file)
        };
        self.id == file || is_image()
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
