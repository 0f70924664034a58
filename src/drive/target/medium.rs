//! A target with a descriptor that anchors it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode as Permissions, OFlags};

use super::{IdentityChange, MediumIdentity, Target, TargetKind};
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
    identity: MediumIdentity,
    resolved: Option<PathBuf>,
    roots: Roots,
    filled: AtomicBool,
}

impl Medium {
    /// # Errors
    /// When the kernel does not tell what the descriptor leads to.
    pub(super) fn new(roots: &Roots, target: Target, anchor: File) -> Result<Self, DriveError> {
        let identity =
            MediumIdentity::read(roots, &anchor).map_err(failed("identify", &target.name))?;
        // The kernel's own answer for the open file: a symlink that changes meanwhile has no part
        // in it (proc_pid_fd(5)).
        let resolved = std::fs::read_link(descriptor_path(anchor.as_fd())).ok();
        Ok(Self {
            filled: AtomicBool::new(target.kind != TargetKind::Scratch),
            resolved: resolved.filter(|_| target.kind != TargetKind::Scratch),
            target,
            anchor,
            identity,
            roots: roots.clone(),
        })
    }

    /// What makes it the same as something else.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.identity.file
    }

    /// What it was recognised by when it was opened.
    #[must_use]
    pub fn identity(&self) -> &MediumIdentity {
        &self.identity
    }

    /// The path of the open file without symlinks, as the kernel tells it; ` (deleted)` stands
    /// behind the path of a file that has none any more. `None` for a scratch file.
    #[must_use]
    pub fn resolved_path(&self) -> Option<&Path> {
        self.resolved.as_deref()
    }

    /// How the medium behind the anchoring descriptor differs from what it was when it was opened.
    #[must_use]
    pub fn changed_since_opened(&self) -> Option<IdentityChange> {
        match MediumIdentity::read(&self.roots, &self.anchor) {
            Ok(now) => self.identity.difference(&now),
            Err(_) => Some(IdentityChange::Gone),
        }
    }

    /// How what another descriptor leads to differs from this medium. A device number may lead to
    /// another disk than the one behind the anchoring descriptor, once that was removed.
    #[must_use]
    pub fn difference_to(&self, file: &File) -> Option<IdentityChange> {
        self.identity.difference_to(file)
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
        self.identity.file == file || is_image()
    }

    /// Where the kernel's file systems are found.
    #[must_use]
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Number of the block device that it is, if it is one.
    #[must_use]
    pub fn device_number(&self) -> Option<(u32, u32)> {
        match self.identity.file {
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
            && permit.id() != self.id()
        {
            return Err(self.changed());
        }
        let descriptor = reopen(self.anchor.as_fd(), access.flags())
            .map_err(failed("open", &self.target.name))?;
        let file = File::from(descriptor);
        if self.difference_to(&file).is_some() {
            return Err(self.changed());
        }
        if let Mode::Write(permit) = access.mode {
            guard::check_opened(&self.roots, self, permit)?;
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
    rustix::fs::open(descriptor_path(anchor), flags, Permissions::empty())
}

/// The link to the open file behind a descriptor.
fn descriptor_path(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}
