//! The scratch file: a file without a name in the user's directory, filled with random bytes, so
//! that any machine can be tried without naming a device. It is gone as soon as nobody has it
//! open, also after kill -9.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, AtFlags, Mode as Permissions, OFlags};
use rustix::io::Errno;

use super::random::Random;
use super::room::{Room, SMALLEST_CHOICE};
use super::target::{Access, Medium, Mode};
use super::{DriveError, extents, failed, guard};
use crate::roots::Roots;

/// Sizes are whole multiples of this, which suits every drive's blocks.
pub(super) const GRAIN: u64 = 4096;
/// Written at a time when filling.
const CHUNK: usize = 4 << 20;
/// The free space is looked at again after this many bytes.
const LOOK_EVERY: u64 = 64 << 20;

/// Makes the empty file: `O_TMPFILE`, or, where the file system lacks it, a name that is taken
/// away at once.
pub(super) fn create(directory: &Path, name: &str) -> Result<File, DriveError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let owner = Permissions::RUSR | Permissions::WUSR;
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, owner) {
        Ok(file) => Ok(file.into()),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => named(directory, name, flags, owner),
        Err(error) => Err(failed("make a scratch file in", name)(error)),
    }
}

/// A file whose name lasts for a moment only.
fn named(
    directory: &Path,
    name: &str,
    flags: OFlags,
    owner: Permissions,
) -> Result<File, DriveError> {
    let path = directory.join(format!(".diskscope-{:016x}", Random::unforeseen().word()));
    let context = || failed("make a scratch file in", name);
    let file =
        rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, owner).map_err(context())?;
    rustix::fs::unlinkat(rustix::fs::CWD, &path, AtFlags::empty()).map_err(context())?;
    Ok(file.into())
}

/// The size that the file will have, if there is room for it.
pub(super) fn size(
    roots: &Roots,
    file: &File,
    directory: &str,
    wanted: Option<u64>,
) -> Result<u64, DriveError> {
    let room = Room::around(roots, file, directory)?;
    let Some(wanted) = wanted else {
        return room
            .choice()
            .ok_or_else(|| room.refuse(directory, SMALLEST_CHOICE));
    };
    let size = wanted.checked_next_multiple_of(GRAIN).unwrap_or(wanted);
    if size > room.usable() {
        return Err(room.refuse(directory, size));
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
pub fn fill(
    medium: &Medium,
    cancelled: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), DriveError> {
    if medium.is_filled() {
        return Ok(());
    }
    let result = write_all(medium, cancelled, progress);
    match &result {
        Ok(()) => medium.set_filled(),
        // The error that led here says more than a failure to shorten the file would.
        Err(_) => drop(rustix::fs::ftruncate(medium.anchor(), 0)),
    }
    result
}

fn write_all(
    medium: &Medium,
    cancelled: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), DriveError> {
    let (name, total) = (medium.target.name.as_str(), medium.target.size);
    let permit = guard::scratch_permit(medium)?;
    let file = File::from(medium.open(Access {
        mode: Mode::Write(&permit),
        direct: medium.target.direct,
        ..Access::default()
    })?);
    let mut random = Random::unforeseen();
    let mut storage = vec![0_u8; CHUNK + GRAIN as usize];
    let start = storage.as_ptr().align_offset(GRAIN as usize);
    let buffer = &mut storage[start..start + CHUNK];
    let mut done = 0;
    while done < total {
        if cancelled() {
            return Err(DriveError::Cancelled {
                doing: "the scratch file was filled",
            });
        }
        let left = total - done;
        if done % LOOK_EVERY == 0 {
            check_room(medium.roots(), &file, name, left)?;
        }
        let chunk = &mut buffer[..left.min(CHUNK as u64) as usize];
        random.fill(chunk);
        file.write_all_at(chunk, done)
            .map_err(failed("fill the scratch file in", name))?;
        done += chunk.len() as u64;
        progress(done, total);
    }
    file.sync_all()
        .map_err(failed("write the scratch file in", name))?;
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
pub fn check_holes(
    medium: &Medium,
    window: std::ops::Range<u64>,
    most: Option<u64>,
) -> Result<(), DriveError> {
    let Ok(found) = extents::allocation(medium.anchor(), window) else {
        // Nobody can tell: the watch over the free space is what is left.
        return Ok(());
    };
    let missing = found.holes.saturating_add(found.encoded);
    let missing = most.map_or(missing, |most| most.min(missing));
    let name = &medium.target.name;
    let room = Room::around(medium.roots(), medium.anchor(), name)?;
    if missing == 0 || missing <= room.usable() {
        return Ok(());
    }
    Err(DriveError::NoRoomForHoles {
        name: name.clone(),
        missing,
        free: room.free,
        reserve: room.reserve,
        limit: room.limit,
    })
}

/// Why writing into a file must stop now: a part of it lies on no medium yet, and its file system
/// has no more than the reserve left. `None` where all is well, or nobody can tell.
#[must_use]
pub fn shortage(medium: &Medium) -> Option<DriveError> {
    let name = &medium.target.name;
    let room = Room::around(medium.roots(), medium.anchor(), name).ok()?;
    if room.usable() > 0 {
        return None;
    }
    let found = extents::allocation(medium.anchor(), 0..medium.target.size).ok()?;
    let missing = found.holes.saturating_add(found.encoded);
    (missing > 0).then(|| DriveError::NoRoomForHoles {
        name: name.clone(),
        missing,
        free: room.free,
        reserve: room.reserve,
        limit: room.limit,
    })
}

/// Others write too: what is still to come must fit above the reserve.
fn check_room(roots: &Roots, file: &File, directory: &str, left: u64) -> Result<(), DriveError> {
    let room = Room::around(roots, file, directory)?;
    if left > room.usable() {
        return Err(room.refuse(directory, left));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_has_no_name_afterwards() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().to_str().unwrap();
        let owner = Permissions::RUSR | Permissions::WUSR;
        let file = named(directory.path(), name, OFlags::RDWR, owner).unwrap();
        file.write_all_at(b"there", 0).unwrap();
        assert_eq!(std::fs::read_dir(name).unwrap().count(), 0);
    }
}
