//! A target with the descriptor that anchors it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode as Permissions, OFlags};
use rustix::io::Errno;

use crate::drive::error::{DriveError, io_error_context};
use crate::drive::ioctl;
use crate::drive::medium::identity::MediumIdentity;
use crate::drive::medium::identity_change::IdentityChange;
use crate::drive::medium::target::{Target, TargetKind};
use crate::roots::SysPaths;

pub use crate::files::file_id::FileId;

/// A target and the descriptor that anchors it: even if the name changes, every
/// [`open`](Self::open) opens the same inode.
#[derive(Debug)]
pub struct OpenMedium {
    /// Properties of the target.
    pub target: Target,
    path: PathBuf,
    anchor_file: File,
    identity: MediumIdentity,
    resolved: Option<PathBuf>,
    sys_paths: SysPaths,
    is_filled: AtomicBool,
}

impl OpenMedium {
    /// # Errors
    /// When the kernel does not report the identity of the open file.
    pub(super) fn new(
        roots: &SysPaths,
        target: Target,
        path: &Path,
        anchor: File,
    ) -> Result<Self, DriveError> {
        let identity = MediumIdentity::read(roots, &anchor)
            .map_err(io_error_context("identify", &target.name))?;
        // The kernel reports the path of the open file itself, so a symlink that changes in the
        // meantime has no effect (proc_pid_fd(5)).
        let resolved = std::fs::read_link(descriptor_path(anchor.as_fd())).ok();
        Ok(Self {
            is_filled: AtomicBool::new(target.kind != TargetKind::ScratchFile),
            resolved: resolved.filter(|_| target.kind != TargetKind::ScratchFile),
            target,
            path: path.to_owned(),
            anchor_file: anchor,
            identity,
            sys_paths: roots.clone(),
        })
    }

    /// The path that it was opened by, byte for byte. The name of the target is the same path as
    /// text that can be printed, which other paths may have too.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device number, or file system and inode.
    #[must_use]
    pub fn file_id(&self) -> FileId {
        self.identity.file_id
    }

    /// Identity recorded when it was opened.
    #[must_use]
    pub fn identity(&self) -> &MediumIdentity {
        &self.identity
    }

    /// The path of the open file without symlinks, as the kernel reports it; it ends in `
    /// (deleted)` if the file has no name any more. `None` for a scratch file.
    #[must_use]
    pub fn resolved_path(&self) -> Option<&Path> {
        self.resolved.as_deref()
    }

    /// The difference between the medium now and the medium when it was opened.
    #[must_use]
    pub fn changed_since_opened(&self) -> Option<IdentityChange> {
        match MediumIdentity::read(&self.sys_paths, &self.anchor_file) {
            Ok(now) => self.identity.first_difference(&now),
            Err(_) => Some(IdentityChange::DeviceGone),
        }
    }

    /// The difference between the block device behind the anchor now and when it was opened, as far
    /// as the descriptor itself shows it; `None` for a regular file, which stays the one that was
    /// opened.
    #[must_use]
    pub fn device_changed_since_opened(&self) -> Option<IdentityChange> {
        self.device_number()?;
        self.difference_to(&self.anchor_file)
    }

    /// The difference between an open file and this medium. After removal of the disk behind the
    /// anchor, its device number may belong to another disk.
    #[must_use]
    pub fn difference_to(&self, file: &File) -> Option<IdentityChange> {
        self.identity.difference_to_file(file)
    }

    /// Whether its bytes are in this file: it is the file, or a loop device attached to it.
    #[must_use]
    pub fn lies_in_file(&self, file: FileId) -> bool {
        let is_image = || {
            self.target
                .drive
                .as_ref()
                .is_some_and(|drive| drive.name.starts_with("loop"))
                && ioctl::loop_backing(&self.anchor_file)
                    .is_ok_and(|image| FileId::Inode(image.device, image.inode) == file)
        };
        self.identity.file_id == file || is_image()
    }

    /// Paths of the kernel file systems.
    #[must_use]
    pub fn roots(&self) -> &SysPaths {
        &self.sys_paths
    }

    /// Number of the block device, if it is one.
    #[must_use]
    pub fn device_number(&self) -> Option<(u32, u32)> {
        match self.identity.file_id {
            FileId::Device(major, minor) => Some((major, minor)),
            FileId::Inode(..) => None,
        }
    }

    /// The anchor descriptor, open for reading (for a scratch file also for writing).
    pub(in crate::drive) fn anchor(&self) -> &File {
        &self.anchor_file
    }

    /// Whether it contains data: false for a scratch file until it is filled.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    pub(in crate::drive) fn set_filled(&self) {
        self.is_filled.store(true, Ordering::Release);
    }

    /// Opens another descriptor of the same inode. A union of file systems (mergerfs) opens no file whose name
    /// was removed: for a scratch file there, the descriptor is another one of the same open file, where the
    /// flags allow that.
    ///
    /// # Errors
    /// When the kernel refuses, or when the device number belongs to another disk now.
    pub(in crate::drive) fn reopen(&self, flags: OFlags) -> Result<File, DriveError> {
        let descriptor = match reopen_inode(self.anchor_file.as_fd(), flags) {
            Err(Errno::STALE | Errno::NOENT)
                if self.target.kind == TargetKind::ScratchFile
                    && !flags.intersects(OFlags::DIRECT | OFlags::SYNC) =>
            {
                rustix::io::fcntl_dupfd_cloexec(&self.anchor_file, 0)
            }
            opened => opened,
        };
        let descriptor = descriptor.map_err(io_error_context("open", &self.target.name))?;
        let file = File::from(descriptor);
        match self.difference_to(&file) {
            None => Ok(file),
            Some(_) => Err(self.changed_error()),
        }
    }

    pub(in crate::drive) fn changed_error(&self) -> DriveError {
        DriveError::TargetChanged {
            name: self.target.name.clone(),
        }
    }
}

/// Reopens the inode behind a descriptor with other flags (proc_pid_fd(5): the link refers to the
/// open file itself, even after its name is removed).
pub(in crate::drive) fn reopen_inode(
    anchor: BorrowedFd<'_>,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(descriptor_path(anchor), flags, Permissions::empty())
}

/// The /proc link to the open file of a descriptor.
fn descriptor_path(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}
