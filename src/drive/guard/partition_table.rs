//! Partition tables read from the bytes of a medium: for image files, and for devices whose
//! partitions the kernel does not report.
//!
//! GPT: UEFI specification 2.10, chapter 5. MBR and its chain of extended boot records: the same,
//! 5.2, and the usual layout of DOS (types 05, 0f, 85). All reads are bounded: neither a damaged
//! nor a malicious table makes this slow.

use crate::drive::guard::partition_type::PartitionType;

/// Maximum number of GPT entries examined.
const MAX_GPT_ENTRIES: u32 = 1024;
/// Maximum number of partitions listed; more count as "not fully examined".
const MAX_PARTITIONS: usize = 256;
/// Maximum number of extended boot records followed.
const MAX_EXTENDED_RECORDS: usize = 128;
/// Possible sector sizes in bytes.
const SECTOR_SIZES: [u64; 2] = [512, 4096];

/// One partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionRange {
    /// Number in the table, from 1; logical partitions of an MBR start at 5.
    pub number: u32,
    /// Start offset in bytes.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Its type; `None` where only the kernel reports the partition.
    pub partition_type: Option<PartitionType>,
}

/// Contents of a partition table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PartitionTable {
    /// Partitions that are at least partly on the medium, in the order of the table.
    pub(super) partitions: Vec<PartitionRange>,
    /// Whether there are more than were examined.
    pub(super) truncated: bool,
}

