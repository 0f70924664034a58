//! Magic bytes of on-disk formats: name, offset, bytes.
//!
//! Names are those of blkid(8). The choice of formats follows util-linux
//! (`libblkid/src/superblocks`, `libblkid/src/partitions`); offsets and values are from the
//! formats' own definitions: the kernel (`include/uapi/linux/magic.h`, `fs/*/`,
//! `include/uapi/linux/raid/md_p.h`, `Documentation/admin-guide/bcache.rst`), LVM2 and cryptsetup
//! on-disk formats, the OpenZFS on-disk specification, UEFI 2.10, ECMA-119 and ECMA-167, SNIA DDF
//! 2.0, Apple's APFS reference and TN1150, Microsoft's FAT, exFAT and VHD specifications, QEMU
//! `docs/interop/qcow2.txt`, and VMware's virtual disk format 5.0.

/// Offset of magic bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum MagicOffset {
    /// Bytes from the start.
    FromStart(u64),
    /// Bytes before the end, after rounding the size down to a multiple of `align`.
    BeforeEnd { before: u64, align: u64 },
}

/// Bytes at an offset that identify a format.
#[derive(Debug, Clone, Copy)]
pub(super) struct MagicBytes {
    pub(super) name: &'static str,
    pub(super) offset: MagicOffset,
    pub(super) bytes: &'static [u8],
}

const fn magic_from_start(name: &'static str, offset: u64, bytes: &'static [u8]) -> MagicBytes {
    MagicBytes {
        name,
        offset: MagicOffset::FromStart(offset),
        bytes,
    }
}

const fn magic_before_end(
    name: &'static str,
    before: u64,
    align: u64,
    bytes: &'static [u8],
) -> MagicBytes {
    MagicBytes {
        name,
        offset: MagicOffset::BeforeEnd { before, align },
        bytes,
    }
}

/// Linux RAID, little and big endian.
const MD_LITTLE_ENDIAN: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const MD_BIG_ENDIAN: &[u8] = &[0xa9, 0x2b, 0x4e, 0xfc];
const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];
const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";
const LUKS: &str = "crypto_LUKS";
const LUKS_SECONDARY: &[u8] = b"SKUL\xba\xbe";
const LVM2: &str = "LVM2_member";
const RAID: &str = "linux_raid_member";
const BTRFS: &[u8] = b"_BHRfS_M";
const PROMISE: &[u8] = b"Promise Technology, Inc.";

