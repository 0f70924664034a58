//! The partitions of a disk, and the sectors that describe them: whoever overwrites these takes the
//! partitions away, although no partition has them as its data.

use std::ops::Range;

use crate::drive::guard::conflicts::sector_extent::{SectorExtent, ranges_overlap};

/// Bytes of a sector, as /sys counts them.
const SECTOR_BYTES: u64 = 512;
/// Sectors at the beginning of a disk that no partition with data of its own has: the MBR, the label
/// of Sun and SGI, the first entry of an Apple partition map.
const LABEL_SECTORS: u64 = 2;
/// Minimum size of the entries of a GPT in bytes (UEFI specification 2.10, 5.3.1).
const GPT_ENTRY_BYTES: u64 = 16 << 10;
/// Maximum number of entries of an Apple partition map (kernel block/partitions/mac.c: `DISK_MAX_PARTS`).
const MAX_APPLE_ENTRIES: u64 = 256;
/// Sectors at the beginning of a slice with a label of BSD, Solaris, Minix or UnixWare, the last of
/// which is at sector 29 (kernel block/partitions/msdos.c).
const SLICE_LABEL_SECTORS: u64 = 30;
/// Sectors of an extended partition as the kernel shows it, if a logical block is not larger (kernel
/// block/partitions/msdos.c: "leave room for LILO").
const EXTENDED_SECTORS: u64 = 2;
/// First number of a logical partition.
const FIRST_LOGICAL: u32 = 5;
/// Bytes at the beginning of a disk that [`table_sectors`] examines.
pub(super) const EXAMINED_BYTES: usize = 8192;

/// A partition of a disk.
#[derive(Debug, Clone)]
pub(super) struct DiskPartition {
    /// Kernel name.
    pub name: String,
    /// Its number, if known.
    pub number: Option<u32>,
    /// Its sectors on the disk, if known.
    pub sectors: Option<Range<u64>>,
}

/// What a target has of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartitionShare {
    /// Sectors of its data, or perhaps.
    Data,
    /// Sectors of the table that says where it is.
    Table,
}

/// The partitions of a disk, and where its partition table is.
#[derive(Debug)]
pub(super) struct DiskLayout {
    /// All partitions.
    pub partitions: Vec<DiskPartition>,
    /// Sectors of the table that describes all of them.
    pub table: Vec<Range<u64>>,
    /// Size of a logical block in bytes.
    pub block_bytes: u64,
}

impl DiskLayout {
    /// What a target with these sectors of the disk has of a partition; `None`: nothing.
    pub(super) fn share_of(
        &self,
        partition: &DiskPartition,
        extent: &SectorExtent,
    ) -> Option<PartitionShare> {
        if extent.overlaps(partition.sectors.as_ref()) {
            return Some(PartitionShare::Data);
        }
        let has_table = self.table.iter().any(|range| extent.overlaps(Some(range)))
            || self.has_boot_record_of(partition, extent)
            || self.has_slice_label_of(partition, extent);
        has_table.then_some(PartitionShare::Table)
    }

    /// Whether the target may have an extended boot record of the chain that leads to a logical
    /// partition. The records are anywhere between the logical partitions; the kernel shows the
    /// extended partition with the first one only.
    fn has_boot_record_of(&self, partition: &DiskPartition, extent: &SectorExtent) -> bool {
        let Some(chain) = self.extended_sectors() else {
            return false;
        };
        let SectorExtent::Ranges(own) = extent else {
            return true;
        };
        let is_data = |range: &Range<u64>| {
            let logical = self.logical_partitions(chain.start);
            logical.into_iter().any(|it| contains(&it, range))
        };
        let is_logical = partition.number.is_none_or(|it| it >= FIRST_LOGICAL);
        is_logical
            && own
                .iter()
                .any(|range| ranges_overlap(range, &chain) && !is_data(range))
    }

    /// The sectors from the extended partition of an MBR to the end of its last logical partition.
    fn extended_sectors(&self) -> Option<Range<u64>> {
        let shown = EXTENDED_SECTORS.max(self.block_bytes / SECTOR_BYTES);
        let extended = self.partitions.iter().find_map(|it| {
            let sectors = it.sectors.clone()?;
            let is_primary = it.number.is_some_and(|number| number < FIRST_LOGICAL);
            (is_primary && sectors.end - sectors.start <= shown).then_some(sectors)
        })?;
        let logical = self.logical_partitions(extended.start);
        let end = logical.into_iter().map(|it| it.end).max();
        Some(extended.start..end.unwrap_or(extended.end).max(extended.end))
    }

