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

const QUEUE_512E: &[(&str, &str)] = &[
    ("queue/logical_block_size", "512\n"),
    ("queue/physical_block_size", "4096\n"),
    ("queue/rotational", "1\n"),
    ("queue/scheduler", "none [mq-deadline] kyber\n"),
    ("queue/read_ahead_kb", "128\n"),
    ("queue/max_sectors_kb", "1280\n"),
    ("queue/write_cache", "write back\n"),
    ("removable", "0\n"),
    ("ro", "0\n"),
    ("alignment_offset", "0\n"),
    ("device/vendor", "ATA     \n"),
    ("device/model", "WDC WD40EFRX-68N\n"),
    ("device/rev", "0A82\n"),
    ("device/queue_depth", "32\n"),
];

const SDA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";

fn hard_disk() -> IdentityTree {
    let tree = IdentityTree::new();
    tree.add_device(SDA, "8:0", 7_814_037_168, QUEUE_512E)
        .add_device(
            &format!("{SDA}/sda1"),
            "8:1",
            2048,
            &[("partition", "1\n"), ("start", "2048\n"), ("ro", "0\n")],
        )
        .add_device(
            &format!("{SDA}/sda2"),
            "8:2",
            4096,
            &[("partition", "2\n"), ("start", "63\n"), ("ro", "0\n")],
        )
        .write_file(
            "run/udev/data/b8:0",
            "E:ID_BUS=ata\nE:ID_MODEL=WDC_WD40EFRX-68N32N0\n\
             E:ID_MODEL_ENC=WDC\\x20WD40EFRX-68N32N0\\x20\\x20\nE:ID_SERIAL_SHORT=WD-WCC7K1\n\
             E:ID_REVISION=82.00A82\nE:ID_PART_TABLE_TYPE=gpt\n",
        )
        .write_file("run/udev/data/b8:1", "E:ID_FS_TYPE=ext4\n")
        .write_file(
            "proc/self/mountinfo",
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 8:1 /srv /mnt/a\\040b rw - ext4 /dev/sda1 rw\n",
        )
        .write_file("proc/swaps", "Filename Type Size Used Priority\n");
    tree
}