/// Partition tables, encryption, volume managers, RAID: formats that contain other formats.
pub(super) const CONTAINER_MAGICS: &[MagicBytes] = &[
    magic_from_start("gpt", 512, b"EFI PART"),
    magic_from_start("gpt", 4096, b"EFI PART"),
    magic_before_end("gpt", 512, 512, b"EFI PART"),
    magic_before_end("gpt", 4096, 4096, b"EFI PART"),
    magic_from_start("mac", 512, b"PM\0\0"),
    magic_from_start("sgi", 0, &[0x0b, 0xe5, 0xa9, 0x41]),
    magic_from_start("sun", 508, &[0xda, 0xbe]),
    magic_from_start("bsd", 512, &[0x57, 0x45, 0x56, 0x82]),
    magic_from_start("aix", 0, &[0xc9, 0xc2, 0xd4, 0xc1]),
    magic_from_start(LUKS, 0, b"LUKS\xba\xbe"),
    magic_from_start(LUKS, 0x4000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x8000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x1_0000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x2_0000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x4_0000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x8_0000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x10_0000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x20_0000, LUKS_SECONDARY),
    magic_from_start(LUKS, 0x40_0000, LUKS_SECONDARY),
    magic_from_start("BitLocker", 3, b"-FVE-FS-"),
    magic_from_start("cs_fvault2", 88, b"CS\x01\0"),
    magic_from_start(LVM2, 0, b"LABELONE"),
    magic_from_start(LVM2, 512, b"LABELONE"),
    magic_from_start(LVM2, 1024, b"LABELONE"),
    magic_from_start(LVM2, 1536, b"LABELONE"),
    magic_from_start("LVM1_member", 0, b"HM\x01\0"),
    magic_from_start("LVM1_member", 0, b"HM\x02\0"),
    magic_from_start("DM_snapshot_cow", 0, b"SnAp"),
    magic_from_start("DM_verity_hash", 0, b"verity\0\0"),
    magic_from_start("DM_integrity", 0, b"integrt\0"),
    magic_from_start("vdo", 0, b"dmvdo001"),
    magic_from_start("stratis", 516, STRATIS),
    magic_from_start("stratis", 4612, STRATIS),
    magic_from_start("bcache", 0x1018, BCACHE),
    // Versions 1.1 and 1.2 at the start, 1.0 and 0.90 at the end.
    magic_from_start(RAID, 0, MD_LITTLE_ENDIAN),
    magic_from_start(RAID, 4096, MD_LITTLE_ENDIAN),
    magic_before_end(RAID, 8192, 4096, MD_LITTLE_ENDIAN),
    magic_before_end(RAID, 65_536, 65_536, MD_LITTLE_ENDIAN),
    magic_before_end(RAID, 65_536, 65_536, MD_BIG_ENDIAN),
    magic_before_end("isw_raid_member", 1024, 512, b"Intel Raid ISM Cfg Sig. "),
    magic_before_end("isw_raid_member", 8192, 4096, b"Intel Raid ISM Cfg Sig. "),
    magic_before_end("ddf_raid_member", 512, 512, &[0xde, 0x11, 0xde, 0x11]),
    magic_before_end("ddf_raid_member", 512, 512, &[0x11, 0xde, 0x11, 0xde]),
    magic_before_end("ddf_raid_member", 131_584, 512, &[0xde, 0x11, 0xde, 0x11]),
    magic_before_end("ddf_raid_member", 131_584, 512, &[0x11, 0xde, 0x11, 0xde]),
    magic_before_end("ddf_raid_member", 4096, 4096, &[0xde, 0x11, 0xde, 0x11]),
    magic_before_end("ddf_raid_member", 4096, 4096, &[0x11, 0xde, 0x11, 0xde]),
    magic_before_end("nvidia_raid_member", 1024, 512, b"NVIDIA"),
    magic_before_end("lsi_mega_raid_member", 512, 512, b"$XIDE$"),
    magic_before_end("adaptec_raid_member", 512, 512, b"DPTM"),
    magic_before_end("jmicron_raid_member", 512, 512, b"JM"),
    // The signature and a version of 0 to 2.
    magic_before_end("via_raid_member", 512, 512, &[0x55, 0xaa, 0]),
    magic_before_end("via_raid_member", 512, 512, &[0x55, 0xaa, 1]),
    magic_before_end("via_raid_member", 512, 512, &[0x55, 0xaa, 2]),
    magic_before_end(
        "silicon_medley_raid_member",
        512 - 0x60,
        512,
        &[0, 0, 0, 0x2f],
    ),
    magic_from_start("hpt37x_raid_member", 4640, &[0xf0, 0x16, 0x78, 0x5a]),
    magic_from_start("hpt37x_raid_member", 4640, &[0xfd, 0x16, 0x78, 0x5a]),
    // The eleventh sector from the end.
    magic_before_end("hpt45x_raid_member", 5632, 512, &[0xf3, 0x16, 0x78, 0x5a]),
    magic_before_end("hpt45x_raid_member", 5632, 512, &[0xfd, 0x16, 0x78, 0x5a]),
    // Sectors before the end: 63, 255, 256, 16, 399.
    magic_before_end("promise_fasttrack_raid_member", 32_256, 512, PROMISE),
    magic_before_end("promise_fasttrack_raid_member", 130_560, 512, PROMISE),
    magic_before_end("promise_fasttrack_raid_member", 131_072, 512, PROMISE),
    magic_before_end("promise_fasttrack_raid_member", 8192, 512, PROMISE),
    magic_before_end("promise_fasttrack_raid_member", 204_288, 512, PROMISE),
    // The last 4 KiB, 60 bytes in: versions 8.3, 8.4 and 9.
    magic_before_end("drbd", 4036, 4096, &[0x83, 0x74, 0x02, 0x67]),
    magic_before_end("drbd", 4036, 4096, &[0x83, 0x74, 0x02, 0x6b]),
    magic_before_end("drbd", 4036, 4096, &[0x83, 0x74, 0x02, 0x6d]),
    magic_from_start("drbdmanage_control_volume", 0, b"$DRBDmgr=q"),
    magic_from_start("drbdproxy_datalog", 0, b"DRBDdlh*"),
    magic_from_start("mpool", 0, b"mpoolDev"),
    magic_from_start("ceph_bluestore", 0, b"bluestore block device"),
    magic_from_start("VMFS_volume_member", 0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0]),
    magic_from_start("VMFS", 0x20_0000, &[0x5e, 0xf1, 0xab, 0x2f]),
    magic_from_start("oracleasm", 32, b"ORCLDISK"),
];

