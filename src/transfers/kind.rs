//! What the name and the arguments of a program tell of its transfers.

use super::arguments::{CHECKSUMS, COMPRESSORS};
use super::view::TransferKind;

/// Programs by what they do with files, by the kernel's name for them (at most 15 bytes). A program
/// that is in no list copies, reads or writes, according to its files.
const PROGRAMS: [(TransferKind, &str); 4] = [
    (TransferKind::Checksum, CHECKSUMS),
    (
        TransferKind::Archive,
        "7z 7za 7zz apk apt-get ar bsdtar cpio dnf dpkg dpkg-deb mksquashfs pacman rar rpm tar unrar \
         unsquashfs unzip zip",
    ),
    (TransferKind::Compress, COMPRESSORS),
    (
        TransferKind::Fsck,
        "btrfsck e2fsck fsck.ext2 fsck.ext3 fsck.ext4 fsck.fat xfs_repair",
    ),
];

/// Programs that read and write in place without an end, by the beginning of the kernel's name for
/// them: benchmarks, and virtual machines with their disk images. This program's benchmarks have a
/// screen of their own.
const IN_PLACE: &str = "diskscope fio qemu-system qemu-kvm qemu-nbd firecracker cloud-hyperviso \
    VBoxHeadless vmware-vmx";

/// Programs with the options that limit their rate: a word, or the beginning of one.
const RATE_LIMITS: [(&str, &str); 6] = [
    ("rsync", "--bwlimit"),
    ("pv", "-L --rate-limit"),
    ("scp", "-l"),
    ("curl", "--limit-rate"),
    ("wget", "--limit-rate"),
    ("mbuffer", "-r -R"),
];

/// The kind of a transfer of a program.
#[must_use]
pub fn kind_of_program(name: &[u8], reads: bool, writes: bool) -> TransferKind {
    let is_in = |list: &str| {
        list.split_ascii_whitespace()
            .any(|program| program.as_bytes() == name)
    };
    match PROGRAMS.iter().find(|(_, programs)| is_in(programs)) {
        Some((kind, _)) => *kind,
        None if reads && !writes => TransferKind::Read,
        None if writes && !reads => TransferKind::Write,
        None => TransferKind::Copy,
    }
}

/// Whether a program with this name reads and writes in place instead of copying.
#[must_use]
pub fn works_in_place(name: &[u8]) -> bool {
    let mut programs = IN_PLACE.split_ascii_whitespace();
    programs.any(|program| name.starts_with(program.as_bytes()))
}

/// Whether the arguments, each terminated by a zero byte, limit the rate of the program with this
/// name.
#[must_use]
pub fn is_rate_limited(name: &[u8], arguments: &[u8]) -> bool {
    let limited = RATE_LIMITS.iter().find(|it| it.0.as_bytes() == name);
    let options = limited.map_or("", |(_, options)| options);
    let is_option = |word: &[u8]| {
        let mut options = options.split_ascii_whitespace();
        options.any(|option| word.starts_with(option.as_bytes()))
    };
    arguments.split(|byte| *byte == 0).any(is_option)
}

/// Whether programs of this kind write something else than what they read.
#[must_use]
pub fn transforms(kind: TransferKind) -> bool {
    matches!(kind, TransferKind::Archive | TransferKind::Compress)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_and_files_tell_the_kind() {
        for (name, reads, writes, kind) in [
            ("sha256sum", true, false, TransferKind::Checksum),
            ("zstd", true, true, TransferKind::Compress),
            ("e2fsck", true, true, TransferKind::Fsck),
            ("python3", true, false, TransferKind::Read),
            ("python3", false, true, TransferKind::Write),
            ("cp", true, true, TransferKind::Copy),
        ] {
            assert_eq!(
                kind_of_program(name.as_bytes(), reads, writes),
                kind,
                "{name}"
            );
        }
    }

    #[test]
    fn options_limit_the_rate_of_their_program_only() {
        for (name, arguments, is_limited) in [
            ("rsync", "rsync\0-a\0--bwlimit=8m\0a\0b\0", true),
            ("pv", "pv\0-L5m\0", true),
            ("rsync", "rsync\0-L\0a\0b\0", false),
            ("cp", "cp\0--bwlimit=8m\0", false),
        ] {
            let found = is_rate_limited(name.as_bytes(), arguments.as_bytes());
            assert_eq!(found, is_limited, "{name}");
        }
    }
}
