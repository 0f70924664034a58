//! Readers on a test tree of /sys, /proc and /run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::roots::SysPaths;

/// A test tree in its own temporary directory.
struct IdentityTree(tempfile::TempDir);

impl IdentityTree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn roots(&self) -> SysPaths {
        SysPaths::under_root(self.0.path())
    }

    fn write_file(&self, path: &str, text: &str) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Adds a device to the device tree, with its link and its files.
    fn add_device(&self, location: &str, dev: &str, sectors: u64, files: &[(&str, &str)]) -> &Self {
        let own = format!("sys/devices/{location}");
        self.write_file(&format!("{own}/dev"), &format!("{dev}\n"));
        self.write_file(&format!("{own}/size"), &format!("{sectors}\n"));
        for (name, text) in files {
            self.write_file(&format!("{own}/{name}"), text);
        }
        let class = self.0.path().join("sys/class/block");
        fs::create_dir_all(&class).unwrap();
        let name = Path::new(location).file_name().unwrap();
        symlink(self.0.path().join(&own), class.join(name)).unwrap();
        self
    }

    fn read_device(&self, name: &str) -> BlockDevice {
        read_block_device(&self.roots(), name).unwrap()
    }
}

type Files = &'static [(&'static str, &'static str)];

#[rustfmt::skip]
const QUEUE_512E: Files = &[
    ("queue/logical_block_size", "512\n"), ("queue/physical_block_size", "4096\n"),
    ("queue/rotational", "1\n"), ("queue/scheduler", "none [mq-deadline] kyber\n"),
    ("queue/read_ahead_kb", "128\n"), ("queue/max_sectors_kb", "1280\n"),
    ("queue/write_cache", "write back\n"), ("alignment_offset", "0\n"),
    ("removable", "0\n"), ("ro", "0\n"), ("device/queue_depth", "32\n"),
    ("device/vendor", "ATA     \n"), ("device/model", "WDC WD40EFRX-68N\n"), ("device/rev", "0A82\n"),
];

const SDA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";

fn hard_disk() -> IdentityTree {
    const UDEV: &str = "E:ID_BUS=ata\nE:ID_MODEL=WDC_WD40EFRX-68N32N0\n\
        E:ID_MODEL_ENC=WDC\\x20WD40EFRX-68N32N0\\x20\\x20\nE:ID_SERIAL_SHORT=WD-WCC7K1\n\
        E:ID_REVISION=82.00A82\nE:ID_PART_TABLE_TYPE=gpt\n";
    const MOUNTS: &str = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        30 22 8:1 /srv /mnt/a\\040b rw - ext4 /dev/sda1 rw\n";
    let tree = IdentityTree::new();
    let [first, second] = ["2048\n", "63\n"].map(|start| [("partition", "1\n"), ("start", start)]);
    tree.add_device(SDA, "8:0", 7_814_037_168, QUEUE_512E)
        .add_device(&format!("{SDA}/sda1"), "8:1", 2048, &first)
        .add_device(&format!("{SDA}/sda2"), "8:2", 4096, &second)
        .write_file("run/udev/data/b8:0", UDEV)
        .write_file("run/udev/data/b8:1", "E:ID_FS_TYPE=ext4\n")
        .write_file("proc/self/mountinfo", MOUNTS);
    tree
}

/// Vendor, model, serial number, firmware, transport and active scheduler.
fn names(drive: &BlockDevice) -> String {
    let names = [&drive.vendor, &drive.model, &drive.serial, &drive.firmware];
    let all = names
        .into_iter()
        .chain([&drive.transport, &drive.scheduler]);
    let names: Vec<&str> = all.map(|name| name.as_deref().unwrap_or("-")).collect();
    names.join(", ")
}

#[test]
fn sata_hard_disk_identity_is_read() {
    let tree = hard_disk();
    let drive = tree.read_device("sda");
    // ATA is not a maker.
    let expected = "-, WDC WD40EFRX-68N32N0, WD-WCC7K1, 82.00A82, sata, mq-deadline";
    assert_eq!(names(&drive), expected);
    let expected = BlockDevice {
        kind: DriveKind::Disk,
        number: (8, 0),
        size_bytes: 4_000_787_030_016,
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        rotational: Some(true),
        removable: Some(false),
        read_only: Some(false),
        queue_depth: Some(32),
        read_ahead_kib: Some(128),
        max_request_kib: Some(1280),
        write_cache: Some("write back".to_owned()),
        signature: Some("gpt".to_owned()),
        ..drive.clone()
    };
    assert_eq!(drive, expected);
    // The name that tells the most.
    let links = "S:disk/by-id/wwn-0x5\nS:disk/by-path/pci-0\nS:disk/by-id/ata-WDC_WD40_WD-1\n";
    tree.write_file("run/udev/data/b8:0", links);
    let by_id = tree.read_device("sda").by_id;
    assert_eq!(by_id.as_deref(), Some("ata-WDC_WD40_WD-1"));
}

