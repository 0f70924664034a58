//! Which parts of a file have no data on the medium (kernel
//! Documentation/filesystems/fiemap.rst).

use std::fs::File;
use std::io;
use std::ops::Range;

use linux_raw_sys::ioctl::{FIEMAP_FLAG_SYNC, FS_IOC_FIEMAP};
use rustix::ioctl::{Opcode, Updater, ioctl};

/// `FIEMAP_EXTENT_LAST`: the last extent of the file.
const LAST: u32 = 0x01;
/// `FIEMAP_EXTENT_ENCODED`: compressed or encrypted by the file system.
const ENCODED: u32 = 0x08;
/// `FIEMAP_EXTENT_UNWRITTEN`: allocated but not written.
const UNWRITTEN: u32 = 0x800;
/// `FIEMAP_EXTENT_SHARED`: shared with another file, or with a snapshot.
const SHARED: u32 = 0x2000;

/// Extents per system call.
const EXTENTS_PER_CALL: usize = 128;
/// More extents of one file are not read.
const MAX_EXTENTS: usize = 65_536;

/// One extent of a file: `struct fiemap_extent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct FileExtent {
    /// Offset in the file, bytes.
    logical: u64,
    physical: u64,
    /// Length in bytes.
    length: u64,
    reserved: [u64; 2],
    /// `FIEMAP_EXTENT_...` (include/uapi/linux/fiemap.h).
    flags: u32,
    reserved_tail: [u32; 3],
}

/// `struct fiemap`, followed by a buffer for extents.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FileExtent; EXTENTS_PER_CALL],
}

/// The extents of a range of a file in order of their offsets, the first 65,536 of them, after write-back of its dirty
/// pages.
fn extents_of(file: &File, range: &Range<u64>) -> io::Result<Vec<FileExtent>> {
    let mut found: Vec<FileExtent> = Vec::new();
    let mut map = Fiemap {
        start: range.start,
        length: range.end.saturating_sub(range.start),
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: EXTENTS_PER_CALL as u32,
        reserved: 0,
        extents: [FileExtent::default(); EXTENTS_PER_CALL],
    };
    while map.length > 0 && found.len() < MAX_EXTENTS {
        // SAFETY: FS_IOC_FIEMAP reads the header and writes at most `extent_count` extents behind it, for which
        // `extents` has space; all their bit patterns are valid numbers.
        unsafe {
            ioctl(
                file,
                Updater::<{ FS_IOC_FIEMAP as Opcode }, Fiemap>::new(&mut map),
            )
        }?;
        let mapped = (map.mapped_extents as usize).min(EXTENTS_PER_CALL);
        found.extend(&map.extents[..mapped]);
        let next = map.extents[..mapped]
            .last()
            .filter(|last| last.flags & LAST == 0);
        let next = next.map_or(range.end, |last| last.logical.saturating_add(last.length));
        // The kernel reports no extent twice; if it does, the rest is not read.
        map.start = if next > map.start { next } else { range.end };
        map.length = range.end.saturating_sub(map.start);
    }
    Ok(found)
}

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

/// Allocation of a range of a file, after write-back of its dirty pages.
///
/// # Errors
/// When the file system does not report extents, and for a file of more than 65,536 extents.
pub fn allocated_extents(file: &File, range: Range<u64>) -> io::Result<AllocatedExtents> {
    let extents = extents_of(file, &range)?;
    if extents.len() >= MAX_EXTENTS {
        return Err(io::Error::other("it has more than 65,536 extents"));
    }
    Ok(sum_of_extents(&extents, &range))
}

/// Adds up extents in ascending order.
fn sum_of_extents(extents: &[FileExtent], range: &Range<u64>) -> AllocatedExtents {
    let mut sum = AllocatedExtents {
        total_bytes: range.end.saturating_sub(range.start),
        ..AllocatedExtents::default()
    };
    let (mut end_offset, mut data_bytes) = (range.start, 0);
    for extent in extents {
        let begin = extent.logical.max(end_offset);
        let end = extent.logical.saturating_add(extent.length).min(range.end);
        let inside = end.saturating_sub(begin);
        data_bytes += inside;
        if extent.flags & ENCODED != 0 {
            sum.encoded_bytes += inside;
        } else if extent.flags & SHARED != 0 {
            sum.shared_bytes += inside;
        } else if extent.flags & UNWRITTEN != 0 {
            sum.unwritten_bytes += inside;
        }
        end_offset = end_offset.max(end);
    }
    sum.hole_bytes = sum.total_bytes.saturating_sub(data_bytes);
    sum
}
