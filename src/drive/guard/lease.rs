//! The write lease on a regular file (fcntl(2), "Leases"). The kernel grants it only to the sole opener of the file:
//! whoever has it open, in whatever process or namespace, or in the kernel (loop devices, swap, exports, mappings),
//! counts. Whoever opens it later has to wait until the lease is given up.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::drive::guard::claim::{lock, retry_while_busy};
use crate::drive::guard::refusal::Reason;
use crate::drive::guard::uses::Usage;
use crate::drive::medium::OpenMedium;
use crate::drive::{fcntl, ioctl};

/// File systems on which a lease counts all openers, by `f_type` (statfs(2)): ext2/3/4, XFS, btrfs, F2FS, tmpfs. On
/// others a file may be open by another path (overlay), on another machine, or in a server (FUSE).
const COUNTING_FILE_SYSTEMS: [u32; 5] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// `FS_IMMUTABLE_FL`, `FS_APPEND_FL` and `FS_VERITY_FL` (ioctl_iflags(2), fsverity.rst).
const PROTECTING_ATTRIBUTES: u32 = 0x10 | 0x20 | 0x10_0000;

/// Whether an existing file can be written at all.
///
/// # Errors
/// That of the file system, of its mount or of its attributes.
pub(super) fn check_file(medium: &OpenMedium) -> Result<(), Reason> {
    let file = medium.file();
    let failed = |source| Reason::Failed {
        tried: "examined",
        source,
    };
    let kind = rustix::fs::fstatfs(&*file).map_err(|error| failed(error.into()))?;
    if !COUNTING_FILE_SYSTEMS.contains(&(kind.f_type as u32)) {
        let name = medium.target.file_system.clone();
        let name = name.unwrap_or_else(|| "a file system of another kind".to_owned());
        return Err(Reason::FileSystem(name));
    }
    if file.metadata().map_err(failed)?.nlink() == 0 {
        return Err(Reason::Unnamed);
    }
    let mount = rustix::fs::fstatvfs(&*file).map_err(|error| failed(error.into()))?;
    if mount.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        return Err(Reason::ReadOnly);
    }
    let attributes = ioctl::inode_flags(&file).unwrap_or(0);
    if attributes & PROTECTING_ATTRIBUTES != 0 {
        return Err(Reason::Attribute);
    }
    Ok(())
}

/// Whether nobody else has the file open at the moment.
///
/// # Errors
/// Who else has it open, or that the kernel grants no lease.
pub(super) fn check_sole_opener(medium: &OpenMedium) -> Result<(), Reason> {
    let file = medium.file();
    retry_while_busy(|| fcntl::take_lease(&file)).map_err(|error| refusal(medium, error))?;
    fcntl::release_lease(&file);
    Ok(())
}

/// Opens the file of a medium for writing under a lease, as its only open file description in this process. On
/// failure the medium is open for reading again.
///
/// # Errors
/// Who else has it open, or that the kernel grants no lease.
pub(super) fn open_under_lease(medium: &OpenMedium) -> Result<Arc<File>, Reason> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let leased = medium.exchange(|path| {
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        retry_while_busy(|| fcntl::take_lease(&file))?;
        Ok(file)
    });
    let file = leased.map_err(|error| refusal(medium, error))?;
    if let Err(reason) = lock(&file, &medium.target.name) {
        medium.give_up();
        return Err(reason);
    }
    Ok(file)
}

fn refusal(medium: &OpenMedium, source: io::Error) -> Reason {
    match Errno::from_io_error(&source) {
        Some(Errno::AGAIN | Errno::BUSY) => Reason::in_use(&medium.target.name, Usage::Unlisted),
        Some(Errno::TXTBSY) => Reason::TextBusy,
        Some(Errno::ROFS) => Reason::ReadOnly,
        Some(Errno::ACCESS) if is_of_another_user(medium) => Reason::OtherOwner,
        Some(Errno::PERM | Errno::ACCESS) => Reason::Denied,
        _ => Reason::Failed {
            tried: "opened for writing by one user alone",
            source,
        },
    }
}

fn is_of_another_user(medium: &OpenMedium) -> bool {
    let own = rustix::process::geteuid().as_raw();
    medium
        .file()
        .metadata()
        .is_ok_and(|facts| facts.uid() != own)
}
