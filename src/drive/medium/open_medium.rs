//! A target that is open.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode as Permissions, OFlags};
use rustix::io::Errno;

use crate::drive::error::{DriveError, io_error_context};
use crate::drive::ioctl;
use crate::drive::medium::identity::{IdentityChange, MediumIdentity};
use crate::drive::medium::target::{Target, TargetKind};
use crate::roots::SysPaths;

pub use crate::files::file_id::FileId;

/// A target and its open file description. Every further open is of the same inode, even if the name
/// changes.
///
/// While a target is held for writing, the description is the one that holds it, and this process opens the target
/// nowhere else: another open would break the lease of a file.
#[derive(Debug)]
pub struct OpenMedium {
    /// Properties of the target.
    pub target: Target,
    path: PathBuf,
    file: Mutex<Arc<File>>,
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
        file: File,
    ) -> Result<Self, DriveError> {
        let identity = MediumIdentity::read(roots, &file)
            .map_err(io_error_context("identify", &target.name))?;
        // The kernel reports the path of the open file itself, so a symlink that changes in the meantime has no
        // effect (proc_pid_fd(5)).
        let resolved = std::fs::read_link(descriptor_path(file.as_fd())).ok();
        Ok(Self {
            is_filled: AtomicBool::new(target.kind != TargetKind::ScratchFile),
            resolved: resolved.filter(|_| target.kind != TargetKind::ScratchFile),
            target,
            path: path.to_owned(),
            file: Mutex::new(Arc::new(file)),
            identity,
            sys_paths: roots.clone(),
        })
    }

    /// The path that it was opened by, byte for byte. The name of the target is the same path as text that can be
    /// printed, which other paths may have too.
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

    /// The path of the open file without symlinks, as the kernel reports it; it ends in ` (deleted)` if the file has
    /// no name any more. `None` for a scratch file.
    #[must_use]
    pub fn resolved_path(&self) -> Option<&Path> {
        self.resolved.as_deref()
    }

    /// The difference between the medium now and the medium when it was opened.
    #[must_use]
    pub fn changed_since_opened(&self) -> Option<IdentityChange> {
        match MediumIdentity::read(&self.sys_paths, &self.file()) {
            Ok(now) => self.identity.first_difference(&now),
            Err(_) => Some(IdentityChange::DeviceGone),
        }
    }

    /// The difference between an open file and this medium. After removal of a disk, its device number may belong to
    /// another disk.
    #[must_use]
    pub fn difference_to(&self, file: &File) -> Option<IdentityChange> {
        self.identity.difference_to_file(&self.sys_paths, file)
    }

    /// Whether its bytes are in this file: it is the file, or a loop device attached to it.
    #[must_use]
    pub fn lies_in_file(&self, file: FileId) -> bool {
        let is_image = || {
            ioctl::loop_status(&self.file())
                .is_ok_and(|it| FileId::Inode(it.device, it.inode) == file)
        };
        self.identity.file_id == file || self.device_number().is_some() && is_image()
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

    /// The open file description: for reading, or that which holds the target for writing. A scratch file is open for
    /// both.
    #[must_use]
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes this the open file description.
    pub(in crate::drive) fn hold(&self, file: File) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(file);
    }

    /// Closes the open file description, and opens the inode again by this path, which belongs to this process. When
    /// that fails, it is opened for reading.
    ///
    /// # Errors
    /// That of `open`.
    pub(in crate::drive) fn exchange(
        &self,
        open: impl FnOnce(&str) -> io::Result<File>,
    ) -> io::Result<Arc<File>> {
        let mut current = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Keeps the inode without being an opener of it.
        let inode = File::from(reopen_inode(
            current.as_fd(),
            OFlags::PATH | OFlags::CLOEXEC,
        )?);
        let inode = Arc::new(inode);
        *current = Arc::clone(&inode);
        match open(&descriptor_path(inode.as_fd())) {
            Ok(file) => {
                *current = Arc::new(file);
                Ok(Arc::clone(&current))
            }
            Err(error) => {
                Self::open_for_reading(&mut current);
                Err(error)
            }
        }
    }

    /// Stops holding the target for writing: it is open for reading again.
    pub(in crate::drive) fn give_up(&self) {
        // A claim or lease ends with the last descriptor, which requests in the kernel have as well. Another open
        // before that would break the lease.
        self.set_aside();
        self.resume();
    }

    /// Keeps the inode only, which is no open of the file: a question that waits for an answer keeps nobody from the
    /// file. Until [`resume`](Self::resume) nothing can be read.
    pub fn set_aside(&self) {
        let mut current = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(inode) = reopen_inode(current.as_fd(), OFlags::PATH | OFlags::CLOEXEC) {
            *current = Arc::new(inode.into());
        }
    }

    /// Opens for reading what was set aside.
    pub fn resume(&self) {
        let mut current = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Self::open_for_reading(&mut current);
    }

    /// Where that fails, only the inode is kept: each reading fails.
    fn open_for_reading(current: &mut Arc<File>) {
        let reading = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = reopen_inode(current.as_fd(), reading)
            .or_else(|_| reopen_inode(current.as_fd(), OFlags::PATH | OFlags::CLOEXEC));
        if let Ok(file) = file {
            *current = Arc::new(file.into());
        }
    }

    /// Whether it contains data: false for a scratch file until it is filled.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    pub(in crate::drive) fn set_filled(&self) {
        self.is_filled.store(true, Ordering::Release);
    }

    /// Opens it for a plan that reads, with or without `O_DIRECT`. Not while it is held for writing.
    ///
    /// # Errors
    /// When the file system has no `O_DIRECT`, or when the device number belongs to another disk now.
    pub fn open_reader(&self, direct: bool) -> Result<OwnedFd, DriveError> {
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC;
        flags.set(OFlags::DIRECT, direct);
        Ok(self.reopen(flags)?.into())
    }

    /// Opens another description of the same inode. A union of file systems (mergerfs) opens no file whose name was
    /// removed: for a scratch file there, it is the same description, where the flags allow that.
    ///
    /// # Errors
    /// When the kernel refuses, or when the device number belongs to another disk now.
    pub(in crate::drive) fn reopen(&self, flags: OFlags) -> Result<File, DriveError> {
        let own = self.file();
        let descriptor = match reopen_inode(own.as_fd(), flags) {
            Err(Errno::STALE | Errno::NOENT)
                if self.target.kind == TargetKind::ScratchFile
                    && !flags.contains(OFlags::DIRECT) =>
            {
                rustix::io::fcntl_dupfd_cloexec(&*own, 0)
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

/// Reopens the inode behind a descriptor with other flags (proc_pid_fd(5): the link refers to the open file itself,
/// even after its name is removed).
pub(in crate::drive) fn reopen_inode(
    descriptor: BorrowedFd<'_>,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(descriptor_path(descriptor), flags, Permissions::empty())
}

/// The /proc link to the open file of a descriptor.
fn descriptor_path(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}