#[test]
fn sata_hard_disk_identity_is_read() {
    let drive = hard_disk().read_device("sda");
    assert_eq!(drive.kind, DriveKind::Disk);
    assert_eq!(drive.number, (8, 0));
    assert_eq!(drive.size_bytes, 4_000_787_030_016);
    assert_eq!(drive.logical_block_bytes, Some(512));
    assert_eq!(drive.physical_block_bytes, Some(4096));
    assert_eq!(drive.rotational, Some(true));
    assert_eq!(drive.vendor, None, "ATA is not a maker");
    assert_eq!(drive.model.as_deref(), Some("WDC WD40EFRX-68N32N0"));
    assert_eq!(drive.serial.as_deref(), Some("WD-WCC7K1"));
    assert_eq!(drive.firmware.as_deref(), Some("82.00A82"));
    assert_eq!(drive.transport.as_deref(), Some("sata"));
    assert_eq!(drive.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(drive.queue_depth, Some(32));
    assert_eq!(drive.read_ahead_kib, Some(128));
    assert_eq!(drive.max_request_kib, Some(1280));
    assert_eq!(drive.write_cache.as_deref(), Some("write back"));
    assert_eq!(drive.signature.as_deref(), Some("gpt"));
    assert_eq!(
        (drive.removable, drive.read_only),
        (Some(false), Some(false))
    );
    assert_eq!((drive.parent, drive.aligned), (None, None));
    assert!(drive.users.is_empty());
}

#[test]
fn partition_inherits_disk_identity_and_has_own_offset_and_users() {
    let tree = hard_disk();
    let first = tree.read_device("sda1");
    assert_eq!(first.kind, DriveKind::Partition);
    assert_eq!(first.parent.as_deref(), Some("sda"));
    assert_eq!(first.aligned, Some(true));
    assert_eq!(first.physical_block_bytes, Some(4096));
    assert_eq!(first.signature.as_deref(), Some("ext4"));
    let at = |path: &str| DeviceUse::Mounted {
        at: path.to_owned(),
        file_system: "ext4".to_owned(),
    };
    assert_eq!(first.users, [at("/"), at("/mnt/a b")]);
    let second = tree.read_device("sda2");
    assert_eq!(second.aligned, Some(false), "starts at sector 63");
    assert_eq!(second.signature, None);
}

#[test]
fn serial_without_udev_comes_from_vpd_page() {
    let tree = hard_disk();
    fs::remove_dir_all(tree.0.path().join("run")).unwrap();
    tree.write_file(
        &format!("sys/devices/{SDA}/device/vpd_pg80"),
        "\0\u{1}\0\u{8}WD-WCC7K1 ",
    );
    let drive = tree.read_device("sda");
    assert_eq!(drive.serial.as_deref(), Some("WD-WCC7K1"));
    assert_eq!(drive.model.as_deref(), Some("WDC WD40EFRX-68N"));
    assert_eq!(drive.firmware.as_deref(), Some("0A82"));
    assert_eq!(drive.signature, None);
}

#[test]
fn rotation_rate_comes_from_vpd_page() {
    let tree = hard_disk();
    for (rate, expected) in [
        ("\u{15}\u{18}", Some(5400)),
        ("\0\u{1}", None),
        ("\0\0", None),
    ] {
        let page = format!("\0\u{7f}\0\u{3c}{rate}\0\0");
        tree.write_file(&format!("sys/devices/{SDA}/device/vpd_pgb1"), &page);
        assert_eq!(tree.read_device("sda").rotation_rate, expected);
    }
}

#[test]
fn nvme_drive_with_hostile_model_name_is_escaped() {
    let tree = IdentityTree::new();
    tree.add_device(
        "pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0/nvme0n1",
        "259:0",
        1_953_525_168,
        &[
            ("queue/rotational", "0\n"),
            ("queue/scheduler", "[none] mq-deadline\n"),
            ("device/model", "Fast\x1b[31mSSD                      \n"),
            ("device/serial", "S64DNF0R\n"),
            ("device/firmware_rev", "2B4QFXO7\n"),
        ],
    );
    let drive = tree.read_device("nvme0n1");
    assert_eq!(drive.model.as_deref(), Some("Fast?[31mSSD"));
    assert_eq!(drive.serial.as_deref(), Some("S64DNF0R"));
    assert_eq!(drive.firmware.as_deref(), Some("2B4QFXO7"));
    assert_eq!(drive.transport.as_deref(), Some("nvme"));
    assert_eq!(drive.scheduler.as_deref(), Some("none"));
    assert_eq!(drive.queue_depth, None, "NVMe says nothing");
    assert_eq!(drive.logical_block_bytes, None, "no file, no number");
}

#[test]
fn virtio_drive_identity_is_read() {
    let tree = IdentityTree::new();
    tree.add_device(
        "pci0000:00/0000:00:02.0/virtio1/block/vda",
        "254:0",
        536_870_912,
        &[("device/vendor", "0x1af4\n"), ("serial", "vol-0a1b\n")],
    );
    let drive = tree.read_device("vda");
    assert_eq!(drive.transport.as_deref(), Some("virtio"));
    assert_eq!((drive.vendor, drive.model), (None, None));
    assert_eq!(drive.serial.as_deref(), Some("vol-0a1b"));
}

#[test]
fn device_mapper_on_raid_on_two_disks_lists_slaves_and_holders() {
    let tree = IdentityTree::new();
    let virtual_place = "virtual/block";
    for (name, dev) in [("sdb", "8:16"), ("sdc", "8:32")] {
        let location = format!("pci0/ata2/host1/{name}");
        tree.add_device(&location, dev, 2048, &[("holders/md0", "")]);
    }
    tree.add_device(
        &format!("{virtual_place}/md0"),
        "9:0",
        4096,
        &[
            ("md/level", "raid0\n"),
            ("slaves/sdc", ""),
            ("slaves/sdb", ""),
            ("holders/dm-0", ""),
        ],
    )
    .add_device(
        &format!("{virtual_place}/dm-0"),
        "252:0",
        4000,
        &[("dm/name", "vg-root\n"), ("slaves/md0", "")],
    )
    .write_file("proc/swaps", "Filename Type Size Used Priority\n");
    let held = |device: &str| DeviceUse::HeldBy {
        device: device.to_owned(),
    };
    assert_eq!(tree.read_device("sdb").users, [held("md0")]);
    let raid = tree.read_device("md0");
    assert_eq!(raid.kind, DriveKind::Raid);
    assert_eq!(raid.slaves, ["sdb", "sdc"]);
    assert_eq!(raid.users, [held("dm-0")]);
    let mapped = tree.read_device("dm-0");
    assert_eq!(mapped.kind, DriveKind::DeviceMapper);
    assert_eq!(mapped.slaves, ["md0"]);
    assert!(mapped.users.is_empty());
}

#[test]
fn device_list_includes_empty_slots_in_kernel_order() {
    let tree = hard_disk();
    tree.add_device("virtual/block/loop10", "7:10", 0, &[])
        .add_device(
            "virtual/block/loop9",
            "7:9",
            2048,
            &[("loop/backing_file", "/srv/image \n")],
        )
        .write_file(
            "proc/diskstats",
            "7 9 loop9 0\n7 10 loop10 0\n8 0 sda 1\n8 1 sda1 1\n8 2 sda2 1\n",
        );
    let drives = list_block_devices(&tree.roots());
    let names: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
    assert_eq!(names, ["loop9", "loop10", "sda", "sda1", "sda2"]);
    assert_eq!(drives[0].backing_file.as_deref(), Some("/srv/image"));
    assert_eq!(drives[0].transport.as_deref(), Some("loop"));
    assert_eq!((drives[1].size_bytes, drives[1].kind), (0, DriveKind::Loop));
}

#[test]
fn missing_device_reads_as_none() {
    assert_eq!(read_block_device(&IdentityTree::new().roots(), "sdz"), None);
    assert!(list_block_devices(&IdentityTree::new().roots()).is_empty());
}

#[test]
fn host_link_reports_maximum_throughput() {
    let tree = IdentityTree::new();
    let port = "pci0000:00/0000:00:17.0/ata1";
    tree.write_file(
        &format!("sys/devices/{port}/link1/ata_link/link1/sata_spd"),
        "6.0 Gbps\n",
    );
    let disk = format!("{port}/host0/target0:0:0/0:0:0:0/block/sda");
    tree.add_device(&disk, "8:0", 1 << 20, QUEUE_512E);
    let sda = tree.read_device("sda");
    let link = sda.details.link.unwrap();
    assert_eq!(
        (link.name.as_str(), link.max_bytes_per_s),
        ("SATA 6.0 Gbps", 600_000_000)
    );
    assert_eq!(link.max_queue_depth, Some(32));
    assert_eq!(sda.details.schedulers, ["none", "mq-deadline", "kyber"]);

    let slot = "pci0000:00/0000:01:00.0";
    tree.write_file(
        &format!("sys/devices/{slot}/current_link_speed"),
        "16.0 GT/s PCIe\n",
    );
    tree.write_file(&format!("sys/devices/{slot}/current_link_width"), "4\n");
    tree.add_device(&format!("{slot}/nvme/nvme0/nvme0n1"), "259:0", 1 << 20, &[]);
    let link = tree.read_device("nvme0n1").details.link.unwrap();
    assert_eq!(
        (link.name.as_str(), link.max_bytes_per_s),
        ("PCIe 16.0 GT/s x4", 7_876_000_000)
    );
}

#[test]
fn usb_2_stick_has_queue_depth_one() {
    let tree = IdentityTree::new();
    let port = "pci0000:00/0000:00:14.0/usb1/1-2";
    tree.write_file(&format!("sys/devices/{port}/bMaxPacketSize0"), "64\n");
    tree.write_file(&format!("sys/devices/{port}/speed"), "480\n");
    let disk = format!("{port}/1-2:1.0/host6/target6:0:0/6:0:0:0/block/sdb");
    tree.add_device(&disk, "8:16", 1 << 20, &[]);
    let link = tree.read_device("sdb").details.link.unwrap();
    assert_eq!(
        (link.max_bytes_per_s, link.max_queue_depth),
        (35_000_000, Some(1))
    );
}

#[test]
fn kernel_directory_is_empty_only_where_it_is_missing() {
    use crate::drive::identity::sysfs::list_directory;
    let tree = tempfile::tempdir().unwrap();
    std::fs::write(tree.path().join("b"), "").unwrap();
    std::fs::create_dir(tree.path().join("a")).unwrap();
    assert_eq!(list_directory(tree.path()).unwrap(), ["a", "b"]);
    let none: [&str; 0] = [];
    assert_eq!(list_directory(&tree.path().join("c")).unwrap(), none);
    assert_eq!(list_directory(&tree.path().join("b/c")).unwrap(), none);
    // A circle of links: an error that does not say that it is missing.
    std::os::unix::fs::symlink("loop", tree.path().join("loop")).unwrap();
    assert!(list_directory(&tree.path().join("loop")).is_err());
}

#[test]
fn volumes_have_the_names_that_their_managers_give_them() {
    let tree = IdentityTree::new();
    let mapped: [(&str, &str, &str, &str); 3] = [
        ("dm-0", "253:0", "vg0-my--data", "LVM-q1w2e3"),
        ("dm-1", "253:1", "home", "CRYPT-LUKS2-8d1c-home"),
        ("dm-2", "253:2", "mpatha", "mpath-36005"),
    ];
    for (name, number, dm_name, uuid) in mapped {
        let files = [
            ("dm/name", &*format!("{dm_name}\n")),
            ("dm/uuid", &*format!("{uuid}\n")),
        ];
        tree.add_device(&format!("virtual/block/{name}"), number, 2048, &files);
    }
    let volume = |name: &str| {
        let drive = tree.read_device(name);
        let label = drive.label();
        drive.volume.map(|it| (it.name, it.kind, label))
    };
    let expected = |name: &str, kind| Some((name.to_owned(), kind, name.to_owned()));
    assert_eq!(volume("dm-0"), expected("vg0-my--data", VolumeKind::Lvm));
    assert_eq!(volume("dm-1"), expected("home", VolumeKind::Luks));
    assert_eq!(volume("dm-2"), expected("mpatha", VolumeKind::Multipath));
}

#[test]
fn raid_is_named_by_udev() {
    let tree = IdentityTree::new();
    let array = |name: &str, number: &str| {
        let place = format!("virtual/block/{name}");
        tree.add_device(&place, number, 2048, &[("md/level", "raid1\n")]);
    };
    array("md0", "9:0");
    array("md127", "9:127");
    tree.write_file("run/udev/data/b9:0", "E:MD_DEVNAME=0\n")
        .write_file("run/udev/data/b9:127", "E:MD_DEVNAME=data\n");
    let name = |name: &str| tree.read_device(name).volume.map(|it| it.name);
    assert_eq!(name("md127").as_deref(), Some("data"));
    assert_eq!(name("md0"), None, "mdadm made a name of the number");
    assert_eq!(tree.read_device("md0").label(), "software RAID");
}

#[test]
fn name_by_id_is_the_one_with_model_and_serial_number() {
    let tree = hard_disk();
    tree.write_file(
        "run/udev/data/b8:0",
        "S:disk/by-id/wwn-0x5\nS:disk/by-path/pci-0\nS:disk/by-id/ata-WDC_WD40EFRX_WD-1\n",
    );
    let by_id = tree.read_device("sda").by_id;
    assert_eq!(by_id.as_deref(), Some("ata-WDC_WD40EFRX_WD-1"));
}
