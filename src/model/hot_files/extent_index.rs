//! Which file a place on a drive belongs to, from the extents of the files.

use std::collections::BTreeMap;

use super::table::FileId;
use crate::probe::trace::event::DeviceNumber;

/// A part of a file on a drive, in bytes from the start of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhysicalExtent {
    /// The drive.
    pub drive: DeviceNumber,
    /// First byte.
    pub offset: u64,
    /// Length.
    pub length: u64,
}

impl PhysicalExtent {
    fn start(&self) -> (DeviceNumber, u64) {
        (self.drive, self.offset)
    }
}

/// Extents of files. Files that share blocks all have them; a place belongs to the one that was
/// added last.
#[derive(Debug, Default)]
pub struct ExtentIndex {
    by_start: BTreeMap<(DeviceNumber, u64), (u64, FileId)>,
    by_file: BTreeMap<FileId, Vec<PhysicalExtent>>,
}

impl ExtentIndex {
    /// Replaces the extents of a file.
    pub fn replace(&mut self, file: FileId, mut extents: Vec<PhysicalExtent>) {
        extents.sort_by_key(PhysicalExtent::start);
        for old in self.by_file.remove(&file).unwrap_or_default() {
            let key = old.start();
            if self.by_start.get(&key).is_some_and(|known| known.1 == file) {
                self.by_start.remove(&key);
            }
        }
        for extent in &extents {
            self.by_start.insert(extent.start(), (extent.length, file));
        }
        if !extents.is_empty() {
            self.by_file.insert(file, extents);
        }
    }

    /// Whether the known extents of a file contain a place.
    #[must_use]
    pub fn covers(&self, file: FileId, drive: DeviceNumber, offset: u64) -> bool {
        let extents = self.by_file.get(&file).map_or(&[][..], Vec::as_slice);
        let after = extents.partition_point(|extent| extent.start() <= (drive, offset));
        let extent = after.checked_sub(1).and_then(|index| extents.get(index));
        extent.is_some_and(|extent| extent.drive == drive && offset - extent.offset < extent.length)
    }

    /// The file at a place.
    #[must_use]
    pub fn file_at(&self, drive: DeviceNumber, offset: u64) -> Option<FileId> {
        let range = (drive, 0)..=(drive, offset);
        let ((_, start), (length, file)) = self.by_start.range(range).next_back()?;
        (offset - start < *length).then_some(*file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(offset: u64, length: u64) -> PhysicalExtent {
        PhysicalExtent {
            drive: (8, 0),
            offset,
            length,
        }
    }

    #[test]
    fn place_belongs_to_file_whose_extent_contains_it() {
        let (a, b) = (FileId(1), FileId(2));
        let mut index = ExtentIndex::default();
        index.replace(a, vec![extent(0, 4096), extent(8192, 4096)]);
        index.replace(b, vec![extent(4096, 4096)]);
        assert_eq!(index.file_at((8, 0), 4095), Some(a));
        assert_eq!(index.file_at((8, 0), 4096), Some(b));
        assert_eq!(index.file_at((8, 0), 12_288), None);
        assert_eq!(index.file_at((8, 1), 0), None);
        assert!(index.covers(a, (8, 0), 8192) && !index.covers(a, (8, 0), 4096));
    }

    #[test]
    fn replaced_extents_are_forgotten() {
        let (a, b) = (FileId(1), FileId(2));
        let mut index = ExtentIndex::default();
        index.replace(a, vec![extent(0, 4096), extent(4096, 4096)]);
        index.replace(b, vec![extent(0, 4096)]);
        index.replace(a, vec![extent(4096, 4096)]);
        assert_eq!(
            index.file_at((8, 0), 0),
            Some(b),
            "taken over by another file"
        );
        index.replace(b, Vec::new());
        assert_eq!(index.file_at((8, 0), 0), None);
        assert_eq!(index.file_at((8, 0), 5000), Some(a));
    }
}
