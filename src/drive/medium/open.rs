//! Opens an [`OpenMedium`] by name.

use std::ffi::OsStr;
use std::fs::{File, FileType, Metadata};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, Mode as Permissions, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::drive::error::{DriveError, io_error_context};
use crate::drive::guard::{Reason, Refusal, Usage};
use crate::drive::identity::BlockDevice;
use crate::drive::medium::FileId;
use crate::drive::medium::open_medium::{OpenMedium, reopen_inode};
use crate::drive::medium::target::{Target, TargetKind, strip_trailing_slash};
use crate::drive::mounts::split_device_number;
use crate::drive::{free_space, identity, ioctl, mounts, scratch};
use crate::files::input;
use crate::files::printable::printable_bytes;
use crate::roots::SysPaths;

/// `STATX_DIOALIGN`: `O_DIRECT` alignment of a file (kernel 6.1).
const STATX_DIOALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2000);
/// `O_DIRECT` alignment if it is unknown: sufficient for every drive in use.
const FALLBACK_DIRECT_ALIGNMENT: u32 = 4096;

/// Opens a target for inspection: a block device or a file read-only, a directory by creating a
/// scratch file of `scratch_size` bytes in it (still empty; `None` selects the default size).
///
/// # Errors
/// When the name is not a usable target, when it cannot be opened, or when there is not enough free
/// space.
pub fn open_target(
    roots: &SysPaths,
    name: &(impl AsRef<OsStr> + ?Sized),
    scratch_size: Option<u64>,
) -> Result<OpenMedium, DriveError> {
    let path = strip_trailing_slash(Path::new(name.as_ref()));
    let name = printable_bytes(path.as_os_str().as_bytes());
    // Examine the file before opening it: opening a pipe blocks, opening a tape rewinds. While this
    // descriptor is open its inode number is not reused.
    let looked_at = rustix::fs::open(&path, OFlags::PATH | OFlags::CLOEXEC, Permissions::empty());
    let looked_at = looked_at.map_err(|error| match error {
        // A file in the middle of the path: what the path names does not exist either.
        Errno::NOENT | Errno::NOTDIR => DriveError::NotFound { name: name.clone() },
        _ => io_error_context("examine", &name)(error),
    })?;
    let looked_at = File::from(looked_at);
    let metadata = looked_at
        .metadata()
        .map_err(io_error_context("examine", &name))?;
    let (kind, file, size) = if metadata.is_dir() {
        let size = free_space::scratch_size(roots, &looked_at, &name, scratch_size)?;
        let file = scratch::create_scratch_file(&path, &name)?;
        (TargetKind::ScratchFile, file, size)
    } else {
        check_kind(&looked_at, &name, metadata.file_type())?;
        let file = open_anchor(&path, &name, &metadata)?;
        if metadata.file_type().is_block_device() {
            let size = ioctl::block_device_size(&file)
                .map_err(io_error_context("get the size of", &name))?;
            (TargetKind::BlockDevice, file, size)
        } else {
            (TargetKind::File, file, metadata.len())
        }
    };
    if size == 0 {
        let advice = "insert a medium, or name a file with content, or its directory: a scratch file is created there";
        let what = "empty";
        return Err(DriveError::Unsuitable { name, what, advice });
    }
    let target = describe(roots, &file, name, kind, size)?;
    OpenMedium::new(roots, target, &path, file)
}

/// Refuses what can be neither read nor written at any place.
fn check_kind(looked_at: &File, name: &str, kind: FileType) -> Result<(), DriveError> {
    let what = if kind.is_char_device() {
        Some("a character device, and cannot be measured")
    } else if kind.is_fifo() || kind.is_socket() {
        Some("a pipe or a socket, and cannot be measured")
    } else if kind.is_file() {
        input::acts_on_kernel(looked_at).map_err(io_error_context("examine", name))?
    } else {
        None
    };
    what.map_or(Ok(()), |what| {
        Err(DriveError::Unsuitable {
            name: name.to_owned(),
            what,
            advice: "name a block device, a regular file or a directory",
        })
    })
}

