//! Reads a real file block by block.

use super::*;
use crate::drive::medium;
use crate::roots::SysPaths;

fn medium(bytes: &[u8]) -> (tempfile::TempDir, OpenMedium) {
    // The temporary directory may be in memory; this one supports `O_DIRECT` on most machines.
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let medium = medium::open_target(&SysPaths::default(), &path, None).unwrap();
    (directory, medium)
}

#[test]
fn unaligned_direct_reads_match_buffered_reads() {
    let bytes: Vec<u8> = (0..70_001_u32).map(|number| (number % 251) as u8).collect();
    let (_directory, medium) = medium(&bytes);
    let direct = MediumReader::new(&medium);
    let buffered = MediumReader {
        direct: None,
        ..MediumReader::new(&medium)
    };
    let single = MediumReader::new(&medium);
    single.block_by_block.set(true);
    let (last, end) = (70_000, 70_001);
    for (offset, length) in [
        (0, 1),
        (0, 70_001),
        (1, 4096),
        (4095, 2),
        (4096, 8192),
        (last, 9),
    ] {
        let expected = &bytes[offset..(offset + length).min(end)];
        for reader in [&direct, &buffered, &single] {
            let mut found: Vec<u8> = Vec::new();
            while found.len() < expected.len() {
                let mut buffer = vec![0; length - found.len()];
                let at = (offset + found.len()) as u64;
                let count = reader.read_at(&mut buffer, at).unwrap();
                assert!(count > 0, "{offset} {length}");
                found.extend(&buffer[..count]);
            }
            assert_eq!(found, expected, "{offset} {length}");
            assert_eq!(reader.read_at(&mut [0; 5], end as u64).unwrap(), 0);
        }
    }
}

#[test]
fn medium_without_direct_io_is_read_buffered() {
    let (_directory, medium) = medium(&[7; 8192]);
    let reader = MediumReader {
        // The kernel rejects an alignment below a sector.
        alignment: 1,
        ..MediumReader::new(&medium)
    };
    let mut buffer = [0; 3];
    assert_eq!(reader.read_at(&mut buffer, 5).unwrap(), 3);
    assert_eq!(buffer, [7; 3]);
}