/// File systems and swap.
pub(super) const FILE_SYSTEM_MAGICS: &[MagicBytes] = &[
    magic_from_start("ext", 0x438, &[0x53, 0xef]),
    magic_from_start("xfs", 0, b"XFSB"),
    magic_from_start("btrfs", 0x1_0040, BTRFS),
    magic_from_start("btrfs", 0x400_0040, BTRFS),
    magic_from_start("btrfs", 0x40_0000_0040, BTRFS),
    magic_from_start("bcachefs", 0x1018, BCACHEFS),
    magic_from_start("bcachefs", 0x10_0018, BCACHEFS),
    magic_before_end("bcachefs", 0x10_0000 - 0x18, 512, BCACHEFS),
    magic_from_start("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    magic_from_start("f2fs", 0x1400, &[0x10, 0x20, 0xf5, 0xf2]),
    magic_from_start("jfs", 0x8000, b"JFS1"),
    magic_from_start("reiserfs", 0x2034, b"ReIsErFs"),
    magic_from_start("reiserfs", 0x1_0034, b"ReIsErFs"),
    magic_from_start("reiserfs", 0x1_0034, b"ReIsEr2Fs"),
    magic_from_start("reiserfs", 0x1_0034, b"ReIsEr3Fs"),
    magic_from_start("reiser4", 0x1_0000, b"ReIsEr4"),
    // Revision 2.0, then the magic bytes.
    magic_from_start("nilfs2", 0x400, &[2, 0, 0, 0, 0, 0, 0x34, 0x34]),
    magic_from_start("ocfs2", 0x400, b"OCFSV2"),
    magic_from_start("ocfs2", 0x800, b"OCFSV2"),
    magic_from_start("ocfs2", 0x1000, b"OCFSV2"),
    magic_from_start("ocfs2", 0x2000, b"OCFSV2"),
    magic_from_start("ocfs", 8, b"OracleCFS"),
    magic_from_start("gfs2", 0x1_0000, &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    magic_from_start("ntfs", 3, b"NTFS    "),
    magic_from_start("exfat", 3, b"EXFAT   "),
    magic_from_start("ReFS", 3, b"ReFS\0"),
    magic_from_start("vfat", 82, b"FAT32   "),
    magic_from_start("vfat", 54, b"FAT1"),
    magic_from_start("vfat", 54, b"FAT     "),
    magic_from_start("vfat", 54, b"MSDOS"),
    magic_from_start("hpfs", 0x2000, &[0x49, 0xe8, 0x95, 0xf9]),
    magic_from_start("apfs", 32, b"NXSB"),
    magic_from_start("hfsplus", 0x400, &[b'H', b'+', 0, 4]),
    magic_from_start("hfsplus", 0x400, &[b'H', b'X', 0, 5]),
    magic_from_start("hfs", 0x400, b"BD"),
    magic_from_start("udf", 0x8001, b"BEA01"),
    magic_from_start("udf", 0x8801, b"NSR0"),
    magic_from_start("udf", 0x9001, b"NSR0"),
    magic_from_start("iso9660", 0x8001, b"CD001"),
    magic_from_start("iso9660", 0x8009, b"CDROM"),
    magic_from_start("squashfs", 0, b"hsqs"),
    magic_from_start("squashfs", 0, b"sqsh"),
    magic_from_start("erofs", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    magic_from_start("cramfs", 0, &[0x45, 0x3d, 0xcd, 0x28]),
    magic_from_start("cramfs", 0, &[0x28, 0xcd, 0x3d, 0x45]),
    magic_from_start("cramfs", 512, &[0x45, 0x3d, 0xcd, 0x28]),
    magic_from_start("romfs", 0, b"-rom1fs-"),
    magic_from_start("ubi", 0, b"UBI#"),
    magic_from_start("ubifs", 0, &[0x31, 0x18, 0x10, 0x06]),
    magic_from_start("zonefs", 0, b"SFOZ"),
    magic_from_start("bfs", 0, &[0xce, 0xfa, 0xad, 0x1b]),
    magic_from_start("befs", 0x220, b"1SFB"),
    magic_from_start("befs", 0x20, b"1SFB"),
    magic_from_start("vxfs", 0x400, &[0xf5, 0xfc, 0x01, 0xa5]),
    magic_from_start("exfs", 0, b"EXFS"),
    magic_from_start("nss", 4096, b"SPB5"),
    // System V: superblocks 512 bytes into blocks 0, 9, 15 and 18 of 1 KiB.
    magic_from_start("sysv", 1016, &[0x20, 0x7e, 0x18, 0xfd]),
    magic_from_start("sysv", 1016, &[0xfd, 0x18, 0x7e, 0x20]),
    magic_from_start("sysv", 10_232, &[0x20, 0x7e, 0x18, 0xfd]),
    magic_from_start("sysv", 10_232, &[0xfd, 0x18, 0x7e, 0x20]),
    magic_from_start("sysv", 16_376, &[0x20, 0x7e, 0x18, 0xfd]),
    magic_from_start("sysv", 16_376, &[0xfd, 0x18, 0x7e, 0x20]),
    magic_from_start("sysv", 19_448, &[0x20, 0x7e, 0x18, 0xfd]),
    magic_from_start("sysv", 19_448, &[0xfd, 0x18, 0x7e, 0x20]),
    magic_from_start("xenix", 2040, &[0x44, 0x55, 0x2b, 0]),
    magic_from_start("xenix", 2040, &[0, 0x2b, 0x55, 0x44]),
    magic_from_start("ufs", 0x2000 + 1372, &[0x54, 0x19, 0x01, 0]),
    magic_from_start("ufs", 0x1_0000 + 1372, &[0x54, 0x19, 0x01, 0]),
    magic_from_start("ufs", 0x1_0000 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    magic_from_start("ufs", 0x2000 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    // Minix 1, 1 with long names, 2, 2 with long names: the magic bytes, then the state (bit 0:
    // unmounted, bit 1: errors); 3.
    magic_from_start("minix", 0x410, &[0x7f, 0x13, 0, 0]),
    magic_from_start("minix", 0x410, &[0x7f, 0x13, 1, 0]),
    magic_from_start("minix", 0x410, &[0x7f, 0x13, 2, 0]),
    magic_from_start("minix", 0x410, &[0x7f, 0x13, 3, 0]),
    magic_from_start("minix", 0x410, &[0x8f, 0x13, 0, 0]),
    magic_from_start("minix", 0x410, &[0x8f, 0x13, 1, 0]),
    magic_from_start("minix", 0x410, &[0x8f, 0x13, 2, 0]),
    magic_from_start("minix", 0x410, &[0x8f, 0x13, 3, 0]),
    magic_from_start("minix", 0x410, &[0x68, 0x24, 0, 0]),
    magic_from_start("minix", 0x410, &[0x68, 0x24, 1, 0]),
    magic_from_start("minix", 0x410, &[0x68, 0x24, 2, 0]),
    magic_from_start("minix", 0x410, &[0x68, 0x24, 3, 0]),
    magic_from_start("minix", 0x410, &[0x78, 0x24, 0, 0]),
    magic_from_start("minix", 0x410, &[0x78, 0x24, 1, 0]),
    magic_from_start("minix", 0x410, &[0x78, 0x24, 2, 0]),
    magic_from_start("minix", 0x410, &[0x78, 0x24, 3, 0]),
    magic_from_start("minix", 0x418, &[0x5a, 0x4d, 0, 0]),
    magic_from_start(
        "swsuspend",
        0,
        &[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c],
    ),
];

/// Ten bytes before the end of the first page: swap, and a hibernation image in it.
pub(super) const SWAP_MAGICS: &[(&str, &[u8])] = &[
    ("swap", b"SWAPSPACE2"),
    ("swap", b"SWAP-SPACE"),
    ("swsuspend", b"S1SUSPEND"),
    ("swsuspend", b"S2SUSPEND"),
    ("swsuspend", b"ULSUSPEND"),
    ("swsuspend", b"LINHIB0001"),
];

/// Page sizes that swap magic bytes may be based on.
pub(super) const SWAP_PAGE_SIZES: &[u64] = &[4096, 8192, 16_384, 32_768, 65_536];

/// Disk images of virtual machines, and databases in a file.
pub(super) const IMAGE_MAGICS: &[MagicBytes] = &[
    magic_from_start("qcow2", 0, b"QFI\xfb"),
    magic_from_start("qed", 0, b"QED\0"),
    magic_from_start("vmdk", 0, b"KDMV"),
    magic_from_start("vmdk", 0, b"COWD"),
    magic_from_start("vmdk", 0, b"# Disk DescriptorFile"),
    magic_from_start("vdi", 0x40, &[0x7f, 0x10, 0xda, 0xbe]),
    magic_from_start("vhd", 0, b"conectix"),
    magic_before_end("vhd", 512, 512, b"conectix"),
    magic_from_start("vhdx", 0, b"vhdxfile"),
    magic_from_start("parallels", 0, b"WithoutFreeSpace"),
    magic_from_start("parallels", 0, b"WithouFreSpacExt"),
    magic_before_end("dmg", 512, 512, b"koly"),
    magic_from_start("sqlite", 0, b"SQLite format 3\0"),
];
