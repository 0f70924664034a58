//! Sectors of a device that a target covers.

use std::ops::Range;

/// Sectors of a device that a target covers, or may cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SectorExtent {
    /// All, or unknown ones.
    All,
    /// These only.
    Ranges(Vec<Range<u64>>),
}

/// Whether two ranges have a sector in common.
pub(super) fn ranges_overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

impl SectorExtent {
    /// Whether it has sectors of that range; `None`: of an unknown one.
    pub(super) fn overlaps(&self, range: Option<&Range<u64>>) -> bool {
        match (self, range) {
            (Self::Ranges(own), Some(other)) => own.iter().any(|own| ranges_overlap(own, other)),
            _ => true,
        }
    }

    /// The extent on the whole disk, for an extent on the partition in that range of it.
    pub(super) fn on_whole_disk(&self, partition: Option<&Range<u64>>) -> Self {
        match (self, partition) {
            (_, None) => Self::All,
            (Self::All, Some(partition)) => Self::Ranges(vec![partition.clone()]),
            (Self::Ranges(own), Some(partition)) => Self::Ranges(
                own.iter()
                    .map(|own| {
                        own.start.saturating_add(partition.start)
                            ..own.end.saturating_add(partition.start)
                    })
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extent_on_a_partition_is_moved_to_its_disk() {
        let extent = SectorExtent::Ranges(vec![0..10, 50..60]);
        let moved = extent.on_whole_disk(Some(&(100..200)));
        assert_eq!(moved, SectorExtent::Ranges(vec![100..110, 150..160]));
        assert!(moved.overlaps(Some(&(155..300))));
        assert!(!moved.overlaps(Some(&(110..150))));
        assert!(moved.overlaps(None), "unknown sectors");
        assert_eq!(extent.on_whole_disk(None), SectorExtent::All);
        let whole = SectorExtent::All.on_whole_disk(Some(&(100..200)));
        assert!(whole.overlaps(Some(&(199..200))) && !whole.overlaps(Some(&(200..300))));
        assert!(SectorExtent::All.overlaps(Some(&(0..1))));
    }
}