impl PartitionTable {
    /// Adds a partition given in sectors; ignores one that starts beyond the end of the medium.
    fn add_partition(
        &mut self,
        medium: &MediumRegion<'_, '_>,
        (number, partition_type): (u32, PartitionType),
        sectors: (u64, u64),
        size: u64,
    ) {
        let (Some(start), Some(length)) =
            (sectors.0.checked_mul(size), sectors.1.checked_mul(size))
        else {
            return;
        };
        if length == 0 || start == 0 || start >= medium.length {
            return;
        }
        if self.partitions.len() == MAX_PARTITIONS {
            self.truncated = true;
            return;
        }
        self.partitions.push(PartitionRange {
            number,
            start,
            length: length.min(medium.length - start),
            partition_type: Some(partition_type),
        });
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The GPT of a medium: the first table with entries among the two at its start (sectors of 512 and
/// of 4096 bytes) and the two at its end.
pub(super) fn read_gpt(medium: &MediumRegion<'_, '_>) -> PartitionTable {
    for size in SECTOR_SIZES {
        let last = (medium.length / size).saturating_sub(1);
        for header in [1, last] {
            let table = read_gpt_header(medium, header, size).unwrap_or_default();
            if !table.partitions.is_empty() || table.truncated {
                return table;
            }
        }
    }
    PartitionTable::default()
}

/// The GPT whose header is in that sector.
fn read_gpt_header(
    medium: &MediumRegion<'_, '_>,
    sector: u64,
    size: u64,
) -> Option<PartitionTable> {
    let header = medium.read(sector.checked_mul(size)?, 92);
    if !header.starts_with(b"EFI PART") {
        return None;
    }
    let first = u64_at(&header, 72)?.checked_mul(size)?;
    let (count, entry) = (u32_at(&header, 80)?, u32_at(&header, 84)?);
    // A power of two from 128 on; 4096 exceeds all sizes in use.
    if !(128..=4096).contains(&entry) {
        return None;
    }
    let looked_at = count.min(MAX_GPT_ENTRIES);
    let bytes = medium.read(first, looked_at as usize * entry as usize);
    let mut table = PartitionTable {
        truncated: count > looked_at,
        ..PartitionTable::default()
    };
    for (index, entry) in bytes.chunks_exact(entry as usize).enumerate() {
        let (Some(start), Some(end)) = (u64_at(entry, 32), u64_at(entry, 40)) else {
            continue;
        };
        let mut guid = [0; 16];
        guid.copy_from_slice(&entry[..16]);
        if guid != [0; 16] && end >= start {
            let sectors = (end - start).saturating_add(1);
            let part = (index as u32 + 1, PartitionType::Gpt(guid));
            table.add_partition(medium, part, (start, sectors), size);
        }
    }
    Some(table)
}

/// An entry of a boot record.
#[derive(Debug, Clone, Copy)]
struct BootRecordEntry {
    /// 0: unused entry.
    partition_type: u8,
    /// First sector; relative to the extended partition for an extended boot record.
    start_sector: u32,
    sectors: u32,
}

impl BootRecordEntry {
    fn is_used(&self) -> bool {
        self.partition_type != 0 && self.sectors > 0
    }

    fn is_extended(&self) -> bool {
        self.is_used() && matches!(self.partition_type, 0x05 | 0x0f | 0x85)
    }

    /// Whether this entry is a protective MBR of a GPT.
    fn is_protective(&self) -> bool {
        self.partition_type == 0xee
    }
}

/// The four entries of a boot record; `None` without the signature or with an invalid flag.
fn boot_record_entries(record: &[u8]) -> Option<[BootRecordEntry; 4]> {
    if record.get(510..512)? != [0x55, 0xaa] {
        return None;
    }
    let entry = |index: usize| {
        let bytes = record.get(446 + index * 16..462 + index * 16)?;
        (bytes[0] & 0x7f == 0).then_some(BootRecordEntry {
            partition_type: bytes[4],
            start_sector: u32_at(bytes, 8)?,
            sectors: u32_at(bytes, 12)?,
        })
    };
    Some([entry(0)?, entry(1)?, entry(2)?, entry(3)?])
}

/// Whether a boot record has a table with at least one partition. The boot sector of a file system
/// has the same signature and is excluded.
pub(super) fn is_partitioned_mbr(record: &[u8]) -> bool {
    let used = |entry: &BootRecordEntry| entry.is_used() && !entry.is_protective();
    boot_record_entries(record).is_some_and(|entries| entries.iter().any(used))
}

/// The MBR of a medium with sectors of that size in bytes, with its logical partitions.
pub(super) fn read_mbr(medium: &MediumRegion<'_, '_>, size: u64) -> PartitionTable {
    let mut table = PartitionTable::default();
    let Some(primary) = boot_record_entries(&medium.read(0, 512)) else {
        return table;
    };
    for (number, entry) in (1..).zip(primary) {
        let (start, sectors) = (u64::from(entry.start_sector), u64::from(entry.sectors));
        if entry.is_extended() {
            read_logical_partitions(medium, start, size, &mut table);
        } else if entry.is_used() && !entry.is_protective() {
            let part = (number, PartitionType::Mbr(entry.partition_type));
            table.add_partition(medium, part, (start, sectors), size);
        }
    }
    table
}

/// The logical partitions of the extended partition that starts at that sector.
fn read_logical_partitions(
    medium: &MediumRegion<'_, '_>,
    extended: u64,
    size: u64,
    table: &mut PartitionTable,
) {
    let mut record = extended;
    let mut number = 5;
    for _ in 0..MAX_EXTENDED_RECORDS {
        let Some(offset) = record.checked_mul(size) else {
            return;
        };
        let Some(entries) = boot_record_entries(&medium.read(offset, 512)) else {
            return;
        };
        let mut next = None;
        for entry in &entries[..2] {
            let (start, sectors) = (u64::from(entry.start_sector), u64::from(entry.sectors));
            if entry.is_extended() {
                next = next.or(Some(extended + start));
            } else if entry.is_used() {
                let part = (number, PartitionType::Mbr(entry.partition_type));
                table.add_partition(medium, part, (record + start, sectors), size);
                number += 1;
            }
        }
        match next {
            Some(sector) if sector != record => record = sector,
            _ => return,
        }
    }
    table.truncated = true;
}

#[cfg(test)]
#[path = "tests/partition_table.rs"]
mod tests;

use crate::drive::guard::bytes::MediumRegion;
