//! Allocation of a file: which parts of it are allocated on the medium.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::drive::ioctl;
use crate::drive::ioctl::FileExtent;

/// `FIEMAP_EXTENT_ENCODED`: compressed or encrypted by the file system.
const FIEMAP_EXTENT_ENCODED: u32 = 0x08;
/// `FIEMAP_EXTENT_UNWRITTEN`: allocated but not written.
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
/// `FIEMAP_EXTENT_SHARED`: shared with another file, or with a snapshot.
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;
/// `FIEMAP_EXTENT_LAST`: the last extent of the file.
const FIEMAP_EXTENT_LAST: u32 = 0x01;

/// Size of the unit of `st_blocks` (stat(2)).
const BLOCK_BYTES: u64 = 512;

/// Allocation of a range of a file, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllocatedExtents {
    /// Length of the range.
    pub total_bytes: u64,
    /// Not allocated on the medium.
    pub hole_bytes: u64,
    /// Allocated but never written.
    pub unwritten_bytes: u64,
    /// Compressed or encrypted by the file system.
    pub encoded_bytes: u64,
    /// Shared with another file or a snapshot (cp --reflink, ioctl_ficlone(2)): the file gets new blocks
    /// when they are written. Those that are encoded are not counted again.
    pub shared_bytes: u64,
}

/// Allocation of a range of a file. Reads the extents where the file system reports them (kernel
/// Documentation/filesystems/fiemap.rst), otherwise uses `SEEK_HOLE` (lseek(2)), which reports both
/// holes and unwritten extents as holes.
///
/// # Errors
/// When the file system supports neither.
pub fn allocated_extents(file: &File, range: Range<u64>) -> io::Result<AllocatedExtents> {
    allocation(file, range, ioctl::file_extents, allocation_from_seek_hole)
}

/// The same as far as it is decided by now, without waiting for the write-back of dirty pages: blocks
/// that are reserved for them count as allocated.
///
/// # Errors
/// As [`allocated_extents`].
pub fn placed_extents(file: &File, range: Range<u64>) -> io::Result<AllocatedExtents> {
    allocation(
        file,
        range,
        ioctl::placed_extents,
        allocation_from_seek_hole,
    )
}

/// The same of a file whose blocks were reserved (fallocate(2)). Where the file system does not report its
/// extents, as many bytes count as holes as `st_blocks` (stat(2)) leaves of the file: `SEEK_HOLE` reports
/// reserved blocks as holes.
///
/// # Errors
/// When the file system does not report its extents for another reason than that it cannot.
pub fn reserved_extents(file: &File, range: Range<u64>) -> io::Result<AllocatedExtents> {
    allocation(file, range, ioctl::placed_extents, allocation_from_blocks)
}

/// Reads extents from an offset on.
type ReadExtents = fn(&File, Range<u64>) -> io::Result<Vec<FileExtent>>;

/// Allocation of a range without its extents.
type AllocationWithoutExtents = fn(&File, &Range<u64>) -> io::Result<AllocatedExtents>;

fn allocation(
    file: &File,
    range: Range<u64>,
    read: ReadExtents,
    without_extents: AllocationWithoutExtents,
) -> io::Result<AllocatedExtents> {
    match allocation_from_fiemap(file, &range, read) {
        Err(error) if is_unsupported(&error) => without_extents(file, &range),
        other => other,
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [libc::EOPNOTSUPP, libc::ENOTTY, libc::EINVAL]
        .into_iter()
        .any(|known| code == Some(known))
}

fn allocation_from_fiemap(
    file: &File,
    range: &Range<u64>,
    read: ReadExtents,
) -> io::Result<AllocatedExtents> {
    let mut sum = ExtentSum::new(range.clone());
    while sum.end_offset < range.end {
        let extents = read(file, sum.end_offset..range.end)?;
        let before = sum.end_offset;
        let last = extents
            .iter()
            .any(|extent| extent.flags & FIEMAP_EXTENT_LAST != 0);
        extents.iter().for_each(|extent| sum.add(extent));
        if last || extents.is_empty() || sum.end_offset <= before {
            break;
        }
    }
    Ok(sum.finish())
}

/// Adds up extents in ascending order.
struct ExtentSum {
    range: Range<u64>,
    end_offset: u64,
    totals: AllocatedExtents,
    data_bytes: u64,
}

impl ExtentSum {
    fn new(range: Range<u64>) -> Self {
        Self {
            end_offset: range.start,
            range,
            totals: AllocatedExtents::default(),
            data_bytes: 0,
        }
    }

    fn add(&mut self, extent: &FileExtent) {
        let begin = extent.logical.max(self.end_offset);
        let end = extent
            .logical
            .saturating_add(extent.length)
            .min(self.range.end);
        let inside = end.saturating_sub(begin);
        self.data_bytes += inside;
        if extent.flags & FIEMAP_EXTENT_ENCODED != 0 {
            self.totals.encoded_bytes += inside;
        } else if extent.flags & FIEMAP_EXTENT_SHARED != 0 {
            self.totals.shared_bytes += inside;
        } else if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
            self.totals.unwritten_bytes += inside;
        }
        self.end_offset = self.end_offset.max(end);
    }

    fn finish(self) -> AllocatedExtents {
        let bytes = self.range.end.saturating_sub(self.range.start);
        AllocatedExtents {
            total_bytes: bytes,
            hole_bytes: bytes.saturating_sub(self.data_bytes),
            ..self.totals
        }
    }
}

