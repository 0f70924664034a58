//! The kernel's file system for tracing: where it is mounted, or a mount of our own.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::error::TraceError;
use crate::roots::SysPaths;

/// `f_type` of tracefs (include/uapi/linux/magic.h).
const TRACEFS_MAGIC: u64 = 0x7472_6163;

/// A way into tracefs.
///
/// Where the administrator has not mounted it, it is mounted without a place in the tree
/// (fsmount(2), kernel 5.2): nobody else sees that mount, and it is gone with the last descriptor,
/// whatever ends this process.
#[derive(Debug)]
pub struct TracefsMount {
    root: PathBuf,
    _mount: Option<OwnedFd>,
}

impl TracefsMount {
    /// Where the administrator has mounted it; not below debugfs, where looking mounts it.
    #[must_use]
    pub fn find_mounted(roots: &SysPaths) -> Option<Self> {
        let root = roots.tracing.clone();
        is_tracefs(&root).then_some(Self { root, _mount: None })
    }

    /// Finds it or mounts it.
    ///
    /// # Errors
    /// When it is not mounted and cannot be.
    pub fn open(roots: &SysPaths) -> Result<Self, TraceError> {
        let places = [
            roots.tracing.clone(),
            roots.sys.join("kernel/debug/tracing"),
        ];
        if let Some(root) = places.into_iter().find(|place| is_tracefs(place)) {
            return Ok(Self { root, _mount: None });
        }
        // A mount reaches the kernel that runs, which is not the one that a test describes.
        if *roots != SysPaths::default() {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(TraceError::NoTracefs { source });
        }
        let mount = mount_detached().map_err(|error| match error {
            rustix::io::Errno::PERM | rustix::io::Errno::ACCESS => TraceError::NotPermitted {
                tried: "mounting",
                path: roots.tracing.clone(),
            },
            error => TraceError::NoTracefs {
                source: error.into(),
            },
        })?;
        Ok(Self {
            root: roots.proc.join(format!("self/fd/{}", mount.as_raw_fd())),
            _mount: Some(mount),
        })
    }

    /// A directory that a test has made.
    #[cfg(test)]
    pub(super) fn at_path(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            _mount: None,
        }
    }

    /// Where its files are.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn is_tracefs(place: &Path) -> bool {
    rustix::fs::statfs(place).is_ok_and(|about| about.f_type as u64 == TRACEFS_MAGIC)
}

fn mount_detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}
