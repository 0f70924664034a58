//! Formats on a device, a partition or a file, recognised by their magic bytes: for machines without udev, and for
//! files.
//!
//! Names are those of blkid(8). Offsets and values are from the formats' own definitions: the kernel
//! (`include/uapi/linux/magic.h`, `fs/*/`, `include/uapi/linux/raid/md_p.h`), LVM2 and cryptsetup on-disk formats, the
//! OpenZFS on-disk specification, UEFI 2.10, ECMA-119, SNIA DDF 2.0, and QEMU `docs/interop/qcow2.txt`.

use crate::drive::guard::regions::Region;

/// A format found on a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Its name in blkid(8), such as `ext4` or `crypto_LUKS`.
    pub name: String,
    /// Name of the partition that holds it; `None`: the medium itself.
    pub partition: Option<String>,
}

/// Where magic bytes are.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// So many bytes from the start.
    Start(u64),
    /// So many bytes before the end, which is rounded down to a multiple of the second number.
    End(u64, u64),
}
use Place::{End, Start};

const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const LUKS: &str = "crypto_LUKS";
const LVM2: &str = "LVM2_member";
const RAID: &str = "linux_raid_member";
const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];

#[rustfmt::skip]
const MAGICS: &[(&str, Place, &[u8])] = &[
    // Partition tables, encryption, volumes, RAID.
    ("gpt", Start(512), b"EFI PART"),
    ("gpt", Start(4096), b"EFI PART"),
    ("gpt", End(512, 512), b"EFI PART"),
    ("gpt", End(4096, 4096), b"EFI PART"),
    (LUKS, Start(0), b"LUKS\xba\xbe"),
    (LUKS, Start(0x4000), b"SKUL\xba\xbe"),
    ("BitLocker", Start(3), b"-FVE-FS-"),
    (LVM2, Start(0), b"LABELONE"),
    (LVM2, Start(512), b"LABELONE"),
    (LVM2, Start(1024), b"LABELONE"),
    (LVM2, Start(1536), b"LABELONE"),
    ("DM_snapshot_cow", Start(0), b"SnAp"),
    // Versions 1.1 and 1.2 at the start, 1.0 and 0.90 at the end; a bitmap in a file or device of its own.
    (RAID, Start(0), MD),
    (RAID, Start(4096), MD),
    (RAID, End(8192, 4096), MD),
    (RAID, End(65_536, 65_536), MD),
    ("md_bitmap", Start(0), b"bitm"),
    ("isw_raid_member", End(1024, 512), b"Intel Raid ISM Cfg Sig. "),
    ("ddf_raid_member", End(512, 512), &[0xde, 0x11, 0xde, 0x11]),
    ("bcache", Start(0x1018), BCACHE),
    ("drbd", End(4036, 4096), &[0x83, 0x74, 0x02, 0x6d]),
    ("ceph_bluestore", Start(0), b"bluestore block device"),
    ("VMFS_volume_member", Start(0x10_0000), &[0x0d, 0xd0, 0x01, 0xc0]),
    ("VMFS", Start(0x20_0000), &[0x5e, 0xf1, 0xab, 0x2f]),
    // File systems and swap.
    ("xfs", Start(0), b"XFSB"),
    ("btrfs", Start(0x1_0040), b"_BHRfS_M"),
    ("btrfs", Start(0x400_0040), b"_BHRfS_M"),
    ("bcachefs", Start(0x1018), BCACHEFS),
    ("f2fs", Start(0x400), &[0x10, 0x20, 0xf5, 0xf2]),
    ("gfs2", Start(0x1_0000), &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    ("ocfs2", Start(0x1000), b"OCFSV2"),
    ("ntfs", Start(3), b"NTFS    "),
    ("exfat", Start(3), b"EXFAT   "),
    ("vfat", Start(82), b"FAT32   "),
    ("vfat", Start(54), b"FAT1"),
    ("hfsplus", Start(0x400), &[b'H', b'+', 0, 4]),
    ("apfs", Start(32), b"NXSB"),
    ("iso9660", Start(0x8001), b"CD001"),
    ("udf", Start(0x8801), b"NSR0"),
    ("squashfs", Start(0), b"hsqs"),
    ("swap", Start(4086), b"SWAPSPACE2"),
    ("swap", Start(65_526), b"SWAPSPACE2"),
    ("swsuspend", Start(4086), b"S1SUSPEND"),
    ("swsuspend", Start(4086), b"LINHIB0001"),
    // Disks of virtual machines.
    ("qcow2", Start(0), b"QFI\xfb"),
    ("vmdk", Start(0), b"KDMV"),
    ("vhdx", Start(0), b"vhdxfile"),
];

/// Size of a ZFS label: two are at the start and two at the end.
const ZFS_LABEL_BYTES: u64 = 256 << 10;
/// Offset of the uberblocks in a label, 1 KiB apart, and their magic number 0x00bab10c in both byte orders.
const ZFS_UBERBLOCK_OFFSET: u64 = 128 << 10;
const ZFS_MAGICS: [&[u8]; 2] = [
    &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0],
    &[0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c],
];