fn allocation_from_seek_hole(file: &File, range: &Range<u64>) -> io::Result<AllocatedExtents> {
    let mut holes = 0;
    let mut at = range.start;
    while at < range.end {
        let data = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(range.end),
            // After the last data there are only holes.
            Err(Errno::NXIO) => range.end,
            Err(error) => return Err(error.into()),
        };
        holes += data - at;
        if data >= range.end {
            break;
        }
        at = rustix::fs::seek(file, SeekFrom::Hole(data))?;
    }
    // A file system that knows no holes reports data everywhere (generic_file_llseek in fs/read_write.c).
    let by_blocks = allocation_from_blocks(file, range)?;
    Ok(AllocatedExtents {
        hole_bytes: holes.max(by_blocks.hole_bytes),
        ..by_blocks
    })
}

/// The holes that a range has at most by the number of blocks of the file, which may also be longer or shorter.
fn allocation_from_blocks(file: &File, range: &Range<u64>) -> io::Result<AllocatedExtents> {
    let facts = file.metadata()?;
    let total_bytes = range.end.saturating_sub(range.start);
    let length = facts.len().max(range.end);
    let unallocated = length.saturating_sub(facts.blocks().saturating_mul(BLOCK_BYTES));
    Ok(AllocatedExtents {
        total_bytes,
        hole_bytes: unallocated.min(total_bytes),
        ..AllocatedExtents::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    fn extent(logical: u64, length: u64, flags: u32) -> FileExtent {
        let mut extent = FileExtent::default();
        (extent.logical, extent.length, extent.flags) = (logical, length, flags);
        extent
    }

    #[test]
    fn extents_are_clipped_to_the_range_and_gaps_are_holes() {
        let mut sum = ExtentSum::new(100..1000);
        for extent in [
            extent(0, 200, 0),
            extent(300, 100, FIEMAP_EXTENT_UNWRITTEN),
            extent(400, 100, FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_SHARED),
            extent(500, 50, FIEMAP_EXTENT_SHARED | FIEMAP_EXTENT_UNWRITTEN),
            extent(900, 500, FIEMAP_EXTENT_LAST),
        ] {
            sum.add(&extent);
        }
        let expected = AllocatedExtents {
            total_bytes: 900,
            hole_bytes: 450,
            unwritten_bytes: 100,
            encoded_bytes: 100,
            shared_bytes: 50,
        };
        assert_eq!(sum.finish(), expected);
    }

    #[test]
    fn sparse_file_extents_match_between_fiemap_and_seek_hole() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.set_len(8 * MIB).unwrap();
        file.write_all_at(&vec![7; MIB as usize], 0).unwrap();
        file.write_all_at(&vec![7; MIB as usize], 4 * MIB).unwrap();
        file.sync_all().unwrap();
        let sought = allocation_from_seek_hole(&file, &(0..8 * MIB)).unwrap();
        assert_eq!((sought.total_bytes, sought.hole_bytes), (8 * MIB, 6 * MIB));
        let half = allocated_extents(&file, 4 * MIB..8 * MIB).unwrap();
        assert_eq!((half.total_bytes, half.hole_bytes), (4 * MIB, 3 * MIB));
    }

    #[test]
    fn fallocated_space_counts_as_unwritten() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let keep = rustix::fs::FallocateFlags::empty();
        if let Err(error) = rustix::fs::fallocate(&file, keep, 0, 4 * MIB) {
            return skip(Requirement::Files, format!("no fallocate here: {error}"));
        }
        file.write_all_at(&vec![7; MIB as usize], 0).unwrap();
        let found = allocated_extents(&file, 0..4 * MIB).unwrap();
        // Without extent information both count as holes.
        assert_eq!(
            found.hole_bytes + found.unwritten_bytes,
            3 * MIB,
            "{found:?}"
        );
    }

    #[test]
    fn extents_beyond_one_request_are_all_read() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let pieces = 3 * ioctl::MAX_EXTENTS as u64;
        for piece in 0..pieces {
            file.write_all_at(&[7; 4096], piece * 65_536).unwrap();
        }
        let found = allocated_extents(&file, 0..pieces * 65_536).unwrap();
        assert_eq!(
            found.total_bytes - found.hole_bytes,
            pieces * 4096,
            "{found:?}"
        );
    }
}
