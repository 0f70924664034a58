//! From a name to a [`Medium`].

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode as Permissions, OFlags, Statx, StatxFlags};

use super::medium::reopen;
use super::{FileId, Medium, Target, TargetKind};
use crate::drive::identity::{self, Drive};
use crate::drive::mounts::{self, split_number};
use crate::drive::{DriveError, failed, ioctl, scratch};
use crate::named_file;
use crate::printable::printable;
use crate::roots::Roots;

/// `STATX_DIOALIGN`: what `O_DIRECT` asks of a file (kernel 6.1).
const DIO_ALIGNMENT: StatxFlags = StatxFlags::from_bits_retain(0x2000);
/// `STATX_MNT_ID`: which mount a file lies on (kernel 5.8).
const MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);
/// What is asked of `O_DIRECT` where nothing is known: it satisfies every drive in use.
const SAFE_BLOCK: u32 = 4096;

/// Opens a target for looking at it: a block device or a file for reading only, a directory by
/// making a scratch file of `scratch_size` bytes in it (still empty; `None` chooses a size).
///
/// # Errors
/// When there is nothing suitable behind the name, it cannot be opened, or there is no room.
pub fn open(
    roots: &Roots,
    name: &(impl AsRef<OsStr> + ?Sized),
    scratch_size: Option<u64>,
) -> Result<Medium, DriveError> {
    let path = without_slash(Path::new(name.as_ref()));
    let name = printable(path.as_os_str().as_bytes());
    open_path(roots, &path, &name, scratch_size)
}

/// The facts of a directory for a list: nothing is made in it, so that a look at the list changes no
/// file system. How large requests must be and whether `O_DIRECT` is possible shows only in a file: here
/// it is what the drive and the type of the file system tell.
///
/// # Errors
/// When it is no directory, no file can be made in it, or there is no room.
pub fn describe_directory(roots: &Roots, path: &Path) -> Result<Target, DriveError> {
    let name = printable(path.as_os_str().as_bytes());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Permissions::empty())
        .map(File::from)
        .map_err(failed("open", &name))?;
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    // Also refuses a file system that is mounted read-only.
    rustix::fs::accessat(&directory, ".", access, AtFlags::empty())
        .map_err(failed("make a file in", &name))?;
    let size = scratch::size(roots, &directory, &name, None)?;
    let metadata = directory.metadata().map_err(failed("look at", &name))?;
    let drive = identity::by_number(roots, split_number(metadata.dev()));
    let file_system = file_system(roots, &directory, &metadata);
    let logical = drive.as_ref().and_then(|drive| drive.logical_block_bytes);
    let logical = logical.unwrap_or(SAFE_BLOCK);
    let physical = drive.as_ref().and_then(|drive| drive.physical_block_bytes);
    Ok(Target {
        name,
        kind: TargetKind::Scratch,
        size,
        logical_block: logical,
        physical_block: physical.unwrap_or(SAFE_BLOCK).max(logical),
        memory_alignment: logical,
        direct: match file_system.as_deref() {
            Some("ramfs") => false,
            Some("tmpfs") => memory_takes_direct(),
            _ => true,
        },
        drive,
        file_system,
    })
}

/// Whether files in memory take `O_DIRECT`, as they do from kernel 6.6 on: by one of them that no file
/// system has a name for.
fn memory_takes_direct() -> bool {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    rustix::fs::memfd_create("diskscope", flags).is_ok_and(|file| takes_direct(&file.into()))
}

/// A path to a file or device that somebody ended with a slash, as for a directory, without it.
#[must_use]
pub fn without_slash(path: &Path) -> PathBuf {
    let not_a_directory = rustix::io::Errno::NOTDIR.raw_os_error();
    let slash =
        fs::metadata(path).is_err_and(|error| error.raw_os_error() == Some(not_a_directory));
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/');
    match end {
        Some(end) if slash => PathBuf::from(OsStr::from_bytes(&bytes[..=end])),
        _ => path.to_owned(),
    }
}

fn open_path(
    roots: &Roots,
    path: &Path,
    name: &str,
    scratch_size: Option<u64>,
) -> Result<Medium, DriveError> {
    // Looked at before it is opened: opening a pipe waits, opening a tape rewinds. As long as this
    // descriptor lives its inode number is that of no other file.
    let look = OFlags::PATH | OFlags::CLOEXEC;
    let looked_at =
        rustix::fs::open(path, look, Permissions::empty()).map_err(|error| match error {
            rustix::io::Errno::NOENT => DriveError::Missing {
                name: name.to_owned(),
            },
            _ => failed("look at", name)(error),
        })?;
    let looked_at = File::from(looked_at);
    let metadata = looked_at.metadata().map_err(failed("look at", name))?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        let file = scratch::create(path, name)?;
        let size = scratch::size(roots, &file, name, scratch_size)?;
        return file_medium(roots, name, TargetKind::Scratch, file, size);
    }
    let unsuitable = |what| DriveError::Unsuitable {
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
            named_file::acts_on_kernel(&looked_at).map_err(failed("look at", name))?
    {
        return Err(unsuitable(what));
    }
    let anchor = anchor(path, name, &metadata)?;
    if kind.is_block_device() {
        return device_medium(roots, name, anchor, &metadata);
    }
    let size = metadata.len();
    file_medium(roots, name, TargetKind::File, anchor, size)
}