/// Properties of a directory for a list. Creates no file, so that listing changes no file system.
/// Request size and `O_DIRECT` support are known only for a file; here they are derived from the
/// drive and the file system type.
///
/// # Errors
/// When it is not a directory, when no file can be created in it, or when there is not enough free
/// space.
pub fn describe_directory(roots: &SysPaths, path: &Path) -> Result<Target, DriveError> {
    let name = printable_bytes(path.as_os_str().as_bytes());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Permissions::empty())
        .map(File::from)
        .map_err(io_error_context("open", &name))?;
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    // Also fails for a file system that is mounted read-only.
    rustix::fs::accessat(&directory, ".", access, AtFlags::empty())
        .map_err(io_error_context("create a file in", &name))?;
    let size = free_space::scratch_size(roots, &directory, &name, None)?;
    let mut target = describe(roots, &directory, name, TargetKind::ScratchFile, size)?;
    target.supports_direct_io = match target.file_system.as_deref() {
        Some("ramfs") => false,
        Some("tmpfs") => memory_takes_direct(),
        _ => true,
    };
    Ok(target)
}

/// Whether in-memory files support `O_DIRECT`, as they do since kernel 6.6. Tested with an unnamed
/// file.
fn memory_takes_direct() -> bool {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    rustix::fs::memfd_create("diskscope", flags)
        .is_ok_and(|file| supports_direct_open(&file.into()))
}

/// The anchor descriptor of the file that was examined.
fn open_anchor(path: &Path, name: &str, expected: &Metadata) -> Result<File, DriveError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Permissions::empty())
        .map(File::from)
        .map_err(|error| match error {
            // The open does not wait until the holder gives it up.
            Errno::AGAIN if expected.is_file() => DriveError::Refused(Refusal {
                name: name.to_owned(),
                reason: Reason::in_use(name, Usage::Lease),
            }),
            _ => io_error_context("open", name)(error),
        })?;
    let opened = file.metadata().map_err(io_error_context("examine", name))?;
    if FileId::of_metadata(&opened) != FileId::of_metadata(expected) {
        return Err(DriveError::TargetChanged {
            name: name.to_owned(),
        });
    }
    Ok(file)
}

/// The properties of an open target: of the device itself, or of that which holds its file system.
fn describe(
    roots: &SysPaths,
    file: &File,
    name: String,
    kind: TargetKind,
    size_bytes: u64,
) -> Result<Target, DriveError> {
    let metadata = file
        .metadata()
        .map_err(io_error_context("examine", &name))?;
    let is_device = kind == TargetKind::BlockDevice;
    let number = if is_device {
        metadata.rdev()
    } else {
        metadata.dev()
    };
    let drive = identity::block_device_by_number(roots, split_device_number(number));
    let of_drive = |bytes: fn(&BlockDevice) -> Option<u32>| drive.as_ref().and_then(bytes);
    let direct = direct_alignment(file);
    let logical = direct
        .map(|(offset, _)| offset)
        .filter(|bytes| *bytes > 0)
        .or_else(|| of_drive(|drive| drive.logical_block_bytes))
        .unwrap_or(FALLBACK_DIRECT_ALIGNMENT);
    let physical = of_drive(|drive| drive.physical_block_bytes);
    let buffer = direct.map(|(_, buffer)| buffer).filter(|bytes| *bytes > 0);
    Ok(Target {
        name,
        kind,
        size_bytes,
        logical_block_bytes: logical,
        physical_block_bytes: physical.unwrap_or(FALLBACK_DIRECT_ALIGNMENT).max(logical),
        buffer_alignment: buffer.unwrap_or(logical),
        supports_direct_io: direct.is_none_or(|(offset, _)| offset > 0)
            && supports_direct_open(file),
        file_system: file_system_type(roots, file, &metadata).filter(|_| !is_device),
        drive,
    })
}

/// `O_DIRECT` alignment of an open file, in bytes: of addresses and sizes, and of buffers; 0 where `O_DIRECT` is not
/// possible. `None` if the kernel does not report it.
fn direct_alignment(file: &File) -> Option<(u32, u32)> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, STATX_DIOALIGN).ok()?;
    let is_known = facts.stx_mask & STATX_DIOALIGN.bits() != 0;
    is_known.then_some((facts.stx_dio_offset_align, facts.stx_dio_mem_align))
}

/// Whether the file system lets it be opened with `O_DIRECT`.
fn supports_direct_open(anchor: &File) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    reopen_inode(anchor.as_fd(), flags).is_ok()
}

/// Type of the file system of an open file, if the mount table lists it.
fn file_system_type(roots: &SysPaths, file: &File, metadata: &Metadata) -> Option<String> {
    let number = split_device_number(metadata.dev());
    let by_number = || {
        let mounts = mounts::mounts(roots).ok()?.into_iter();
        mounts.rev().find(|mount| mount.device_id == number)
    };
    mounts::mount_of_file(roots, file)
        .or_else(by_number)
        .map(|mount| mount.file_system)
}
