//! The scratch file: a file without a name in the user's directory, filled with random bytes, so
//! that any machine can be tried without naming a device. It is gone as soon as nobody has it
//! open, also after kill -9.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, AtFlags, Mode as Permissions, OFlags};
use rustix::io::Errno;

use super::free_space::{FreeSpace, MIN_SCRATCH_BYTES};
use super::medium::{MediumAccess, OpenMedium, WriteMode};
use super::random::Xoshiro256;
use super::{DriveError, extents, guard, io_error_context};
use crate::roots::SysPaths;

/// Sizes are whole multiples of this, which suits every drive's blocks.
pub(super) const SIZE_GRANULARITY: u64 = 4096;
/// Written at a time when filling.
const FILL_CHUNK_BYTES: usize = 4 << 20;
/// The free space is looked at again after this many bytes.
const FREE_SPACE_CHECK_BYTES: u64 = 64 << 20;

/// Makes the empty file: `O_TMPFILE`, or, where the file system lacks it, a name that is taken
/// away at once.
pub(super) fn create_scratch_file(directory: &Path, name: &str) -> Result<File, DriveError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let owner = Permissions::RUSR | Permissions::WUSR;
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, owner) {
        Ok(file) => Ok(file.into()),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            create_named(directory, name, flags, owner)
        }
        Err(error) => Err(io_error_context("make a scratch file in", name)(error)),
    }
}

/// A file whose name lasts for a moment only.
fn create_named(
    directory: &Path,
    name: &str,
    flags: OFlags,
    owner: Permissions,
) -> Result<File, DriveError> {
    let path = directory.join(format!(
        ".diskscope-{:016x}",
        Xoshiro256::from_entropy().next_u64()
    ));
    let context = || io_error_context("make a scratch file in", name);
    let file =
        rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, owner).map_err(context())?;
    rustix::fs::unlinkat(rustix::fs::CWD, &path, AtFlags::empty()).map_err(context())?;
    Ok(file.into())
}

/// The size that the file will have, if there is room for it.
pub(super) fn scratch_size(
    roots: &SysPaths,
    file: &File,
    directory: &str,
    wanted: Option<u64>,
) -> Result<u64, DriveError> {
    let room = FreeSpace::of_file(roots, file, directory)?;
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

/// Fills a scratch file with random bytes, really written and no longer cached; does nothing when
/// it is filled already or when the medium is none. `progress` is given the bytes written and the
/// bytes in total.
///
/// # Errors
/// When stopped by `cancelled`, when the file system fails, or when others have used up its room
/// meanwhile; what was written is given back at once.
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
        // The error that led here says more than a failure to shorten the file would.
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
    let mut random = Xoshiro256::from_entropy();
    let mut storage = vec![0_u8; FILL_CHUNK_BYTES + SIZE_GRANULARITY as usize];
    let start = storage.as_ptr().align_offset(SIZE_GRANULARITY as usize);
    let buffer = &mut storage[start..start + FILL_CHUNK_BYTES];
    let mut done = 0;
    while done < total {
        if cancelled() {
            return Err(DriveError::Cancelled {
                doing: "the scratch file was filled",
            });
        }
        let left = total - done;
        if done % FREE_SPACE_CHECK_BYTES == 0 {
            check_free_space(medium.roots(), &file, name, left)?;
        }
        let chunk = &mut buffer[..left.min(FILL_CHUNK_BYTES as u64) as usize];
        random.fill(chunk);
        file.write_all_at(chunk, done)
            .map_err(io_error_context("fill the scratch file in", name))?;
        done += chunk.len() as u64;
        progress(done, total);
    }
    file.sync_all()
        .map_err(io_error_context("write the scratch file in", name))?;
    // Only a wish: what stays cached is met again by the verdict `served-from-cache`.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    Ok(())
}

/// Refuses to overwrite a part of a file whose holes would take the file system below its reserve
/// when they are filled; `most` is what is written at most, where that is known. What the file
/// system keeps compressed takes room too when it is overwritten with random bytes.
///
/// # Errors
/// [`DriveError::NoRoomForHoles`].
pub fn check_space_for_holes(
    medium: &OpenMedium,
    window: std::ops::Range<u64>,
    most: Option<u64>,
) -> Result<(), DriveError> {
    let Ok(found) = extents::allocated_extents(medium.anchor(), window) else {
        // Nobody can tell: the watch over the free space is what is left.
        return Ok(());
    };
    let missing = found.hole_bytes.saturating_add(found.encoded_bytes);
    let missing = most.map_or(missing, |most| most.min(missing));
    let name = &medium.target.name;
    let room = FreeSpace::of_file(medium.roots(), medium.anchor(), name)?;
    if missing == 0 || missing <= room.usable_bytes() {
        return Ok(());
    }
    Err(DriveError::InsufficientSpaceForHoles {
        name: name.clone(),
        missing,
        free: room.free_bytes,
        reserve: room.reserve_bytes,
        limit: room.memory_limit,
    })
}

/// Why writing into a file must stop now: a part of it lies on no medium yet, and its file system
/// has no more than the reserve left. `None` where all is well, or nobody can tell.
#[must_use]
pub fn space_shortage(medium: &OpenMedium) -> Option<DriveError> {
    let name = &medium.target.name;
    let room = FreeSpace::of_file(medium.roots(), medium.anchor(), name).ok()?;
    if room.usable_bytes() > 0 {
        return None;
    }
    let found = extents::allocated_extents(medium.anchor(), 0..medium.target.size_bytes).ok()?;
    let missing = found.hole_bytes.saturating_add(found.encoded_bytes);
    (missing > 0).then(|| DriveError::InsufficientSpaceForHoles {
        name: name.clone(),
        missing,
        free: room.free_bytes,
        reserve: room.reserve_bytes,
        limit: room.memory_limit,
    })
}

/// Others write too: what is still to come must fit above the reserve.
fn check_free_space(
    roots: &SysPaths,
    file: &File,
    directory: &str,
    left: u64,
) -> Result<(), DriveError> {
    let room = FreeSpace::of_file(roots, file, directory)?;
    if left > room.usable_bytes() {
        return Err(room.insufficient_space(directory, left));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
