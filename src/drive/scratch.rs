//! The scratch file: an unnamed file in the user's directory, filled with random bytes. It allows a
//! benchmark on any machine without naming a device. The kernel frees it when the last descriptor
//! is closed, also after kill -9.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rand::Rng as _;
use rustix::fs::{Advice, AtFlags, Mode as Permissions, OFlags};
use rustix::io::Errno;

use crate::drive::error::{DriveError, io_error_context};
use crate::drive::free_space::SIZE_GRANULARITY;
use crate::drive::medium::OpenMedium;

/// Bytes per write when filling.
const FILL_CHUNK_BYTES: usize = 4 << 20;

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

/// Fills a scratch file with random bytes, writes it back and drops it from the page cache. Does
/// nothing when it is already filled or when the medium is not a scratch file. `progress` receives
/// the bytes written and the total bytes.
///
/// # Errors
/// When `cancelled` is set, and when the file system fails or is full. The file is then truncated at once.
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
        Err(_) => drop(rustix::fs::ftruncate(&*medium.file(), 0)),
    }
    result
}

fn write_random_data(
    medium: &OpenMedium,
    cancelled: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), DriveError> {
    let (name, total) = (medium.target.name.as_str(), medium.target.size_bytes);
    let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
    flags.set(OFlags::DIRECT, medium.target.supports_direct_io);
    let file = medium.reopen(flags)?;
    let mut random = rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>();
    let mut storage = vec![0_u8; FILL_CHUNK_BYTES + SIZE_GRANULARITY as usize];
    let start = storage.as_ptr().align_offset(SIZE_GRANULARITY as usize);
    let buffer = &mut storage[start..start + FILL_CHUNK_BYTES];
    let mut done = 0;
    while done < total {
        if cancelled() {
            return Err(DriveError::Cancelled);
        }
        let left = total - done;
        let chunk = &mut buffer[..left.min(FILL_CHUNK_BYTES as u64) as usize];
        random.fill_bytes(chunk);
        file.write_all_at(chunk, done)
            .map_err(io_error_context("fill the scratch file in", name))?;
        done += chunk.len() as u64;
        progress(done, total);
    }
    file.sync_all()
        .map_err(io_error_context("write the scratch file in", name))?;
    // Best effort: the check `served-from-cache` detects what stays cached.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
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
