//! The kind of a transfer: by program, or by operation of the kernel.

use crate::probe::operations::OperationKind;
use crate::snapshot::view::TransferKind;

/// Programs by what they do with files, by the kernel's name for them (at most 15 bytes). A program
/// that is in no list copies, reads or writes, according to its files.
const PROGRAMS: [(TransferKind, &[&[u8]]); 8] = [
    (
        TransferKind::Checksum,
        &[
            b"b2sum",
            b"b3sum",
            b"cksum",
            b"crc32",
            b"hashdeep",
            b"md5sum",
            b"rhash",
            b"sha1sum",
            b"sha224sum",
            b"sha256sum",
            b"sha384sum",
            b"sha512sum",
            b"shasum",
            b"sum",
            b"xxhsum",
        ],
    ),
    (
        TransferKind::Archive,
        &[
            b"7z",
            b"7za",
            b"7zz",
            b"ar",
            b"bsdtar",
            b"cpio",
            b"mksquashfs",
            b"rar",
            b"star",
            b"tar",
            b"unrar",
            b"unsquashfs",
            b"unzip",
            b"zip",
        ],
    ),
    (
        TransferKind::Compress,
        &[
            b"brotli", b"bunzip2", b"bzip2", b"gunzip", b"gzip", b"lbzip2", b"lz4", b"lzop",
            b"pbzip2", b"pigz", b"pixz", b"unxz", b"unzstd", b"xz", b"zstd", b"zstdmt",
        ],
    ),
    (
        TransferKind::Backup,
        &[
            b"bacula-fd",
            b"borg",
            b"bup",
            b"duplicity",
            b"kopia",
            b"proxmox-backup-",
            b"rdiff-backup",
            b"restic",
        ],
    ),
    (
        TransferKind::Dump,
        &[
            b"mariabackup",
            b"mariadb-dump",
            b"mongodump",
            b"mysqldump",
            b"mysqlpump",
            b"pg_basebackup",
            b"pg_dump",
            b"pg_dumpall",
            b"pg_restore",
            b"redis-cli",
            b"sqlite3",
            b"xtrabackup",
        ],
    ),
    (
        TransferKind::Convert,
        &[b"qemu-img", b"virt-sparsify", b"VBoxManage"],
    ),
    (
        TransferKind::Install,
        &[
            b"apk",
            b"apt",
            b"apt-get",
            b"dnf",
            b"dnf5",
            b"dpkg",
            b"dpkg-deb",
            b"pacman",
            b"rpm",
            b"snapd",
            b"yum",
            b"zypper",
        ],
    ),
    (
        TransferKind::Fsck,
        &[
            b"btrfsck",
            b"e2fsck",
            b"fsck.ext4",
            b"fsck.fat",
            b"xfs_repair",
        ],
    ),
];

/// The kind of a transfer of a program.
#[must_use]
pub fn kind_of_program(name: &[u8], reads: bool, writes: bool) -> TransferKind {
    let listed = PROGRAMS
        .iter()
        .find(|(_, programs)| programs.contains(&name));
    match listed {
        Some((kind, _)) => *kind,
        None if reads && !writes => TransferKind::Read,
        None if writes && !reads => TransferKind::Write,
        None => TransferKind::Copy,
    }
}

/// The kind of an operation.
#[must_use]
pub fn kind_of_operation(kind: OperationKind) -> TransferKind {
    match kind {
        OperationKind::Resync | OperationKind::MirrorSync => TransferKind::Resync,
        OperationKind::Rebuild => TransferKind::Rebuild,
        OperationKind::Check => TransferKind::Check,
        OperationKind::Repair => TransferKind::Repair,
        OperationKind::Reshape => TransferKind::Reshape,
        OperationKind::Scrub => TransferKind::Scrub,
        OperationKind::Balance => TransferKind::Balance,
        OperationKind::Pvmove => TransferKind::Pvmove,
        OperationKind::SnapshotMerge => TransferKind::Merge,
        OperationKind::Swapoff => TransferKind::Swapoff,
        OperationKind::Discard => TransferKind::Discard,
        OperationKind::Fsck => TransferKind::Fsck,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_decides_before_its_files() {
        assert_eq!(
            kind_of_program(b"sha256sum", true, false),
            TransferKind::Checksum
        );
        assert_eq!(kind_of_program(b"tar", true, true), TransferKind::Archive);
        assert_eq!(kind_of_program(b"cp", true, true), TransferKind::Copy);
        assert_eq!(kind_of_program(b"wc", true, false), TransferKind::Read);
        assert_eq!(kind_of_program(b"wget", false, true), TransferKind::Write);
    }

    #[test]
    fn program_is_in_one_list_by_a_name_of_the_kernel() {
        let mut names: Vec<&[u8]> = PROGRAMS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        assert!(names.iter().all(|name| name.len() <= 15));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
