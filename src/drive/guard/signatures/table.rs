//! Marks of on-disk formats: name, place, bytes.
//!
//! Names are those of blkid(8). Which formats matter follows util-linux
//! (`libblkid/src/superblocks`, `libblkid/src/partitions`); offsets and values are from the
//! formats' own definitions: the kernel (`include/uapi/linux/magic.h`, `fs/*/`,
//! `include/uapi/linux/raid/md_p.h`, `Documentation/admin-guide/bcache.rst`), LVM2 and cryptsetup
//! on-disk formats, the OpenZFS on-disk specification, UEFI 2.10, ECMA-119 and ECMA-167, SNIA DDF
//! 2.0, Apple's APFS reference and TN1150, Microsoft's FAT, exFAT and VHD specifications, QEMU
//! `docs/interop/qcow2.txt`, and VMware's virtual disk format 5.0.

/// Where a mark lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end, after the size was rounded down to a multiple of `align`.
    End { before: u64, align: u64 },
}

/// Bytes at a place that tell a format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Magic {
    pub(super) name: &'static str,
    pub(super) at: At,
    pub(super) bytes: &'static [u8],
}

const fn start(name: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    Magic {
        name,
        at: At::Start(offset),
        bytes,
    }
}

const fn end(name: &'static str, before: u64, align: u64, bytes: &'static [u8]) -> Magic {
    Magic {
        name,
        at: At::End { before, align },
        bytes,
    }
}

/// Linux RAID, little and big endian.
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const MD_BIG: &[u8] = &[0xa9, 0x2b, 0x4e, 0xfc];
const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];
const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";
const LUKS: &str = "crypto_LUKS";
const LUKS_SECOND: &[u8] = b"SKUL\xba\xbe";
const LVM2: &str = "LVM2_member";
const RAID: &str = "linux_raid_member";
const BTRFS: &[u8] = b"_BHRfS_M";
const PROMISE: &[u8] = b"Promise Technology, Inc.";

/// Tables of partitions, encryption, volume managers, RAID: what other things lie on.
pub(super) const CONTAINERS: &[Magic] = &[
    start("gpt", 512, b"EFI PART"),
    start("gpt", 4096, b"EFI PART"),
    end("gpt", 512, 512, b"EFI PART"),
    end("gpt", 4096, 4096, b"EFI PART"),
    start("mac", 512, b"PM\0\0"),
    start("sgi", 0, &[0x0b, 0xe5, 0xa9, 0x41]),
    start("sun", 508, &[0xda, 0xbe]),
    start("bsd", 512, &[0x57, 0x45, 0x56, 0x82]),
    start("aix", 0, &[0xc9, 0xc2, 0xd4, 0xc1]),
    start(LUKS, 0, b"LUKS\xba\xbe"),
    start(LUKS, 0x4000, LUKS_SECOND),
    start(LUKS, 0x8000, LUKS_SECOND),
    start(LUKS, 0x1_0000, LUKS_SECOND),
    start(LUKS, 0x2_0000, LUKS_SECOND),
    start(LUKS, 0x4_0000, LUKS_SECOND),
    start(LUKS, 0x8_0000, LUKS_SECOND),
    start(LUKS, 0x10_0000, LUKS_SECOND),
    start(LUKS, 0x20_0000, LUKS_SECOND),
    start(LUKS, 0x40_0000, LUKS_SECOND),
    start("BitLocker", 3, b"-FVE-FS-"),
    start("cs_fvault2", 88, b"CS\x01\0"),
    start(LVM2, 0, b"LABELONE"),
    start(LVM2, 512, b"LABELONE"),
    start(LVM2, 1024, b"LABELONE"),
    start(LVM2, 1536, b"LABELONE"),
    start("LVM1_member", 0, b"HM\x01\0"),
    start("LVM1_member", 0, b"HM\x02\0"),
    start("DM_snapshot_cow", 0, b"SnAp"),
    start("DM_verity_hash", 0, b"verity\0\0"),
    start("DM_integrity", 0, b"integrt\0"),
    start("vdo", 0, b"dmvdo001"),
    start("stratis", 516, STRATIS),
    start("stratis", 4612, STRATIS),
    start("bcache", 0x1018, BCACHE),
    // Versions 1.1 and 1.2 at the start, 1.0 and 0.90 at the end.
    start(RAID, 0, MD),
    start(RAID, 4096, MD),
    end(RAID, 8192, 4096, MD),
    end(RAID, 65_536, 65_536, MD),
    end(RAID, 65_536, 65_536, MD_BIG),
    end("isw_raid_member", 1024, 512, b"Intel Raid ISM Cfg Sig. "),
    end("isw_raid_member", 8192, 4096, b"Intel Raid ISM Cfg Sig. "),
    end("ddf_raid_member", 512, 512, &[0xde, 0x11, 0xde, 0x11]),
    end("ddf_raid_member", 512, 512, &[0x11, 0xde, 0x11, 0xde]),
    end("ddf_raid_member", 131_584, 512, &[0xde, 0x11, 0xde, 0x11]),
    end("ddf_raid_member", 131_584, 512, &[0x11, 0xde, 0x11, 0xde]),
    end("ddf_raid_member", 4096, 4096, &[0xde, 0x11, 0xde, 0x11]),
    end("ddf_raid_member", 4096, 4096, &[0x11, 0xde, 0x11, 0xde]),
    end("nvidia_raid_member", 1024, 512, b"NVIDIA"),
    end("lsi_mega_raid_member", 512, 512, b"$XIDE$"),
    end("adaptec_raid_member", 512, 512, b"DPTM"),
    // Sectors before the end: 63, 255, 256, 16, 399.
    end("promise_fasttrack_raid_member", 32_256, 512, PROMISE),
    end("promise_fasttrack_raid_member", 130_560, 512, PROMISE),
    end("promise_fasttrack_raid_member", 131_072, 512, PROMISE),
    end("promise_fasttrack_raid_member", 8192, 512, PROMISE),
    end("promise_fasttrack_raid_member", 204_288, 512, PROMISE),
    // The last 4 KiB, 60 bytes in: versions 8.3, 8.4 and 9.
    end("drbd", 4036, 4096, &[0x83, 0x74, 0x02, 0x67]),
    end("drbd", 4036, 4096, &[0x83, 0x74, 0x02, 0x6b]),
    end("drbd", 4036, 4096, &[0x83, 0x74, 0x02, 0x6d]),
    start("ceph_bluestore", 0, b"bluestore block device"),
    start("VMFS_volume_member", 0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0]),
    start("VMFS", 0x20_0000, &[0x5e, 0xf1, 0xab, 0x2f]),
    start("oracleasm", 32, b"ORCLDISK"),
];