#[test]
fn partition_inherits_disk_identity_and_has_own_offset_and_users() {
    let tree = hard_disk();
    let at = |path: &str| DeviceUse::Mounted {
        at: path.to_owned(),
        file_system: "ext4".to_owned(),
    };
    // The second one starts at sector 63.
    for (name, aligned, signature, users) in [
        ("sda1", true, Some("ext4"), vec![at("/"), at("/mnt/a b")]),
        ("sda2", false, None, vec![]),
    ] {
        let part = tree.read_device(name);
        assert_eq!(part.kind, DriveKind::Partition);
        assert_eq!(part.parent.as_deref(), Some("sda"));
        assert_eq!(part.aligned, Some(aligned));
        assert_eq!(part.physical_block_bytes, Some(4096));
        assert_eq!((part.signature.as_deref(), part.users), (signature, users));
    }
}

#[test]
fn pages_of_the_drive_tell_serial_number_and_rotation_rate() {
    let tree = hard_disk();
    fs::remove_dir_all(tree.0.path().join("run")).unwrap();
    let page = |name: &str, text: &str| {
        tree.write_file(&format!("sys/devices/{SDA}/device/{name}"), text);
        tree.read_device("sda")
    };
    let drive = page("vpd_pg80", "\0\u{1}\0\u{8}WD-WCC7K1 ");
    let expected = "-, WDC WD40EFRX-68N, WD-WCC7K1, 0A82, sata, mq-deadline";
    assert_eq!((&*names(&drive), drive.signature), (expected, None));
    for (rate, expected) in [
        ("\u{15}\u{18}", Some(5400)),
        ("\0\u{1}", None),
        ("\0\0", None),
    ] {
        let drive = page("vpd_pgb1", &format!("\0\u{7f}\0\u{3c}{rate}\0\0"));
        assert_eq!(drive.rotation_rate, expected);
    }
}

#[test]
fn drives_without_udev_are_named_by_the_kernel_and_escaped() {
    let tree = IdentityTree::new();
    let nvme = [
        ("queue/scheduler", "[none] mq-deadline\n"),
        ("device/model", "Fast\x1b[31mSSD                      \n"),
        ("device/serial", "S64DNF0R\n"),
        ("device/firmware_rev", "2B4QFXO7\n"),
    ];
    let virtio = [("device/vendor", "0x1af4\n"), ("serial", "vol-0a1b\n")];
    tree.add_device("pci0/0000:3d:00.0/nvme/nvme0/nvme0n1", "259:0", 2048, &nvme)
        .add_device("pci0/virtio1/block/vda", "254:0", 2048, &virtio);
    let drive = tree.read_device("nvme0n1");
    assert_eq!(
        names(&drive),
        "-, Fast?[31mSSD, S64DNF0R, 2B4QFXO7, nvme, none"
    );
    assert_eq!(drive.logical_block_bytes, None, "no file, no number");
    let names = names(&tree.read_device("vda"));
    assert_eq!(names, "-, -, vol-0a1b, -, virtio, -");
    assert_eq!(read_block_device(&tree.roots(), "sdz"), None);
}

#[test]
fn device_mapper_on_raid_on_two_disks_lists_slaves_and_holders() {
    #[rustfmt::skip]
    let devices: [(&str, &str, Files); 4] = [
        ("ata2/host1/sdb", "8:16", &[("holders/md0", "")]),
        ("ata2/host1/sdc", "8:32", &[("holders/md0", "")]),
        ("md0", "9:0", &[("md/level", "raid0\n"), ("slaves/sdc", ""), ("slaves/sdb", ""), ("holders/dm-0", "")]),
        ("dm-0", "252:0", &[("dm/name", "vg-root\n"), ("slaves/md0", "")]),
    ];
    let tree = IdentityTree::new();
    for (place, number, files) in devices {
        tree.add_device(place, number, 4096, files);
    }
    let held = |device: &str| {
        let device = device.to_owned();
        vec![DeviceUse::HeldBy { device }]
    };
    #[rustfmt::skip]
    let expected = [
        ("sdb", DriveKind::Disk, vec![], held("md0")),
        ("md0", DriveKind::Raid, vec!["sdb", "sdc"], held("dm-0")),
        ("dm-0", DriveKind::DeviceMapper, vec!["md0"], vec![]),
    ];
    for (name, kind, slaves, users) in expected {
        let found = tree.read_device(name);
        assert_eq!((found.kind, found.users), (kind, users));
        assert_eq!(found.slaves, slaves);
    }
}

