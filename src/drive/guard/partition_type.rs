//! Types of partitions in a partition table, where the type alone tells what is on the partition: its bytes
//! have no mark that is recognised.
//!
//! GPT: UEFI specification 2.10, 5.3.3; the types are those of sfdisk(8) and gdisk(8). MBR: the types of fdisk(8).

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
        guid(0x5b19_3300, 0xfc78, 0x40cd, 0x8002_e86c_4558_0b47),
        "boot loader (HiFive)",
    ),
    (
        guid(0x2e54_b353, 0x1271, 0x4842, 0x806f_e436_d6af_6985),
        "boot loader (HiFive)",
    ),
    (
        guid(0x6828_311a, 0xba55, 0x42a4, 0xbcde_a89b_b5ed_ecae),
        "boot loader (Marvell)",
    ),
    (
        guid(0x3de2_1764, 0x95bd, 0x54bd, 0xa5c3_4abe_786f_38a8),
        "boot loader (U-Boot)",
    ),
    (
        guid(0x4778_ed65, 0xbf42, 0x45fa, 0x9c5b_287a_1dc4_aab1),
        "boot loader (barebox)",
    ),
    (
        guid(0xf401_9732, 0x066e, 0x4e12, 0x8273_346c_5641_494f),
        "boot loader (Sony)",
    ),
    (
        guid(0xbfbf_afe7, 0xa34f, 0x448a, 0x9a5b_6213_eb73_6c22),
        "boot loader (Lenovo)",
    ),
    (
        guid(0x6964_6961, 0x6700, 0x11aa, 0xaa11_0030_6543_ecac),
        "boot loader (Apple silicon)",
    ),
    (
        guid(0x5263_7672, 0x7900, 0x11aa, 0xaa11_0030_6543_ecac),
        "recovery system (Apple silicon)",
    ),
    (
        guid(0x85d5_e45e, 0x237c, 0x11e1, 0xb4b3_e89a_8f7f_c3a7),
        "boot loader (MidnightBSD)",
    ),
    (
        guid(0xd4e6_e2cd, 0x4469, 0x46f3, 0xb5cb_1bff_57af_c149),
        "configuration (ONIE)",
    ),
    (
        guid(0xcab6_e88e, 0xabf3, 0x4102, 0xa07a_d4bb_9be3_c1d3),
        "firmware (ChromeOS)",
    ),
    (
        guid(0x0984_5860, 0x705f, 0x4bb5, 0xb16c_8a8a_099c_af52),
        "recovery system (ChromeOS)",
    ),
    (
        guid(0x3f0f_8318, 0xf146, 0x4e6b, 0x8222_c28c_8f02_e0d5),
        "hibernated memory (ChromeOS)",
    ),
    (
        guid(0x2e0a_753d, 0x9e48, 0x43b0, 0x8337_b151_92cb_1b5e),
        "reserved data (ChromeOS)",
    ),
    (
        guid(0xd3bf_e2de, 0x3daf, 0x11df, 0xba40_e3a5_56d8_9593),
        "hibernated memory (Intel Fast Flash)",
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
    (
        guid(0x37af_fc90, 0xef7d, 0x4e96, 0x91c3_2d7a_e055_b174),
        "GPFS of IBM",
    ),
    (
        guid(0x5241_4944, 0x5f4f, 0x11aa, 0xaa11_0030_6543_ecac),
        "Apple RAID",
    ),
    (
        guid(0x7771_9a0c, 0xa4a0, 0x11e3, 0xa47e_000c_2974_5a24),
        "Virsto of VMware",
    ),
    (
        guid(0x9198_effc, 0x31c0, 0x11db, 0x8f78_000c_2911_d1b8),
        "reserved data of VMware",
    ),
    (
        guid(0x516e_7cb8, 0x6ecf, 0x11d6, 0x8ff8_0002_2d09_712b),
        "Vinum volume (FreeBSD)",
    ),
    (
        guid(0x85d5_e45c, 0x237c, 0x11e1, 0xb4b3_e89a_8f7f_c3a7),
        "Vinum volume (MidnightBSD)",
    ),
    (
        guid(0x49f4_8daa, 0xb10e, 0x11dc, 0xb99b_0019_d187_9648),
        "RAID of NetBSD",
    ),
    (
        guid(0x2db5_19c4, 0xb10f, 0x11dc, 0xb99b_0019_d187_9648),
        "concatenated disks of NetBSD",
    ),
    (
        guid(0x2db5_19ec, 0xb10f, 0x11dc, 0xb99b_0019_d187_9648),
        "encrypted data (NetBSD)",
    ),
    (
        guid(0x7589_4c1e, 0x3aeb, 0x11d3, 0xb7c1_7b03_a000_0000),
        "data of HP-UX",
    ),
    (
        guid(0xe2a1_e728, 0x32e3, 0x11d6, 0xa682_7b03_a000_0000),
        "service data of HP-UX",
    ),
];

