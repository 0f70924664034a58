//! Where the data of a file is (kernel Documentation/filesystems/fiemap.rst).

use std::fs::File;
use std::io;

use crate::drive::ioctl::{FileExtent, placed_extents};

/// More extents of one file are not read.
const MAX_FILE_EXTENTS: usize = 65_536;
/// `FIEMAP_EXTENT_LAST`.
const LAST: u32 = 0x01;
/// `FIEMAP_EXTENT_UNKNOWN`, `_DELALLOC` and `_DATA_INLINE`: there is no place, or not one that only
/// holds this file's data.
const WITHOUT_PLACE: u32 = 0x02 | 0x04 | 0x200;

/// The extents of a file that have a place, in order of their offset in the file.
///
/// # Errors
/// When the file system does not report extents.
pub fn extents_on_device(file: &File) -> io::Result<Vec<FileExtent>> {
    let mut found = Vec::new();
    let mut position = 0;
    while found.len() < MAX_FILE_EXTENTS {
        let extents = placed_extents(file, position..u64::MAX)?;
        let Some(last) = extents.last().copied() else {
            break;
        };
        found.extend(
            extents
                .into_iter()
                .filter(|extent| extent.flags & WITHOUT_PLACE == 0),
        );
        let next = last.logical.saturating_add(last.length);
        if last.flags & LAST != 0 || next <= position {
            break;
        }
        position = next;
    }
    Ok(found)
}