/// The anchoring descriptor of what was looked at.
fn anchor(path: &Path, name: &str, expected: &Metadata) -> Result<File, DriveError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Permissions::empty())
        .map(File::from)
        .map_err(|error| match error {
            rustix::io::Errno::PERM | rustix::io::Errno::ACCESS
                if expected.file_type().is_block_device() =>
            {
                DriveError::Forbidden {
                    name: name.to_owned(),
                    root: rustix::process::geteuid().is_root(),
                }
            }
            _ => failed("open", name)(error),
        })?;
    let opened = file.metadata().map_err(failed("look at", name))?;
    if FileId::of(&opened) != FileId::of(expected) {
        return Err(DriveError::Changed {
            name: name.to_owned(),
        });
    }
    Ok(file)
}

fn device_medium(
    roots: &Roots,
    name: &str,
    anchor: File,
    metadata: &Metadata,
) -> Result<Medium, DriveError> {
    let size = ioctl::size(&anchor).map_err(failed("ask the size of", name))?;
    if size == 0 {
        return Err(DriveError::Empty {
            name: name.to_owned(),
            device: true,
        });
    }
    let logical =
        rustix::fs::ioctl_blksszget(&anchor).map_err(failed("ask the block size of", name))?;
    let physical = rustix::fs::ioctl_blkpbszget(&anchor).unwrap_or(logical);
    let alignment = Alignment::of(&anchor).filter(|alignment| alignment.memory > 0);
    let target = Target {
        name: name.to_owned(),
        kind: TargetKind::BlockDevice,
        size,
        logical_block: logical,
        physical_block: physical.max(logical),
        memory_alignment: alignment.map_or(logical, |alignment| alignment.memory),
        direct: takes_direct(&anchor),
        drive: identity::by_number(roots, split_number(metadata.rdev())),
        file_system: None,
    };
    Medium::new(roots, target, anchor)
}

fn file_medium(
    roots: &Roots,
    name: &str,
    kind: TargetKind,
    anchor: File,
    size: u64,
) -> Result<Medium, DriveError> {
    if size == 0 {
        return Err(DriveError::Empty {
            name: name.to_owned(),
            device: false,
        });
    }
    let metadata = anchor.metadata().map_err(failed("look at", name))?;
    let drive = identity::by_number(roots, split_number(metadata.dev()));
    let logical_of = |drive: &Drive| drive.logical_block_bytes;
    let physical_of = |drive: &Drive| drive.physical_block_bytes;
    let alignment = Alignment::of(&anchor);
    let logical = match alignment {
        Some(alignment) if alignment.offset > 0 => alignment.offset,
        _ => drive.as_ref().and_then(logical_of).unwrap_or(SAFE_BLOCK),
    };
    let physical = drive.as_ref().and_then(physical_of);
    let direct = alignment.is_none_or(|alignment| alignment.offset > 0) && takes_direct(&anchor);
    let target = Target {
        name: name.to_owned(),
        kind,
        size,
        logical_block: logical,
        physical_block: physical.unwrap_or(SAFE_BLOCK).max(logical),
        memory_alignment: match alignment {
            Some(alignment) if alignment.memory > 0 => alignment.memory,
            _ => logical,
        },
        direct,
        drive,
        file_system: file_system(roots, &anchor, &metadata),
    };
    Medium::new(roots, target, anchor)
}

/// What `O_DIRECT` asks of an open file.
#[derive(Debug, Clone, Copy)]
struct Alignment {
    /// Of buffers, in bytes; 0 where `O_DIRECT` is not possible.
    memory: u32,
    /// Of addresses and sizes, in bytes; 0 where `O_DIRECT` is not possible.
    offset: u32,
}

impl Alignment {
    /// `None` where the kernel does not tell.
    fn of(file: &File) -> Option<Self> {
        let facts = statx(file, DIO_ALIGNMENT)?;
        (facts.stx_mask & DIO_ALIGNMENT.bits() != 0).then_some(Self {
            memory: facts.stx_dio_mem_align,
            offset: facts.stx_dio_offset_align,
        })
    }
}

fn statx(file: &File, wanted: StatxFlags) -> Option<Statx> {
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).ok()
}

/// Whether the file system lets it be opened with `O_DIRECT`.
fn takes_direct(anchor: &File) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    reopen(anchor.as_fd(), flags).is_ok()
}

/// Type of the file system that an open file lies on, where the table of mounts tells.
fn file_system(roots: &Roots, file: &File, metadata: &Metadata) -> Option<String> {
    let mounts = mounts::mounts(roots).ok()?;
    let id = statx(file, MOUNT_ID)
        .filter(|facts| facts.stx_mask & MOUNT_ID.bits() != 0)
        .map(|facts| facts.stx_mnt_id);
    let number = split_number(metadata.dev());
    let by_id = mounts.iter().find(|mount| Some(mount.id) == id);
    let by_number = || mounts.iter().rev().find(|mount| mount.number == number);
    by_id
        .or_else(by_number)
        .map(|mount| mount.file_system.clone())
}
