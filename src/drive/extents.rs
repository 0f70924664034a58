//! How much of a file is really on the medium.

use std::fs::File;
use std::io;
use std::ops::Range;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::ioctl::{self, Extent};

/// `FIEMAP_EXTENT_ENCODED`: compressed or encrypted by the file system.
const ENCODED: u32 = 0x08;
/// `FIEMAP_EXTENT_UNWRITTEN`: has its place, but nothing was written there.
const UNWRITTEN: u32 = 0x800;
/// `FIEMAP_EXTENT_LAST`: no other follows.
const LAST: u32 = 0x01;

/// What a part of a file consists of, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocation {
    /// All of it.
    pub bytes: u64,
    /// Without a place on the medium.
    pub holes: u64,
    /// With a place, but never written.
    pub unwritten: u64,
    /// Compressed or encrypted by the file system.
    pub encoded: u64,
}

/// What the part of a file in this range consists of: from its extents where the file system tells
/// them (kernel Documentation/filesystems/fiemap.rst), else from `SEEK_HOLE` (lseek(2)), which
/// takes both holes and what was never written for holes.
///
/// # Errors
/// When the file system tells neither.
pub fn allocation(file: &File, range: Range<u64>) -> io::Result<Allocation> {
    match by_extents(file, &range) {
        Err(error) if unsupported(&error) => by_seeking(file, &range),
        other => other,
    }
}

fn unsupported(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [libc::EOPNOTSUPP, libc::ENOTTY, libc::EINVAL]
        .into_iter()
        .any(|known| code == Some(known))
}

fn by_extents(file: &File, range: &Range<u64>) -> io::Result<Allocation> {
    let mut sum = Sum::new(range.clone());
    while sum.reached < range.end {
        let extents = ioctl::extents(file, sum.reached..range.end)?;
        let before = sum.reached;
        let last = extents.iter().any(|extent| extent.flags & LAST != 0);
        extents.iter().for_each(|extent| sum.add(extent));
        if last || extents.is_empty() || sum.reached <= before {
            break;
        }
    }
    Ok(sum.finish())
}

/// Adds up extents in ascending order.
struct Sum {
    range: Range<u64>,
    reached: u64,
    found: Allocation,
    present: u64,
}

impl Sum {
    fn new(range: Range<u64>) -> Self {
        Self {
            reached: range.start,
            range,
            found: Allocation::default(),
            present: 0,
        }
    }

    fn add(&mut self, extent: &Extent) {
        let begin = extent.logical.max(self.reached);
        let end = extent
            .logical
            .saturating_add(extent.length)
            .min(self.range.end);
        let inside = end.saturating_sub(begin);
        self.present += inside;
        if extent.flags & UNWRITTEN != 0 {
            self.found.unwritten += inside;
        } else if extent.flags & ENCODED != 0 {
            self.found.encoded += inside;
        }
        self.reached = self.reached.max(end);
    }

    fn finish(self) -> Allocation {
        let bytes = self.range.end.saturating_sub(self.range.start);
        Allocation {
            bytes,
            holes: bytes.saturating_sub(self.present),
            ..self.found
        }
    }
}

fn by_seeking(file: &File, range: &Range<u64>) -> io::Result<Allocation> {
    let mut holes = 0;
    let mut at = range.start;
    while at < range.end {
        let data = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(range.end),
            // Beyond the last data there are only holes.
            Err(Errno::NXIO) => range.end,
            Err(error) => return Err(error.into()),
        };
        holes += data - at;
        if data >= range.end {
            break;
        }
        at = rustix::fs::seek(file, SeekFrom::Hole(data))?;
    }
    Ok(Allocation {
        bytes: range.end.saturating_sub(range.start),
        holes,
        ..Allocation::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    fn extent(logical: u64, length: u64, flags: u32) -> Extent {
        let mut extent = Extent::default();
        (extent.logical, extent.length, extent.flags) = (logical, length, flags);
        extent
    }

    #[test]
    fn extents_are_clipped_to_the_range_and_gaps_are_holes() {
        let mut sum = Sum::new(100..1000);
        for extent in [
            extent(0, 200, 0),
            extent(300, 100, UNWRITTEN),
            extent(400, 100, ENCODED),
            extent(900, 500, LAST),
        ] {
            sum.add(&extent);
        }
        let expected = Allocation {
            bytes: 900,
            holes: 500,
            unwritten: 100,
            encoded: 100,
        };
        assert_eq!(sum.finish(), expected);
    }

    #[test]
    fn a_real_file_with_holes_is_known_by_both_ways() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.set_len(8 * MIB).unwrap();
        file.write_all_at(&vec![7; MIB as usize], 0).unwrap();
        file.write_all_at(&vec![7; MIB as usize], 4 * MIB).unwrap();
        file.sync_all().unwrap();
        let sought = by_seeking(&file, &(0..8 * MIB)).unwrap();
        assert_eq!((sought.bytes, sought.holes), (8 * MIB, 6 * MIB));
        let half = allocation(&file, 4 * MIB..8 * MIB).unwrap();
        assert_eq!((half.bytes, half.holes), (4 * MIB, 3 * MIB));
    }

    #[test]
    fn reserved_room_was_never_written() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let keep = rustix::fs::FallocateFlags::empty();
        if let Err(error) = rustix::fs::fallocate(&file, keep, 0, 4 * MIB) {
            return skip(Requirement::Files, format!("no fallocate here: {error}"));
        }
        file.write_all_at(&vec![7; MIB as usize], 0).unwrap();
        let found = allocation(&file, 0..4 * MIB).unwrap();
        // Where extents are not told both are one.
        assert_eq!(found.holes + found.unwritten, 3 * MIB, "{found:?}");
    }

    #[test]
    fn many_extents_are_read_to_the_last() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let pieces = 3 * ioctl::EXTENTS as u64;
        for piece in 0..pieces {
            file.write_all_at(&[7; 4096], piece * 65_536).unwrap();
        }
        let found = allocation(&file, 0..pieces * 65_536).unwrap();
        assert_eq!(found.bytes - found.holes, pieces * 4096, "{found:?}");
    }
}