#[test]
fn device_list_includes_empty_slots_in_kernel_order() {
    let tree = hard_disk();
    let file = [("loop/backing_file", "/srv/image \n")];
    let order = "7 9 loop9 0\n7 10 loop10 0\n8 0 sda 1\n8 1 sda1 1\n8 2 sda2 1\n";
    tree.add_device("virtual/block/loop10", "7:10", 0, &[])
        .add_device("virtual/block/loop9", "7:9", 2048, &file)
        .write_file("proc/diskstats", order);
    let drives = list_block_devices(&tree.roots());
    let names: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
    assert_eq!(names, ["loop9", "loop10", "sda", "sda1", "sda2"]);
    assert_eq!(drives[0].backing_file.as_deref(), Some("/srv/image"));
    assert_eq!(drives[0].transport.as_deref(), Some("loop"));
    assert_eq!((drives[1].size_bytes, drives[1].kind), (0, DriveKind::Loop));
}

#[test]
fn host_link_reports_maximum_throughput() {
    const SATA: &str = "pci0/0000:00:17.0/ata1";
    const PCIE: &str = "pci0/0000:01:00.0";
    const USB: &str = "pci0/0000:00:14.0/usb1/1-2";
    #[rustfmt::skip]
    let attributes = [
        (SATA, "link1/ata_link/link1/sata_spd", "6.0 Gbps\n"),
        (PCIE, "current_link_speed", "16.0 GT/s PCIe\n"),
        (PCIE, "current_link_width", "4\n"),
        (USB, "bMaxPacketSize0", "64\n"),
        (USB, "speed", "480\n"),
    ];
    let tree = IdentityTree::new();
    for (place, name, text) in attributes {
        tree.write_file(&format!("sys/devices/{place}/{name}"), text);
    }
    #[rustfmt::skip]
    let cases = [
        (SATA, "host0/target0:0:0/0:0:0:0/block/sda", "SATA 6.0 Gbps", 600, Some(32)),
        (PCIE, "nvme/nvme0/nvme0n1", "PCIe 16.0 GT/s x4", 7876, None),
        (USB, "1-2:1.0/host6/6:0:0:0/block/sdb", "USB 480 Mbit/s bulk only", 35, Some(1)),
    ];
    for (place, disk, link, megabytes, max_queue_depth) in cases {
        tree.add_device(&format!("{place}/{disk}"), "8:0", 1 << 20, QUEUE_512E);
        let (_, name) = disk.rsplit_once('/').unwrap();
        let expected = HostLink {
            name: link.to_owned(),
            max_bytes_per_s: megabytes * 1_000_000,
            max_queue_depth,
        };
        assert_eq!(tree.read_device(name).details.link, Some(expected));
    }
}

#[test]
fn kernel_directory_is_empty_only_where_it_is_missing() {
    use crate::drive::identity::sysfs::list_directory;
    let tree = tempfile::tempdir().unwrap();
    std::fs::write(tree.path().join("b"), "").unwrap();
    std::fs::create_dir(tree.path().join("a")).unwrap();
    assert_eq!(list_directory(tree.path()).unwrap(), ["a", "b"]);
    for missing in ["c", "b/c"] {
        assert_eq!(list_directory(&tree.path().join(missing)).unwrap(), [""; 0]);
    }
    // A circle of links: an error that does not say that it is missing.
    symlink("loop", tree.path().join("loop")).unwrap();
    assert!(list_directory(&tree.path().join("loop")).is_err());
}

#[test]
fn volumes_have_the_names_that_their_managers_give_them() {
    #[rustfmt::skip]
    let cases = [
        ("dm-0", "253:0", ("dm/name", "vg0-my--data\n"), ("dm/uuid", "LVM-q1w2e3\n"), "vg0-my--data", Some(VolumeKind::Lvm)),
        ("dm-1", "253:1", ("dm/name", "home\n"), ("dm/uuid", "CRYPT-LUKS2-8d1c-home\n"), "home", Some(VolumeKind::Luks)),
        ("md127", "9:127", ("md/level", "raid1\n"), ("udev", "E:MD_DEVNAME=data\n"), "data", Some(VolumeKind::Raid)),
        // mdadm made a name of the number.
        ("md0", "9:0", ("md/level", "raid1\n"), ("udev", "E:MD_DEVNAME=0\n"), "software RAID", None),
    ];
    let tree = IdentityTree::new();
    for (device, number, one, other, label, kind) in cases {
        tree.add_device(
            &format!("virtual/block/{device}"),
            number,
            2048,
            &[one, other],
        )
        .write_file(&format!("run/udev/data/b{number}"), other.1);
        let drive = tree.read_device(device);
        assert_eq!(drive.label(), label);
        assert_eq!(drive.volume.map(|it| it.kind), kind, "{device}");
    }
}
