//! The scratch file: an unnamed file in the user's directory, filled with random bytes. It allows a
//! benchmark on any machine without naming a device. The kernel frees it when the last descriptor
//! is closed, also after kill -9.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rand::Rng as _;
use rustix::fs::{Advice, AtFlags, FallocateFlags, Mode as Permissions, OFlags, fallocate};
use rustix::io::Errno;

use crate::drive::error::{DriveError, io_error_context};
use crate::drive::free_space::{
    FreeSpace, LowerSpace, MIN_SCRATCH_BYTES, RESERVE_BYTES, SIZE_GRANULARITY, SpaceCount,
    SpaceDemand, is_on_nfs, is_on_server, is_written_in_place, new_block_bytes,
};
use crate::drive::guard;
use crate::drive::guard::{MediumAccess, WriteMode};
use crate::drive::medium::open_medium::OpenMedium;
use crate::drive::mounts;
use crate::drive::space_limit::SpaceLimit;
use crate::roots::SysPaths;

/// Bytes per write when filling.
const FILL_CHUNK_BYTES: usize = 4 << 20;
/// The free space is checked again after this many bytes.
const FREE_SPACE_CHECK_BYTES: u64 = 64 << 20;

/// Creates the empty file with `O_TMPFILE`, or, if the file system does not support it, with a name
/// that is removed at once.
pub(super) fn create_scratch_file(directory: &Path, name: &str) -> Result<File, DriveError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let owner = Permissions::RUSR | Permissions::WUSR;
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, owner) {
        Ok(file) => Ok(file.into()),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            create_named(directory, name, flags, owner)
        }
        Err(error) => Err(io_error_context("create a scratch file in", name)(error)),
    }
}

/// Creates a file whose name is removed at once, from the same directory if its path changes meanwhile.
fn create_named(
    directory: &Path,
    name: &str,
    flags: OFlags,
    owner: Permissions,
) -> Result<File, DriveError> {
    let context = || io_error_context("create a scratch file in", name);
    let path_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        rustix::fs::open(directory, path_flags, Permissions::empty()).map_err(context())?;
    let entry = format!(
        ".diskscope-{:016x}",
        rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>().next_u64()
    );
    let flags = flags | OFlags::CREATE | OFlags::EXCL;
    let file = rustix::fs::openat(&directory, &entry, flags, owner).map_err(context())?;
    let remove = || rustix::fs::unlinkat(&directory, &entry, AtFlags::empty());
    if let Err(error) = remove() {
        // A server with Windows removes no open file.
        drop(file);
        let _ = remove();
        return Err(context()(error));
    }
    Ok(file.into())
}

/// The size of the file, if there is enough free space for it.
pub(super) fn scratch_size(
    roots: &SysPaths,
    file: &File,
    directory: &str,
    wanted: Option<u64>,
) -> Result<u64, DriveError> {
    let (lower, count) = (
        LowerSpace::below_file(roots, file),
        SpaceCount::BeforeWriting,
    );
    let room = FreeSpace::of_file(roots, file, directory, &lower, count)?;
    let Some(wanted) = wanted else {
        return room
            .default_scratch_bytes()
            .ok_or_else(|| room.insufficient_space(directory, MIN_SCRATCH_BYTES));
    };
    let size = wanted
        .checked_next_multiple_of(SIZE_GRANULARITY)
        .unwrap_or(wanted);
    if size > room.usable_bytes() {
        return Err(room.insufficient_space(directory, size));
    }
    Ok(size)
}

/// Fills a scratch file with random bytes, writes it back and drops it from the page cache. Does
/// nothing when it is already filled or when the medium is not a scratch file. `progress` receives
/// the bytes written and the total bytes.
///
/// # Errors
/// When `cancelled` is set, when the file system fails, or when others have used the free space in
/// the meantime. The file is then truncated at once.
pub fn fill_scratch(
    medium: &OpenMedium,
    cancelled: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), DriveError> {
    if medium.is_filled() {
        return Ok(());
    }
    let result = write_random_data(medium, cancelled, progress);
    match &result {
        Ok(()) => medium.set_filled(),
        // This error is more useful than a failure to truncate the file.
        Err(_) => drop(rustix::fs::ftruncate(medium.anchor(), 0)),
    }
    result
}