    fn logical_partitions(&self, after: u64) -> Vec<Range<u64>> {
        let logical = self
            .partitions
            .iter()
            .filter(|it| it.number.is_some_and(|it| it >= FIRST_LOGICAL));
        let sectors = logical.filter_map(|it| it.sectors.clone());
        sectors.filter(|it| it.start > after).collect()
    }

    /// Whether the target has the label of a slice that the partition is a part of.
    fn has_slice_label_of(&self, partition: &DiskPartition, extent: &SectorExtent) -> bool {
        let Some(own) = &partition.sectors else {
            return false;
        };
        let slices = self.partitions.iter().filter_map(|it| it.sectors.clone());
        slices
            .filter(|slice| contains(slice, own) && slice != own)
            .any(|slice| {
                let end = slice
                    .end
                    .min(slice.start.saturating_add(SLICE_LABEL_SECTORS));
                extent.overlaps(Some(&(slice.start..end)))
            })
    }
}

fn contains(outer: &Range<u64>, inner: &Range<u64>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The sectors of the table that describes all partitions of a disk, by its first bytes; `None`:
/// unknown ones, for which those of every kind of table count. A partition with data of its own has
/// none of them, but may begin right behind, or end with the disk where there is no GPT.
pub(super) fn table_sectors(
    beginning: Option<&[u8]>,
    block_bytes: u64,
    disk_sectors: u64,
) -> Vec<Range<u64>> {
    let mut ranges = Vec::from([Range {
        start: 0,
        end: LABEL_SECTORS,
    }]);
    let block = block_bytes.clamp(SECTOR_BYTES, EXAMINED_BYTES as u64 / 2);
    let has_gpt = beginning.is_none_or(|bytes| {
        let header = bytes.get(block as usize..).unwrap_or_default();
        header.starts_with(b"EFI PART")
    });
    if has_gpt {
        let backup = (block + GPT_ENTRY_BYTES) / SECTOR_BYTES;
        ranges.push(0..backup + block / SECTOR_BYTES);
        ranges.push(disk_sectors.saturating_sub(backup)..disk_sectors);
    }
    ranges.extend(beginning.and_then(apple_map_sectors));
    ranges
}

/// The sectors of an Apple partition map (kernel block/partitions/mac.h), which has an entry for
/// itself.
fn apple_map_sectors(beginning: &[u8]) -> Option<Range<u64>> {
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = beginning.get(at..at + length)?;
        Some(
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    };
    let block = number(2, 2)?;
    let is_map = beginning.starts_with(b"ER")
        && block >= SECTOR_BYTES
        && beginning.get(block as usize..)?.starts_with(b"PM");
    let entries = number(block as usize + 4, 4)?.min(MAX_APPLE_ENTRIES);
    is_map.then_some(block / SECTOR_BYTES..(1 + entries) * block / SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn partition(number: u32, start: u64, sectors: u64) -> DiskPartition {
        DiskPartition {
            name: format!("sda{number}"),
            number: Some(number),
            sectors: Some(start..start + sectors),
        }
    }

    /// The names of the partitions that lose their table when the partition of that number is
    /// overwritten.
    fn dependent(layout: &DiskLayout, number: u32) -> Vec<String> {
        let own = layout
            .partitions
            .iter()
            .find(|it| it.number == Some(number))
            .unwrap();
        let extent = SectorExtent::Ranges(own.sectors.iter().cloned().collect());
        dependent_on(layout, &extent)
    }

    fn dependent_on(layout: &DiskLayout, extent: &SectorExtent) -> Vec<String> {
        let parts = layout.partitions.iter();
        parts
            .filter(|it| layout.share_of(it, extent) == Some(PartitionShare::Table))
            .map(|it| it.name.clone())
            .collect()
    }

    fn layout(partitions: Vec<DiskPartition>, beginning: &[u8], block_bytes: u64) -> DiskLayout {
        DiskLayout {
            partitions,
            table: table_sectors(Some(beginning), block_bytes, 2_000_000),
            block_bytes,
        }
    }

    fn ranges(sectors: &[(u64, u64)]) -> SectorExtent {
        SectorExtent::Ranges(sectors.iter().map(|(start, end)| *start..*end).collect())
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn logical_partitions_depend_on_the_boot_records_between_them() {
        for (block, shown) in [(512, 2), (4096, 8)] {
            let disk = layout(
                vec![
                    partition(1, 2048, 100_000),
                    partition(2, 110_592, shown),
                    partition(5, 112_640, 100_000),
                    partition(6, 260_000, 100_000),
                    // The end of the disk belongs to no table here.
                    partition(3, 510_592, 1_489_408),
                ],
                &[],
                block,
            );
            assert_eq!(dependent(&disk, 2), ["sda5", "sda6"]);
            for ordinary in [1, 3, 5, 6] {
                assert_eq!(dependent(&disk, ordinary), NONE, "{ordinary}");
            }
            let between = ranges(&[(250_000, 250_001)]);
            assert_eq!(dependent_on(&disk, &between), ["sda5", "sda6"]);
            let partly = ranges(&[(212_000, 213_000)]);
            assert_eq!(dependent_on(&disk, &partly), ["sda6"]);
        }
    }

    #[test]
    fn partition_from_the_first_sectors_has_the_table_of_all() {
        // An image of a CD (isohybrid), a label of Sun or SGI, the entry of an Apple map for itself.
        for (start, sectors) in [(0, 100_000), (0, 2), (1, 63)] {
            let parts = vec![partition(1, start, sectors), partition(2, 200_000, 1000)];
            let disk = layout(parts, &[], 512);
            assert_eq!(dependent(&disk, 1), ["sda2"], "{start}");
            assert_eq!(dependent(&disk, 2), NONE);
        }
        // Old disks and memory cards.
        for start in [17, 32, 63] {
            let parts = vec![partition(1, start, 100_000), partition(2, 200_000, 1000)];
            assert_eq!(dependent(&layout(parts, &[], 512), 1), NONE, "{start}");
        }
    }

    #[test]
    fn partitions_of_a_gpt_depend_on_its_entries_at_both_ends() {
        for block in [512, 4096_u64] {
            let mut beginning = vec![0; EXAMINED_BYTES];
            beginning[block as usize..][..8].copy_from_slice(b"EFI PART");
            let first = (2 * block + (16 << 10)) / 512;
            let last = 2_000_000 - (block + (16 << 10)) / 512;
            let disk = |start: u64, end: u64| {
                let parts = vec![partition(1, start, end - start), partition(9, 5000, 1000)];
                dependent(&layout(parts, &beginning, block), 1)
            };
            assert_eq!(disk(first, 4000), NONE);
            assert_eq!(disk(first - 1, 4000), ["sda9"]);
            assert_eq!(disk(6000, last), NONE);
            assert_eq!(disk(6000, last + 1), ["sda9"]);
        }
        let unknown = table_sectors(None, 512, 1000);
        assert_eq!(unknown, [0..2, 0..34, 967..1000]);
    }

    #[test]
    fn map_of_apple_is_as_long_as_it_says() {
        for block in [512_u64, 2048] {
            let mut beginning = vec![0; EXAMINED_BYTES];
            beginning[..2].copy_from_slice(b"ER");
            beginning[2..4].copy_from_slice(&(block as u16).to_be_bytes());
            let map = block as usize;
            beginning[map..map + 2].copy_from_slice(b"PM");
            beginning[map + 4..map + 8].copy_from_slice(&3_u32.to_be_bytes());
            let unit = block / 512;
            assert_eq!(apple_map_sectors(&beginning), Some(unit..4 * unit));
        }
    }

    #[test]
    fn partitions_in_a_slice_depend_on_its_label() {
        let disk = layout(
            vec![
                partition(1, 2048, 100_000),
                partition(5, 2048, 20_000),
                partition(6, 30_000, 20_000),
                partition(2, 200_000, 1000),
            ],
            &[],
            512,
        );
        assert_eq!(dependent(&disk, 5), ["sda6"], "it has the label");
        assert_eq!(dependent(&disk, 6), NONE);
        assert_eq!(dependent(&disk, 2), NONE);
    }

    proptest! {
        #[test]
        fn table_of_any_bytes_has_the_first_sector(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            block in any::<u64>(),
            sectors in any::<u64>(),
        ) {
            let mut apple = b"ER\x02\0".to_vec();
            apple.extend(&bytes);
            for bytes in [bytes, apple] {
                let ranges = table_sectors(Some(&bytes), block, sectors);
                prop_assert!(ranges[0].contains(&0));
            }
        }
    }
}
