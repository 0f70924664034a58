//! Types of partitions in a partition table, where the type alone tells what is on the partition: its bytes
//! have no mark that is recognised.
//!
//! GPT: UEFI specification 2.10, 5.3.3; the types are those of sfdisk(8). MBR: the types of fdisk(8).

/// Type of a partition in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionType {
    /// The 16 bytes of the GUID as they are in a GPT.
    Gpt([u8; 16]),
    /// The byte of an MBR.
    Mbr(u8),
}

/// Types of a GPT, and what is on such a partition.
const GPT_TYPES: &[([u8; 16], &str)] = &[
    (*b"Hah!IdontNeedEFI", "boot loader (BIOS boot)"),
    (
        guid(0x9e1a_2d38, 0xc612, 0x4316, 0xaa26_8b49_521e_5a8b),
        "boot loader (PReP)",
    ),
    (
        guid(0x83bd_6b9d, 0x7f41, 0x11dc, 0xbe0b_0015_60b8_4f0f),
        "boot loader (FreeBSD)",
    ),
    (
        guid(0x426f_6f74, 0x0000, 0x11aa, 0xaa11_0030_6543_ecac),
        "boot loader (Apple)",
    ),
    (
        guid(0x7412_f7d5, 0xa156, 0x4b13, 0x81dc_8671_7492_9325),
        "boot loader (ONIE)",
    ),
    (
        guid(0xfe3a_2a5d, 0x4f32, 0x41a7, 0xb725_accc_3285_a309),
        "kernel (ChromeOS)",
    ),
    (
        guid(0x5808_c8aa, 0x7e8f, 0x42e0, 0x85d2_e1e9_0434_cfb3),
        "dynamic disk of Windows",
    ),
    (
        guid(0xaf9b_60a0, 0x1431, 0x4f62, 0xbc68_3311_714a_69ad),
        "dynamic disk of Windows",
    ),
    (
        guid(0xe75c_af8f, 0xf680, 0x4cee, 0xafa3_b001_e56e_fc2d),
        "Storage Spaces of Windows",
    ),
    (
        guid(0x5241_4944, 0x0000, 0x11aa, 0xaa11_0030_6543_ecac),
        "Apple RAID",
    ),
    (
        guid(0x5374_6f72, 0x6167, 0x11aa, 0xaa11_0030_6543_ecac),
        "Core Storage of Apple",
    ),
    (
        guid(0x4fbd_7e29, 0x9d25, 0x41b8, 0xafd0_062c_0cef_f05d),
        "Ceph OSD",
    ),
    (
        guid(0x4fbd_7e29, 0x9d25, 0x41b8, 0xafd0_5ec0_0cef_f05d),
        "Ceph OSD",
    ),
    (
        guid(0x45b0_969e, 0x9b03, 0x4f30, 0xb4c6_b4b8_0cef_f106),
        "Ceph journal",
    ),
    (
        guid(0x45b0_969e, 0x9b03, 0x4f30, 0xb4c6_5ec0_0cef_f106),
        "Ceph journal",
    ),
    (
        guid(0xaa31_e02a, 0x400f, 0x11db, 0x9590_000c_2911_d1b8),
        "VMFS of VMware",
    ),
    (
        guid(0x9d27_5380, 0x40ad, 0x11db, 0xbf97_000c_2911_d1b8),
        "core dumps of VMware",
    ),
    (
        guid(0x381c_fccc, 0x7288, 0x11e0, 0x92ee_000c_2911_d0b2),
        "Virtual SAN of VMware",
    ),
];

/// Types of an MBR, and what is on such a partition.
const MBR_TYPES: &[(u8, &str)] = &[
    (0x41, "boot loader (PReP)"),
    (0x42, "dynamic disk of Windows"),
    (0xfb, "VMFS of VMware"),
    (0xfc, "core dumps of VMware"),
];

/// A GUID as it is in a GPT: the first three parts are little endian.
const fn guid(first: u32, second: u16, third: u16, rest: u64) -> [u8; 16] {
    let first = first.to_le_bytes();
    let (second, third) = (second.to_le_bytes(), third.to_le_bytes());
    let rest = rest.to_be_bytes();
    [
        first[0], first[1], first[2], first[3], second[0], second[1], third[0], third[1], rest[0],
        rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7],
    ]
}

impl PartitionType {
    /// What is on a partition of this type, if the type alone tells it. `None` for types of file systems, swap,
    /// LVM and others whose bytes are recognised.
    pub(super) fn known_content(self) -> Option<&'static str> {
        match self {
            Self::Gpt(guid) => find(GPT_TYPES, guid),
            Self::Mbr(number) => find(MBR_TYPES, number),
        }
    }
}

fn find<T: PartialEq + Copy>(table: &[(T, &'static str)], wanted: T) -> Option<&'static str> {
    let found = table.iter().find(|(known, _)| *known == wanted)?;
    Some(found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_is_the_guid_as_it_is_in_a_gpt() {
        let bios = guid(0x2168_6148, 0x6449, 0x6e6f, 0x744e_6565_6445_4649);
        assert_eq!(&bios, b"Hah!IdontNeedEFI");
        assert_eq!(
            PartitionType::Gpt(bios).known_content(),
            Some("boot loader (BIOS boot)")
        );
        // Linux filesystem.
        let linux = guid(0x0fc6_3daf, 0x8483, 0x4772, 0x8e79_3d69_d847_7de4);
        assert_eq!(PartitionType::Gpt(linux).known_content(), None);
        assert_eq!(PartitionType::Mbr(0x83).known_content(), None);
        assert!(PartitionType::Mbr(0x42).known_content().is_some());
    }
}
