//! tracefs: an existing mount, or a private one.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::error::TraceError;
use crate::roots::SysPaths;

/// `f_type` of tracefs (include/uapi/linux/magic.h).
const TRACEFS_MAGIC: u64 = 0x7472_6163;

/// Access to tracefs.
///
/// Where the administrator has not mounted it, it is mounted detached from the tree (fsmount(2),
/// kernel 5.2): no other process sees that mount, and it disappears with the last descriptor,
/// however this process ends.
#[derive(Debug)]
pub struct TracefsMount {
    root: PathBuf,
    _mount: Option<OwnedFd>,
}

impl TracefsMount {
    /// The administrator's mount; not below debugfs, where a lookup mounts it.
    #[must_use]
    pub fn find_mounted(roots: &SysPaths) -> Option<Self> {
        is_tracefs(&roots.tracing).then(|| Self::at_path(&roots.tracing))
    }

    /// Finds the mount or creates one.
    ///
    /// # Errors
    ///
    /// When it is not mounted and cannot be.
    pub fn open(roots: &SysPaths) -> Result<Self, TraceError> {
        let below_debugfs = roots.sys.join("kernel/debug/tracing");
        // The last one is that of the first mount namespace: there is one tracefs, and a further mount resets
        // its options for all (kernel fs/super.c, `mount_single`).
        let of_init = roots.proc.join("1/root/sys/kernel/tracing");
        let known = [&roots.tracing, &below_debugfs, &of_init];
        if let Some(root) = known.into_iter().find(|path| is_tracefs(path)) {
            return Ok(Self::at_path(root));
        }
        // A mount reaches the running kernel, which is not the one that a test describes.
        if *roots != SysPaths::default() {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(TraceError::NoTracefs { source });
        }
        let mount = mount_detached().map_err(|error| match error {
            Errno::PERM | Errno::ACCESS => {
                TraceError::refused("mounting", &roots.tracing)(error.into())
            }
            error => TraceError::NoTracefs {
                source: error.into(),
            },
        })?;
        Ok(Self {
            root: roots.proc.join(format!("self/fd/{}", mount.as_raw_fd())),
            _mount: Some(mount),
        })
    }

    /// A mount that is there.
    pub(super) fn at_path(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            _mount: None,
        }
    }

    /// Root directory of tracefs.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Whether tracefs is mounted there. Opening with `O_PATH`, and without `O_DIRECTORY`, does not
/// trigger an automount (open(2); kernel fs/namei.c, `follow_automount`).
fn is_tracefs(path: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .and_then(rustix::fs::fstatfs)
        .is_ok_and(|about| about.f_type as u64 == TRACEFS_MAGIC)
}

fn mount_detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}