/// Names of the formats in a region, each once.
pub(super) fn find_formats(region: &Region<'_>) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for (name, place, magic) in MAGICS {
        let offset = match place {
            Start(offset) => Some(*offset),
            End(before, align) => (region.length / align * align).checked_sub(*before),
        };
        if !found.contains(name) && offset.is_some_and(|at| region.holds(at, magic)) {
            found.push(name);
        }
    }
    found.extend(ext_version(region));
    if is_zfs(region) {
        found.push("zfs_member");
    }
    // A boot sector of these has the same mark at its end.
    let is_boot_sector = ["vfat", "ntfs", "exfat", "BitLocker"];
    if has_dos_table(region) && !found.iter().any(|name| is_boot_sector.contains(name)) {
        found.push("dos");
    }
    found
}

/// The version of an ext file system, from its features (kernel Documentation/filesystems/ext4/super.rst).
fn ext_version(region: &Region<'_>) -> Option<&'static str> {
    let block = region.read(0x400, 0x68);
    let number = |at: usize| {
        let bytes = block.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    // The magic number, then revision 0 or 1.
    if block.get(0x38..0x3a)? != [0x53, 0xef] || number(0x4c)? > 1 {
        return None;
    }
    let (compatible, incompatible, read_only) = (number(0x5c)?, number(0x60)?, number(0x64)?);
    Some(if incompatible & 0x8 != 0 {
        "jbd"
    } else if incompatible & !0x1e != 0 || read_only & !0x7 != 0 {
        "ext4"
    } else if compatible & 0x4 != 0 {
        "ext3"
    } else {
        "ext2"
    })
}

/// Whether one of the four labels has an uberblock.
fn is_zfs(region: &Region<'_>) -> bool {
    let end = region.length / ZFS_LABEL_BYTES * ZFS_LABEL_BYTES;
    let labels = [
        Some(0),
        Some(ZFS_LABEL_BYTES),
        end.checked_sub(2 * ZFS_LABEL_BYTES),
        end.checked_sub(ZFS_LABEL_BYTES),
    ];
    labels.into_iter().flatten().any(|label| {
        let blocks = region.read(label + ZFS_UBERBLOCK_OFFSET, ZFS_UBERBLOCK_OFFSET as usize);
        let is_uberblock = |block: &[u8]| ZFS_MAGICS.iter().any(|magic| block.starts_with(magic));
        blocks.chunks(1024).any(is_uberblock)
    })
}

/// Whether there is a partition table of DOS: its mark, and four entries that are possible, one of them in use.
fn has_dos_table(region: &Region<'_>) -> bool {
    let sector = region.read(0, 512);
    let Some(table) = sector
        .get(446..510)
        .filter(|_| sector.ends_with(&[0x55, 0xaa]))
    else {
        return false;
    };
    let entries = || table.chunks(16);
    entries().all(|entry| matches!(entry[0], 0 | 0x80)) && entries().any(|entry| entry[4] != 0)
}