fn write_random_data(
    medium: &OpenMedium,
    cancelled: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), DriveError> {
    let (name, total) = (medium.target.name.as_str(), medium.target.size_bytes);
    let permit = guard::scratch_permit(medium)?;
    let file = File::from(medium.open(MediumAccess {
        mode: WriteMode::Write(&permit),
        direct: medium.target.supports_direct_io,
        ..MediumAccess::default()
    })?);
    let mut random = rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>();
    let mut storage = vec![0_u8; FILL_CHUNK_BYTES + SIZE_GRANULARITY as usize];
    let start = storage.as_ptr().align_offset(SIZE_GRANULARITY as usize);
    let buffer = &mut storage[start..start + FILL_CHUNK_BYTES];
    let below = LowerSpace::below_file(medium.roots(), &file);
    let is_on_server = is_on_server(medium.roots(), &file);
    let is_reserved = is_on_nfs(medium.roots(), &file) && {
        check_free_space(medium.roots(), &file, name, &below, total)?;
        reserve_on_server(&file, total).map_err(io_error_context(
            "reserve space for the scratch file in",
            name,
        ))?
    };
    let mut done = 0;
    while done < total {
        if cancelled() {
            return Err(DriveError::Cancelled {
                doing: "the scratch file was filled",
            });
        }
        let left = total - done;
        if !is_reserved && done % FREE_SPACE_CHECK_BYTES == 0 {
            check_free_space(medium.roots(), &file, name, &below, left)?;
        }
        let chunk = &mut buffer[..left.min(FILL_CHUNK_BYTES as u64) as usize];
        random.fill_bytes(chunk);
        let written = file.write_all_at(chunk, done);
        // What the page cache holds would be sent after a refusal nevertheless.
        let written = written.and_then(|()| match is_on_server && !is_reserved {
            true => file.sync_data(),
            false => Ok(()),
        });
        written.map_err(io_error_context("fill the scratch file in", name))?;
        done += chunk.len() as u64;
        progress(done, total);
    }
    file.sync_all()
        .map_err(io_error_context("write the scratch file in", name))?;
    // Best effort: the check `served-from-cache` detects what stays cached.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    Ok(())
}

/// Has a server reserve the space of a scratch file, and as much for others, at most the usual reserve. A quota
/// of the server shows only when it refuses something, and is used up until the file is truncated then: for
/// this one request, not while the file grows. False for a server that reserves nothing: one with ZFS says that
/// it has, and the file has no blocks.
fn reserve_on_server(file: &File, size: u64) -> Result<bool, Errno> {
    let more = size.saturating_add(size.min(RESERVE_BYTES));
    let reserved = fallocate(file, FallocateFlags::empty(), 0, more);
    if let Err(error @ (Errno::DQUOT | Errno::NOSPC)) = reserved {
        return Err(error);
    }
    let blocks = u64::try_from(rustix::fs::fstat(file)?.st_blocks).unwrap_or(0);
    rustix::fs::ftruncate(file, size)?;
    // stat(2) counts blocks of 512 bytes.
    Ok(reserved.is_ok() && blocks.saturating_mul(512) >= more)
}

/// Refuses to overwrite a range of a file or a device where the new blocks that it gets, or those of the
/// images that it lies in, would take the free space below the reserve, and what needs space in a
/// snapshot or a pool, if that would be too little. `most` is the maximum number of bytes written, if
/// known.
///
/// # Errors
/// [`DriveError::InsufficientSpaceForHoles`].
pub fn check_space_for_holes(
    medium: &OpenMedium,
    window: std::ops::Range<u64>,
    most: Option<u64>,
) -> Result<(), DriveError> {
    let length = window.end.saturating_sub(window.start);
    let written = length.min(most.unwrap_or(u64::MAX));
    let (name, below) = (&medium.target.name, lower_space(medium));
    let check = |room: FreeSpace, missing: u64| match missing > room.usable_bytes() {
        true if missing > 0 => Err(room.insufficient_for_holes(name, missing)),
        _ => Ok(()),
    };
    if medium.device_number().is_none() {
        let count = SpaceCount::BeforeWriting;
        let room = FreeSpace::of_own_file_system(medium.roots(), medium.anchor(), name, count)?;
        // Where the allocation is unknown, the check of the free space during the run still applies.
        let missing = new_block_bytes(medium.roots(), medium.anchor(), window).unwrap_or(0);
        check(room, missing.min(written))?;
    }
    for lower in below.rooms(medium.roots(), SpaceCount::BeforeWriting) {
        let missing = match lower.demand {
            SpaceDemand::NewBlocks { bytes } => bytes.min(written),
            SpaceDemand::Units { unit_bytes } => store_bytes(length, most, unit_bytes),
        };
        check(lower.room, missing)?;
    }
    Ok(())
}

/// The space that a range of that length takes at most of a store, each write of which takes `unit`
/// bytes. `most`: the maximum number of bytes written, in requests of at least one sector.
fn store_bytes(length: u64, most: Option<u64>, unit: u64) -> u64 {
    const SECTOR_BYTES: u64 = 512;
    if length == 0 {
        return 0;
    }
    let whole = length.saturating_add(unit);
    let scattered = most.map(|most| most.div_ceil(SECTOR_BYTES).saturating_mul(unit));
    whole.min(scattered.unwrap_or(u64::MAX))
}

