//! Opens an [`OpenMedium`] by name.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, Mode as Permissions, OFlags, Statx, StatxFlags};

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
    open_path(roots, &path, &name, scratch_size)
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
    let metadata = directory
        .metadata()
        .map_err(io_error_context("examine", &name))?;
    let drive = identity::block_device_by_number(roots, split_device_number(metadata.dev()));
    let file_system = file_system_type(roots, &directory, &metadata);
    let logical = drive.as_ref().and_then(|drive| drive.logical_block_bytes);
    let logical = logical.unwrap_or(FALLBACK_DIRECT_ALIGNMENT);
    let physical = drive.as_ref().and_then(|drive| drive.physical_block_bytes);
    Ok(Target {
        name,
        kind: TargetKind::ScratchFile,
        size_bytes: size,
        logical_block_bytes: logical,
        physical_block_bytes: physical.unwrap_or(FALLBACK_DIRECT_ALIGNMENT).max(logical),
        buffer_alignment: logical,
        supports_direct_io: match file_system.as_deref() {
            Some("ramfs") => false,
            Some("tmpfs") => memory_takes_direct(),
            _ => true,
        },
        drive,
        file_system,
    })
}

/// Whether in-memory files support `O_DIRECT`, as they do since kernel 6.6. Tested with an unnamed
/// file.
fn memory_takes_direct() -> bool {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    rustix::fs::memfd_create("diskscope", flags)
        .is_ok_and(|file| supports_direct_open(&file.into()))
}

fn open_path(
    roots: &SysPaths,
    path: &Path,
    name: &str,
    scratch_size: Option<u64>,
) -> Result<OpenMedium, DriveError> {
    // Examine the file before opening it: opening a pipe blocks, opening a tape rewinds. While this
    // descriptor is open its inode number is not reused.
    let look = OFlags::PATH | OFlags::CLOEXEC;
    let looked_at =
        rustix::fs::open(path, look, Permissions::empty()).map_err(|error| match error {
            // A file in the middle of the path: what the path names does not exist either.
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => DriveError::NotFound {
                name: name.to_owned(),
            },
            _ => io_error_context("examine", name)(error),
        })?;
    let looked_at = File::from(looked_at);
    let metadata = looked_at
        .metadata()
        .map_err(io_error_context("examine", name))?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        let size = free_space::scratch_size(roots, &looked_at, name, scratch_size)?;
        let file = scratch::create_scratch_file(path, name)?;
        return file_medium(roots, path, name, TargetKind::ScratchFile, file, size);
    }
    let unsuitable = |what| DriveError::UnsupportedFileType {
        name: name.to_owned(),
        what,
    };
    if kind.is_char_device() {
        return Err(unsuitable("a character device"));
    }
    if kind.is_fifo() || kind.is_socket() {
        return Err(unsuitable("a pipe or a socket"));
    }
    if kind.is_file()
        && let Some(what) =
            input::acts_on_kernel(&looked_at).map_err(io_error_context("examine", name))?
    {
        return Err(unsuitable(what));
    }
    let anchor = open_anchor(path, name, &metadata)?;
    if kind.is_block_device() {
        return device_medium(roots, path, name, anchor, &metadata);
    }
    let size = metadata.len();
    file_medium(roots, path, name, TargetKind::File, anchor, size)
}