/// Types of an MBR, and what is on such a partition.
const MBR_TYPES: &[(u8, &str)] = &[
    (0x0a, "boot loader (OS/2)"),
    (0x41, "boot loader (PReP)"),
    (0x42, "dynamic disk of Windows"),
    (0x84, "hibernated memory (Intel)"),
    (0xa0, "hibernated memory (ThinkPad)"),
    // SoCFPGA of Altera: the first stage of U-Boot.
    (0xa2, "boot loader (SoCFPGA)"),
    (0xab, "boot loader (Darwin)"),
    (0xf0, "boot loader (PA-RISC)"),
    // Arm EBBR specification, 4.3: what the firmware has on a shared disk.
    (0xf8, "firmware (EBBR)"),
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
    use std::collections::HashSet;

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

    #[test]
    fn each_type_is_named_once() {
        let guids: Vec<_> = GPT_TYPES.iter().map(|(guid, _)| guid).collect();
        let numbers: Vec<_> = MBR_TYPES.iter().map(|(number, _)| number).collect();
        assert!(guids.iter().collect::<HashSet<_>>().len() == guids.len());
        assert!(numbers.iter().collect::<HashSet<_>>().len() == numbers.len());
    }

    #[test]
    fn types_of_boot_loaders_and_cluster_file_systems_are_known() {
        // As sfdisk(8) and gdisk(8) write them.
        let content = |text: &str| {
            let digits = text.replace('-', "");
            let number = |range| u64::from_str_radix(&digits[range], 16).unwrap();
            let (first, second, third) = (number(0..8), number(8..12), number(12..16));
            let (first, second) = (first.try_into().unwrap(), second.try_into().unwrap());
            let guid = guid(first, second, third.try_into().unwrap(), number(16..32));
            PartitionType::Gpt(guid).known_content()
        };
        for (guid, expected) in [
            (
                "5B193300-FC78-40CD-8002-E86C45580B47",
                "boot loader (HiFive)",
            ),
            (
                "2E54B353-1271-4842-806F-E436D6AF6985",
                "boot loader (HiFive)",
            ),
            (
                "6828311A-BA55-42A4-BCDE-A89BB5EDECAE",
                "boot loader (Marvell)",
            ),
            (
                "3DE21764-95BD-54BD-A5C3-4ABE786F38A8",
                "boot loader (U-Boot)",
            ),
            (
                "69646961-6700-11AA-AA11-00306543ECAC",
                "boot loader (Apple silicon)",
            ),
            (
                "CAB6E88E-ABF3-4102-A07A-D4BB9BE3C1D3",
                "firmware (ChromeOS)",
            ),
            (
                "D3BFE2DE-3DAF-11DF-BA40-E3A556D89593",
                "hibernated memory (Intel Fast Flash)",
            ),
            ("37AFFC90-EF7D-4E96-91C3-2D7AE055B174", "GPFS of IBM"),
            ("77719A0C-A4A0-11E3-A47E-000C29745A24", "Virsto of VMware"),
            (
                "516E7CB8-6ECF-11D6-8FF8-00022D09712B",
                "Vinum volume (FreeBSD)",
            ),
        ] {
            assert_eq!(content(guid), Some(expected), "{guid}");
        }
        for (number, expected) in [
            (0xa2, "boot loader (SoCFPGA)"),
            (0xf0, "boot loader (PA-RISC)"),
        ] {
            assert_eq!(PartitionType::Mbr(number).known_content(), Some(expected));
        }
    }
}
