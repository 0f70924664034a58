//! Opens the file of a ring for writing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation, Mode, SeekFrom, fallocate, fchmod, flock, seek};
use rustix::io::Errno;

use super::frame::MAGIC;
use super::ring::{
    RING_FORMAT_VERSION, RING_HEADER_FIELDS_BYTES, RING_MAGIC, RingGeometry, version_of,
};
use super::writer::{RecordingWriteError, io_failure};
use crate::files::error::FileError;
use crate::files::format_version::UnsupportedVersion;
use crate::files::output;

/// Bytes that are compared with zero at a time.
const ZERO_CHECK_BYTES: usize = 1 << 20;

/// A file that may be a ring.
pub(super) struct OpenedRing {
    /// Open for reading and writing.
    pub(super) file: File,
    /// Whether it was created.
    pub(super) is_new: bool,
}

/// Creates the file, or opens it if it exists and belongs to this user.
pub(super) fn open_ring_file(path: &Path) -> Result<OpenedRing, RecordingWriteError> {
    match output::create_private(path) {
        Ok(file) => Ok(OpenedRing { file, is_new: true }),
        Err(FileError::AlreadyExists(_)) => Ok(OpenedRing {
            file: output::open_own(path)?,
            is_new: false,
        }),
        Err(error) => Err(error.into()),
    }
}

/// Locks the file for this recorder, until it is closed.
pub(super) fn lock_ring_file(path: &Path, file: &File) -> Result<(), RecordingWriteError> {
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        Errno::WOULDBLOCK => RecordingWriteError::OtherRecorder {
            path: path.to_owned(),
        },
        error => io_failure(path, "lock")(error.into()),
    })
}

/// Makes a ring of a new file, and checks that an existing one is a ring of this geometry.
pub(super) fn prepare_ring_file(
    path: &Path,
    file: &File,
    is_new: bool,
    geometry: RingGeometry,
) -> Result<(), RecordingWriteError> {
    let failed = |tried| io_failure(path, tried);
    let size = file.metadata().map_err(failed("examine"))?.len();
    let mut head = [0; RING_HEADER_FIELDS_BYTES];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => {}
        // A power cut right after the file was created.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && size == 0 => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(not_a_ring(path, "it is too short"));
        }
        Err(error) => return Err(failed("read")(error)),
    }
    // A power cut before the header was synced, which is before anything else is written.
    let has_ring_size = size == 0 || size == geometry.file_bytes();
    if is_new || (has_ring_size && holds_only_zeros(file, size).map_err(failed("read"))?) {
        return initialize(path, file, size, geometry);
    }
    if head[..8] == MAGIC {
        return Err(not_a_ring(path, "it is a recording without --ring"));
    }
    if head[..8] != RING_MAGIC {
        return Err(not_a_ring(path, "it does not begin with DSKSRING"));
    }
    if version_of(&head) != RING_FORMAT_VERSION {
        return Err(RecordingWriteError::Version(UnsupportedVersion {
            path: path.to_owned(),
            content: "ring recording",
            found: version_of(&head).into(),
            supported: RING_FORMAT_VERSION,
            program: None,
        }));
    }
    match RingGeometry::decode(&head) {
        Some(found) if found == geometry => restore_size(path, file, size, geometry),
        Some(found) => Err(RecordingWriteError::OtherRingSize {
            path: path.to_owned(),
            found: found.file_bytes(),
            wanted: geometry.file_bytes(),
        }),
        None => Err(not_a_ring(path, "its header is damaged")),
    }
}

/// Gives a ring its size and its space again: a copy may have been cut off, or have holes. One that is longer
/// holds something else as well.
fn restore_size(
    path: &Path,
    file: &File,
    found: u64,
    geometry: RingGeometry,
) -> Result<(), RecordingWriteError> {
    let size = geometry.file_bytes();
    if found > size {
        return Err(not_a_ring(path, "it is longer than its header says"));
    }
    reserve_space(path, file, found, size)
}

/// Whether a file of `size` bytes has no byte other than zero. Holes are not read.
fn holds_only_zeros(file: &File, size: u64) -> io::Result<bool> {
    let mut block = vec![0; ZERO_CHECK_BYTES];
    let mut offset = 0;
    while offset < size {
        offset = match seek(file, SeekFrom::Data(offset)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(true),
            // A file system that knows no holes.
            Err(_) => offset,
        };
        let count = file.read_at(&mut block, offset)?;
        if count == 0 {
            return Ok(true);
        }
        if block[..count].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += count as u64;
    }
    Ok(true)
}

pub(super) fn not_a_ring(path: &Path, reason: &'static str) -> RecordingWriteError {
    RecordingWriteError::NotARing {
        path: path.to_owned(),
        reason,
    }
}

/// Reserves the space of a file of the size `found`, and writes the header.
fn initialize(
    path: &Path,
    file: &File,
    found: u64,
    geometry: RingGeometry,
) -> Result<(), RecordingWriteError> {
    reserve_space(path, file, found, geometry.file_bytes())?;
    // An empty file that was there may have another mode. Not every file system has modes.
    let _ = fchmod(file, Mode::RUSR | Mode::WUSR);
    file.write_all_at(&geometry.encode(), 0)
        .and_then(|()| file.sync_all())
        .map_err(io_failure(path, "write to"))?;
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    // Not every file system can sync a directory.
    let _ = File::open(directory.unwrap_or(Path::new("."))).and_then(|it| it.sync_all());
    Ok(())
}

/// Reserves `size` bytes for a file of the size `found`, where it has not got them yet, so that the ring
/// takes no space of its file system from others later.
fn reserve_space(
    path: &Path,
    file: &File,
    found: u64,
    size: u64,
) -> Result<(), RecordingWriteError> {
    if found == size {
        return Ok(());
    }
    if !output::has_room(file, size - found) {
        return Err(RecordingWriteError::NoRoomForRing {
            path: path.to_owned(),
            bytes: size,
        });
    }
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Ok(()) => Ok(()),
        // Such a file system reserves nothing; the file still has its size.
        Err(Errno::OPNOTSUPP) => file.set_len(size).map_err(io_failure(path, "extend")),
        Err(error) => {
            // The space that was reserved until then.
            let _ = file.set_len(found);
            Err(io_failure(path, "reserve space for")(error.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;

    const PRECIOUS: &[u8] = b"precious";

    #[test]
    fn file_that_takes_the_place_of_a_new_ring_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let (ring, precious) = (
            directory.path().join("ring"),
            directory.path().join("precious"),
        );
        let geometry = RingGeometry::of_size(super::super::ring::MIN_RING_BYTES).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = renameat_with(CWD, &ring, CWD, &precious, RenameFlags::EXCHANGE);
                }
            });
            for _ in 0..200 {
                let _ = std::fs::remove_file(&ring);
                std::fs::write(&precious, PRECIOUS).unwrap();
                let opened = open_ring_file(&ring);
                if let Ok(OpenedRing { file, is_new }) = opened {
                    let mut before = [0; PRECIOUS.len()];
                    let is_precious = file.read_exact_at(&mut before, 0).is_ok();
                    let prepared = prepare_ring_file(&ring, &file, is_new, geometry);
                    assert!(!is_precious || prepared.is_err());
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