/// File systems and swap.
pub(super) const FILE_SYSTEMS: &[Magic] = &[
    start("ext", 0x438, &[0x53, 0xef]),
    start("xfs", 0, b"XFSB"),
    start("btrfs", 0x1_0040, BTRFS),
    start("btrfs", 0x400_0040, BTRFS),
    start("btrfs", 0x40_0000_0040, BTRFS),
    start("bcachefs", 0x1018, BCACHEFS),
    start("bcachefs", 0x10_0018, BCACHEFS),
    end("bcachefs", 0x10_0000 - 0x18, 512, BCACHEFS),
    start("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    start("f2fs", 0x1400, &[0x10, 0x20, 0xf5, 0xf2]),
    start("jfs", 0x8000, b"JFS1"),
    start("reiserfs", 0x2034, b"ReIsErFs"),
    start("reiserfs", 0x1_0034, b"ReIsErFs"),
    start("reiserfs", 0x1_0034, b"ReIsEr2Fs"),
    start("reiserfs", 0x1_0034, b"ReIsEr3Fs"),
    start("reiser4", 0x1_0000, b"ReIsEr4"),
    // Revision 2.0, then the mark.
    start("nilfs2", 0x400, &[2, 0, 0, 0, 0, 0, 0x34, 0x34]),
    start("ocfs2", 0x400, b"OCFSV2"),
    start("ocfs2", 0x800, b"OCFSV2"),
    start("ocfs2", 0x1000, b"OCFSV2"),
    start("ocfs2", 0x2000, b"OCFSV2"),
    start("ocfs", 8, b"OracleCFS"),
    start("gfs2", 0x1_0000, &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    start("ntfs", 3, b"NTFS    "),
    start("exfat", 3, b"EXFAT   "),
    start("ReFS", 3, b"ReFS\0"),
    start("vfat", 82, b"FAT32   "),
    start("vfat", 54, b"FAT1"),
    start("vfat", 54, b"FAT     "),
    start("vfat", 54, b"MSDOS"),
    start("hpfs", 0x2000, &[0x49, 0xe8, 0x95, 0xf9]),
    start("apfs", 32, b"NXSB"),
    start("hfsplus", 0x400, &[b'H', b'+', 0, 4]),
    start("hfsplus", 0x400, &[b'H', b'X', 0, 5]),
    start("hfs", 0x400, b"BD"),
    start("udf", 0x8001, b"BEA01"),
    start("udf", 0x8801, b"NSR0"),
    start("udf", 0x9001, b"NSR0"),
    start("iso9660", 0x8001, b"CD001"),
    start("iso9660", 0x8009, b"CDROM"),
    start("squashfs", 0, b"hsqs"),
    start("squashfs", 0, b"sqsh"),
    start("erofs", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    start("cramfs", 0, &[0x45, 0x3d, 0xcd, 0x28]),
    start("cramfs", 0, &[0x28, 0xcd, 0x3d, 0x45]),
    start("cramfs", 512, &[0x45, 0x3d, 0xcd, 0x28]),
    start("romfs", 0, b"-rom1fs-"),
    start("ubi", 0, b"UBI#"),
    start("ubifs", 0, &[0x31, 0x18, 0x10, 0x06]),
    start("zonefs", 0, b"SFOZ"),
    start("bfs", 0, &[0xce, 0xfa, 0xad, 0x1b]),
    start("befs", 0x220, b"1SFB"),
    start("befs", 0x20, b"1SFB"),
    start("vxfs", 0x400, &[0xf5, 0xfc, 0x01, 0xa5]),
    start("ufs", 0x2000 + 1372, &[0x54, 0x19, 0x01, 0]),
    start("ufs", 0x1_0000 + 1372, &[0x54, 0x19, 0x01, 0]),
    start("ufs", 0x1_0000 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    start("ufs", 0x2000 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    // Minix 1, 1 with long names, 2, 2 with long names: the mark, then the state (bit 0: unmounted,
    // bit 1: errors); 3.
    start("minix", 0x410, &[0x7f, 0x13, 0, 0]),
    start("minix", 0x410, &[0x7f, 0x13, 1, 0]),
    start("minix", 0x410, &[0x7f, 0x13, 2, 0]),
    start("minix", 0x410, &[0x7f, 0x13, 3, 0]),
    start("minix", 0x410, &[0x8f, 0x13, 0, 0]),
    start("minix", 0x410, &[0x8f, 0x13, 1, 0]),
    start("minix", 0x410, &[0x8f, 0x13, 2, 0]),
    start("minix", 0x410, &[0x8f, 0x13, 3, 0]),
    start("minix", 0x410, &[0x68, 0x24, 0, 0]),
    start("minix", 0x410, &[0x68, 0x24, 1, 0]),
    start("minix", 0x410, &[0x68, 0x24, 2, 0]),
    start("minix", 0x410, &[0x68, 0x24, 3, 0]),
    start("minix", 0x410, &[0x78, 0x24, 0, 0]),
    start("minix", 0x410, &[0x78, 0x24, 1, 0]),
    start("minix", 0x410, &[0x78, 0x24, 2, 0]),
    start("minix", 0x410, &[0x78, 0x24, 3, 0]),
    start("minix", 0x418, &[0x5a, 0x4d, 0, 0]),
    start(
        "swsuspend",
        0,
        &[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c],
    ),
];

/// Ten bytes before the end of the first page: swap, and a suspended system in it.
pub(super) const SWAP: &[(&str, &[u8])] = &[
    ("swap", b"SWAPSPACE2"),
    ("swap", b"SWAP-SPACE"),
    ("swsuspend", b"S1SUSPEND"),
    ("swsuspend", b"S2SUSPEND"),
    ("swsuspend", b"ULSUSPEND"),
    ("swsuspend", b"LINHIB0001"),
];

/// Pages whose end may carry the mark of swap.
pub(super) const SWAP_PAGES: &[u64] = &[4096, 8192, 16_384, 32_768, 65_536];

/// Images of disks of virtual machines, and databases in a file.
pub(super) const IMAGES: &[Magic] = &[
    start("qcow2", 0, b"QFI\xfb"),
    start("qed", 0, b"QED\0"),
    start("vmdk", 0, b"KDMV"),
    start("vmdk", 0, b"COWD"),
    start("vmdk", 0, b"# Disk DescriptorFile"),
    start("vdi", 0x40, &[0x7f, 0x10, 0xda, 0xbe]),
    start("vhd", 0, b"conectix"),
    end("vhd", 512, 512, b"conectix"),
    start("vhdx", 0, b"vhdxfile"),
    start("parallels", 0, b"WithoutFreeSpace"),
    start("parallels", 0, b"WithouFreSpacExt"),
    end("dmg", 512, 512, b"koly"),
    start("sqlite", 0, b"SQLite format 3\0"),
];