/// The error that stops writing to a file or a device: it, or an image that it lies in, gets new blocks,
/// and the free space of the file system is down to the reserve, or that of a snapshot or a pool.
/// `None` if there is enough space, or if this is unknown.
#[must_use]
pub fn space_shortage(medium: &OpenMedium, below: &LowerSpace) -> Option<DriveError> {
    let (name, size) = (&medium.target.name, medium.target.size_bytes);
    if medium.device_number().is_none() {
        let room = FreeSpace::of_file_system(medium.roots(), medium.anchor(), name);
        if let Some(room) = room.ok().filter(|room| room.usable_bytes() == 0) {
            let missing = new_block_bytes(medium.roots(), medium.anchor(), 0..size).unwrap_or(0);
            if missing > 0 {
                return Some(room.insufficient_for_holes(name, missing));
            }
        }
    }
    let lower = below.exhausted(medium.roots()).into_iter().next()?;
    let missing = match lower.demand {
        SpaceDemand::NewBlocks { bytes } => bytes,
        SpaceDemand::Units { .. } => size,
    };
    Some(lower.room.insufficient_for_holes(name, missing))
}

/// The images, snapshots and pools below a medium.
#[must_use]
pub fn lower_space(medium: &OpenMedium) -> LowerSpace {
    match medium.device_number() {
        Some(number) => LowerSpace::below_device(medium.roots(), number),
        None => LowerSpace::below_file(medium.roots(), medium.anchor()),
    }
}

/// Images, snapshots, pools and limited devices in memory below a scratch file, as far as its file system tells.
/// The file's blocks stay allocated there after its end until the file system is trimmed: ext4 and XFS tell a
/// device that blocks are free only then, or with the mount option `discard`.
#[must_use]
pub fn allocated_below(medium: &OpenMedium) -> Vec<SpaceLimit> {
    let mount = mounts::mount_of_file(medium.roots(), medium.anchor());
    let discards = |option: &String| option == "discard" || option.starts_with("discard=");
    if mount.is_some_and(|mount| mount.options.iter().any(discards)) {
        return Vec::new();
    }
    let below = LowerSpace::below_output(medium.roots(), medium.anchor());
    let rooms = below.rooms(medium.roots(), SpaceCount::WhileWriting);
    rooms
        .into_iter()
        .filter_map(|lower| lower.room.limit)
        .collect()
}

/// Whether overwriting a filled scratch file takes space of its file system, or of something below it.
#[must_use]
pub fn takes_space_when_overwritten(medium: &OpenMedium) -> bool {
    !is_written_in_place(medium.roots(), medium.anchor()) || needs_space_below(medium)
}

/// Whether a write to a medium can need space of an image, a snapshot or a pool below it.
#[must_use]
pub fn needs_space_below(medium: &OpenMedium) -> bool {
    lower_space(medium).is_needed(medium.roots())
}

/// Others write as well: the remaining bytes must fit above the reserve.
fn check_free_space(
    roots: &SysPaths,
    file: &File,
    directory: &str,
    below: &LowerSpace,
    left: u64,
) -> Result<(), DriveError> {
    let room = FreeSpace::of_file(roots, file, directory, below, SpaceCount::WhileWriting)?;
    if left > room.usable_bytes() {
        return Err(room.insufficient_space(directory, left));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_takes_a_unit_of_a_store() {
        let mib = 1 << 20;
        assert_eq!(store_bytes(8 * mib, None, 65_536), 8 * mib + 65_536);
        assert_eq!(store_bytes(8 * mib, Some(1024), 65_536), 2 * 65_536);
        assert_eq!(
            store_bytes(8 * mib, Some(8 * mib), 65_536),
            8 * mib + 65_536
        );
        assert_eq!(store_bytes(0, None, 65_536), 0);
        assert_eq!(store_bytes(u64::MAX, Some(u64::MAX), u64::MAX), u64::MAX);
    }

    #[test]
    fn space_reserved_for_others_is_given_back() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(reserve_on_server(&file, 1 << 20), Ok(true));
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    }

    #[test]
    fn named_scratch_file_is_unlinked_after_creation() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().to_str().unwrap();
        let owner = Permissions::RUSR | Permissions::WUSR;
        let file = create_named(directory.path(), name, OFlags::RDWR, owner).unwrap();
        file.write_all_at(b"there", 0).unwrap();
        assert_eq!(std::fs::read_dir(name).unwrap().count(), 0);
    }
}