/// The anchor descriptor of the file that was examined.
fn open_anchor(path: &Path, name: &str, expected: &Metadata) -> Result<File, DriveError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Permissions::empty())
        .map(File::from)
        .map_err(|error| match error {
            rustix::io::Errno::PERM | rustix::io::Errno::ACCESS
                if expected.file_type().is_block_device() =>
            {
                DriveError::PermissionDenied {
                    name: name.to_owned(),
                    root: rustix::process::geteuid().is_root(),
                }
            }
            // The open does not wait until the holder gives it up.
            rustix::io::Errno::AGAIN if expected.is_file() => DriveError::Refused(Refusal {
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

fn device_medium(
    roots: &SysPaths,
    path: &Path,
    name: &str,
    anchor: File,
    metadata: &Metadata,
) -> Result<OpenMedium, DriveError> {
    let size =
        ioctl::block_device_size(&anchor).map_err(io_error_context("get the size of", name))?;
    if size == 0 {
        return Err(DriveError::ZeroSize {
            name: name.to_owned(),
            device: true,
        });
    }
    let logical = rustix::fs::ioctl_blksszget(&anchor)
        .map_err(io_error_context("get the block size of", name))?;
    let physical = rustix::fs::ioctl_blkpbszget(&anchor).unwrap_or(logical);
    let alignment =
        DirectAlignment::of_file(&anchor).filter(|alignment| alignment.buffer_alignment > 0);
    let target = Target {
        name: name.to_owned(),
        kind: TargetKind::BlockDevice,
        size_bytes: size,
        logical_block_bytes: logical,
        physical_block_bytes: physical.max(logical),
        buffer_alignment: alignment.map_or(logical, |alignment| alignment.buffer_alignment),
        supports_direct_io: supports_direct_open(&anchor),
        drive: identity::block_device_by_number(roots, split_device_number(metadata.rdev())),
        file_system: None,
    };
    OpenMedium::new(roots, target, path, anchor)
}

fn file_medium(
    roots: &SysPaths,
    path: &Path,
    name: &str,
    kind: TargetKind,
    anchor: File,
    size: u64,
) -> Result<OpenMedium, DriveError> {
    if size == 0 {
        return Err(DriveError::ZeroSize {
            name: name.to_owned(),
            device: false,
        });
    }
    let metadata = anchor
        .metadata()
        .map_err(io_error_context("examine", name))?;
    let drive = identity::block_device_by_number(roots, split_device_number(metadata.dev()));
    let logical_of = |drive: &BlockDevice| drive.logical_block_bytes;
    let physical_of = |drive: &BlockDevice| drive.physical_block_bytes;
    let alignment = DirectAlignment::of_file(&anchor);
    let logical = match alignment {
        Some(alignment) if alignment.offset_alignment > 0 => alignment.offset_alignment,
        _ => drive
            .as_ref()
            .and_then(logical_of)
            .unwrap_or(FALLBACK_DIRECT_ALIGNMENT),
    };
    let physical = drive.as_ref().and_then(physical_of);
    let direct = alignment.is_none_or(|alignment| alignment.offset_alignment > 0)
        && supports_direct_open(&anchor);
    let target = Target {
        name: name.to_owned(),
        kind,
        size_bytes: size,
        logical_block_bytes: logical,
        physical_block_bytes: physical.unwrap_or(FALLBACK_DIRECT_ALIGNMENT).max(logical),
        buffer_alignment: match alignment {
            Some(alignment) if alignment.buffer_alignment > 0 => alignment.buffer_alignment,
            _ => logical,
        },
        supports_direct_io: direct,
        drive,
        file_system: file_system_type(roots, &anchor, &metadata),
    };
    OpenMedium::new(roots, target, path, anchor)
}

/// `O_DIRECT` alignment of an open file.
#[derive(Debug, Clone, Copy)]
struct DirectAlignment {
    /// Of buffers, in bytes; 0 where `O_DIRECT` is not possible.
    buffer_alignment: u32,
    /// Of addresses and sizes, in bytes; 0 where `O_DIRECT` is not possible.
    offset_alignment: u32,
}

impl DirectAlignment {
    /// `None` if the kernel does not report it.
    fn of_file(file: &File) -> Option<Self> {
        let facts = statx(file, STATX_DIOALIGN)?;
        (facts.stx_mask & STATX_DIOALIGN.bits() != 0).then_some(Self {
            buffer_alignment: facts.stx_dio_mem_align,
            offset_alignment: facts.stx_dio_offset_align,
        })
    }
}

fn statx(file: &File, wanted: StatxFlags) -> Option<Statx> {
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).ok()
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
