//! Partition tables built by the tests, and by sfdisk.

use std::fs;

use super::*;
use crate::drive::guard::bytes::RegionReader;
use crate::requirement::{Requirement, skip};

fn partition_ranges(
    bytes: &[u8],
    table: fn(&MediumRegion<'_, '_>) -> PartitionTable,
) -> Vec<(u32, u64, u64)> {
    let reader = RegionReader::new(&bytes, bytes.len() as u64);
    let table = table(&reader.whole_medium());
    assert!(!table.truncated);
    let range = |part: &PartitionRange| (part.number, part.start, part.length);
    table.partitions.iter().map(range).collect()
}

fn write_boot_record(bytes: &mut [u8], sector: usize, entries: &[(u8, u32, u32)]) {
    let record = &mut bytes[sector * 512..][..512];
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    for (index, (kind, start, sectors)) in entries.iter().enumerate() {
        let entry = &mut record[446 + index * 16..][..16];
        entry[4] = *kind;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..].copy_from_slice(&sectors.to_le_bytes());
    }
}

#[test]
fn mbr_logical_partitions_are_numbered_from_five() {
    let mut bytes = vec![0; 1 << 20];
    write_boot_record(&mut bytes, 0, &[(0x83, 8, 8), (0x05, 100, 1000)]);
    write_boot_record(&mut bytes, 100, &[(0x82, 4, 16), (0x05, 200, 100)]);
    write_boot_record(&mut bytes, 300, &[(0x83, 4, 32)]);
    assert!(is_partitioned_mbr(&bytes[..512]));
    let found = partition_ranges(&bytes, |medium| read_mbr(medium, 512));
    let sectors = |number, start: u64, count: u64| (number, start * 512, count * 512);
    let expected = [sectors(1, 8, 8), sectors(5, 104, 16), sectors(6, 304, 32)];
    assert_eq!(found, expected);
}

#[test]
fn extended_record_chain_with_cycle_is_truncated() {
    let mut bytes = vec![0; 1 << 20];
    write_boot_record(&mut bytes, 0, &[(0x05, 100, 1000)]);
    write_boot_record(&mut bytes, 100, &[(0x83, 4, 16), (0x05, 200, 100)]);
    write_boot_record(&mut bytes, 300, &[(0x83, 4, 32), (0x05, 0, 100)]);
    let reader = RegionReader::new(&bytes.as_slice(), bytes.len() as u64)
        .whole_medium()
        .length;
    assert_eq!(reader, 1 << 20);
    let source = bytes.as_slice();
    let reader = RegionReader::new(&source, source.len() as u64);
    let table = read_mbr(&reader.whole_medium(), 512);
    assert!(table.truncated);
    assert!(table.partitions.len() <= MAX_PARTITIONS);
}

#[test]
fn boot_sector_without_partitions_gives_no_table() {
    let mut bytes = vec![0; 4096];
    write_boot_record(&mut bytes, 0, &[]);
    assert!(!is_partitioned_mbr(&bytes));
    write_boot_record(&mut bytes, 0, &[(0xee, 1, u32::MAX)]);
    assert!(!is_partitioned_mbr(&bytes), "it protects a GPT");
    assert!(partition_ranges(&bytes, |medium| read_mbr(medium, 512)).is_empty());
}

/// Writes a GPT with one partition in these sectors.
fn write_gpt(bytes: &mut [u8], header: usize, entries: usize, size: usize) {
    let head = &mut bytes[header * size..][..92];
    head[..8].copy_from_slice(b"EFI PART");
    head[72..80].copy_from_slice(&(entries as u64).to_le_bytes());
    head[80..84].copy_from_slice(&128_u32.to_le_bytes());
    head[84..88].copy_from_slice(&128_u32.to_le_bytes());
    let entry = &mut bytes[entries * size + 128..][..128];
    entry[..16].fill(7);
    entry[32..40].copy_from_slice(&64_u64.to_le_bytes());
    entry[40..48].copy_from_slice(&127_u64.to_le_bytes());
}

#[test]
fn gpt_is_found_at_the_start_and_at_the_end_with_either_sector_size() {
    for size in [512, 4096] {
        let count = (2 << 20) / size;
        for (header, entries) in [(1, 2), (count - 1, count - 40)] {
            let mut bytes = vec![0; 2 << 20];
            write_gpt(&mut bytes, header, entries, size);
            let size = size as u64;
            let expected = [(2, 64 * size, 64 * size)];
            assert_eq!(
                partition_ranges(&bytes, read_gpt),
                expected,
                "{size} {header}"
            );
        }
    }
}

#[test]
fn gpt_that_claims_millions_of_entries_is_truncated() {
    let mut bytes = vec![0; 2 << 20];
    write_gpt(&mut bytes, 1, 2, 512);
    bytes[512 + 80..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let source = bytes.as_slice();
    let reader = RegionReader::new(&source, source.len() as u64);
    let table = read_gpt(&reader.whole_medium());
    assert!(table.truncated);
    assert_eq!(table.partitions.len(), 1);
}

#[test]
fn partitions_agree_with_sfdisk() {
    let directory = tempfile::tempdir().unwrap();
    let [image, script] = ["image", "script"].map(|name| directory.path().join(name));
    for label in [
        "label: gpt\nsize=5MiB\nsize=6MiB\n",
        "label: dos\nsize=5MiB\nsize=6MiB,type=5\nsize=2MiB\nsize=1MiB\n",
    ] {
        fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
        fs::write(&script, label).unwrap();
        let shell = |command: String| {
            let output = std::process::Command::new("sh")
                .args(["-c", &command])
                .output();
            output.ok().filter(|output| output.status.success())
        };
        let path = image.display();
        if shell(format!("sfdisk -q {path} < {}", script.display())).is_none() {
            return skip(Requirement::Program, "no sfdisk");
        }
        let dump = shell(format!("sfdisk -d {path}")).unwrap().stdout;
        let dump = String::from_utf8(dump).unwrap();
        let number = |line: &str, key: &str| {
            let rest = line.split(key).nth(1)?.trim_start();
            rest.split(',').next()?.trim().parse::<u64>().ok()
        };
        let lines = dump.lines().filter(|line| !line.contains("type=5"));
        let expected: Vec<(u64, u64)> = lines
            .filter_map(|line| Some((number(line, "start=")? * 512, number(line, "size=")? * 512)))
            .collect();
        assert!(expected.len() >= 2, "{dump}");
        let bytes = fs::read(&image).unwrap();
        let found = partition_ranges(&bytes, |medium| {
            let table = read_gpt(medium);
            if table.partitions.is_empty() {
                read_mbr(medium, 512)
            } else {
                table
            }
        });
        let found: Vec<_> = found
            .iter()
            .map(|(_, start, length)| (*start, *length))
            .collect();
        assert_eq!(found, expected, "{dump}");
    }
}
