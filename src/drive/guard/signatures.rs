//! What lies on a medium, by the bytes themselves: for machines without udev, and for files.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes at a place that tell a format.
struct Magic {
    name: &'static str,
    offset: usize,
    bytes: &'static [u8],
}

const fn magic(name: &'static str, offset: usize, bytes: &'static [u8]) -> Magic {
    Magic {
        name,
        offset,
        bytes,
    }
}

/// Formats and their marks, from the kernel's headers (linux/magic.h, fs/*/), the LVM2 and ZFS
/// on-disk formats, UEFI 2.10 (5.3.2) and Microsoft's FAT specification.
const MAGICS: [Magic; 23] = [
    magic("gpt", 512, b"EFI PART"),
    magic("gpt", 4096, b"EFI PART"),
    magic("ext", 0x438, &[0x53, 0xef]),
    magic("xfs", 0, b"XFSB"),
    magic("btrfs", 0x1_0040, b"_BHRfS_M"),
    magic("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    magic("luks", 0, b"LUKS\xba\xbe"),
    magic("lvm2", 0, b"LABELONE"),
    magic("lvm2", 512, b"LABELONE"),
    magic("lvm2", 1024, b"LABELONE"),
    magic("lvm2", 1536, b"LABELONE"),
    // Linux RAID, versions 1.1 and 1.2; 1.0 and 0.90 lie at the end.
    magic("md", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    magic("md", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    // Ten bytes before the end of the first page of 4, 16 and 64 KiB.
    magic("swap", 4086, b"SWAPSPACE2"),
    magic("swap", 16_374, b"SWAPSPACE2"),
    magic("swap", 65_526, b"SWAPSPACE2"),
    magic("ntfs", 3, b"NTFS    "),
    magic("exfat", 3, b"EXFAT   "),
    magic("vfat", 82, b"FAT32   "),
    magic("vfat", 54, b"FAT1"),
    magic("bcachefs", 0x1018, &[0xc6, 0x85, 0x73, 0xf6]),
    magic("iso9660", 0x8001, b"CD001"),
    magic("squashfs", 0, b"hsqs"),
];

/// Covers every mark above and the uberblocks of ZFS.
const READ: usize = 256 << 10;
/// Uberblocks of ZFS's first label: from 128 KiB on, 1 KiB apart.
const ZFS_RANGE: std::ops::Range<usize> = 128 << 10..256 << 10;
/// `0x00bab10c`, in either order of bytes.
const ZFS_MARKS: [[u8; 8]; 2] = [
    [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c],
];
/// Distance from the end at which Linux RAID 1.0 keeps its mark, before rounding to 4 KiB.
const MD_FROM_END: u64 = 8192;
/// The same for Linux RAID 0.90, before rounding to 64 KiB.
const MD_OLD_FROM_END: u64 = 65_536;

/// Formats recognised on an open device or file; empty where none is, or nothing can be read.
pub(super) fn find(file: &File) -> Vec<String> {
    let start = read_at(file, 0, READ);
    let mut names = in_start(&start);
    if !names.contains(&"md") && has_md_at_end(file) {
        names.push("md");
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Formats recognised in a medium's first bytes.
fn in_start(start: &[u8]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = MAGICS
        .iter()
        .filter(|magic| {
            start
                .get(magic.offset..)
                .is_some_and(|rest| rest.starts_with(magic.bytes))
        })
        .map(|magic| magic.name)
        .collect();
    let labels = start.get(ZFS_RANGE).unwrap_or_default();
    if labels
        .chunks(1024)
        .any(|block| ZFS_MARKS.iter().any(|mark| block.starts_with(mark)))
    {
        names.push("zfs");
    }
    // The mark of a partition table stands in boot sectors of FAT and NTFS and beside GPT too.
    if names.is_empty() && start.get(510..512) == Some(&[0x55, 0xaa]) {
        names.push("mbr");
    }
    names.dedup();
    names
}

fn has_md_at_end(file: &File) -> bool {
    use std::io::{Seek, SeekFrom};
    let Ok(size) = (&mut &*file).seek(SeekFrom::End(0)) else {
        return false;
    };
    let newer = size.saturating_sub(MD_FROM_END) / 4096 * 4096;
    let older = (size / MD_OLD_FROM_END * MD_OLD_FROM_END).saturating_sub(MD_OLD_FROM_END);
    [newer, older]
        .iter()
        .any(|place| *place > 0 && read_at(file, *place, 4) == [0xfc, 0x4e, 0x2b, 0xa9])
}

/// Up to `length` bytes; fewer at the end, none when it cannot be read.
fn read_at(file: &File, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match file.read_at(&mut bytes[done..], offset + done as u64) {
            Ok(0) | Err(_) => break,
            Ok(count) => done += count,
        }
    }
    bytes.truncate(done);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(marks: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; READ];
        for (offset, mark) in marks {
            bytes[*offset..*offset + mark.len()].copy_from_slice(mark);
        }
        bytes
    }

    #[test]
    fn formats_are_told_by_their_marks() {
        assert_eq!(in_start(&with(&[(0x438, &[0x53, 0xef])])), ["ext"]);
        assert_eq!(in_start(&with(&[(4086, b"SWAPSPACE2")])), ["swap"]);
        assert_eq!(in_start(&with(&[(512, b"LABELONE")])), ["lvm2"]);
        let zfs = with(&[(200 << 10, &ZFS_MARKS[0])]);
        assert_eq!(in_start(&zfs), ["zfs"]);
        assert!(in_start(&with(&[])).is_empty());
        assert!(in_start(b"short").is_empty());
    }

    #[test]
    fn a_boot_sector_is_a_partition_table_only_when_it_is_nothing_else() {
        let boot: (usize, &[u8]) = (510, &[0x55, 0xaa]);
        assert_eq!(in_start(&with(&[boot])), ["mbr"]);
        assert_eq!(in_start(&with(&[boot, (512, b"EFI PART")])), ["gpt"]);
        assert_eq!(in_start(&with(&[boot, (82, b"FAT32   ")])), ["vfat"]);
    }

    #[test]
    fn raid_keeps_its_mark_at_the_end_too() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10 << 20).unwrap();
        file.write_all_at(&[0xfc, 0x4e, 0x2b, 0xa9], (10 << 20) - 8192)
            .unwrap();
        assert_eq!(find(&file), ["md"]);
    }
}
