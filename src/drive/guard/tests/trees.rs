//! The search for users of a device on test trees of /sys and /proc, as a kernel with
//! device-mapper, md and partitions reports them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::drive::guard::conflicts;
use crate::drive::guard::conflicts::medium_usage::MediumUsage;

/// A test tree in its own temporary directory.
struct GuardTree(tempfile::TempDir);

impl GuardTree {
    /// A kernel without devices, and with these mounts.
    fn new(mountinfo: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write_file("proc/self/mountinfo", mountinfo);
        tree.write_file("proc/swaps", "Filename Type Size Used Priority\n");
        fs::create_dir_all(tree.0.path().join("sys/class/block")).unwrap();
        tree
    }

    fn write_file(&self, path: &str, text: &str) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Adds a device below /sys/devices, with its number and its holders.
    fn add_device(&self, directory: &str, number: &str, holders: &[&str]) -> &Self {
        let own = format!("sys/devices/{directory}");
        self.write_file(&format!("{own}/dev"), &format!("{number}\n"));
        self.write_file(&format!("{own}/size"), "2048\n");
        let holding = self.0.path().join(&own).join("holders");
        fs::create_dir_all(&holding).unwrap();
        for holder in holders {
            symlink("elsewhere", holding.join(holder)).unwrap();
        }
        let name = Path::new(directory).file_name().unwrap();
        let class = self.0.path().join("sys/class/block").join(name);
        symlink(self.0.path().join(&own), class).unwrap();
        self
    }

    /// Adds a partition of a device, with its number and its holders.
    fn add_partition(&self, directory: &str, number: &str, holders: &[&str]) -> &Self {
        self.write_file(&format!("sys/devices/{directory}/partition"), "1\n");
        let index: u64 = number.split(':').next_back().unwrap().parse().unwrap();
        let start = format!("{}\n", index * 2048);
        self.write_file(&format!("sys/devices/{directory}/start"), &start);
        self.add_device(directory, number, holders)
    }

    /// Moves a partition to other sectors of its disk.
    fn place_partition(&self, directory: &str, start: u64, size: u64) -> &Self {
        self.write_file(
            &format!("sys/devices/{directory}/start"),
            &format!("{start}\n"),
        );
        self.write_file(
            &format!("sys/devices/{directory}/size"),
            &format!("{size}\n"),
        );
        self
    }

    /// Adds a device on others.
    fn add_upper_device(&self, name: &str, number: &str, lower: &[&str]) -> &Self {
        self.add_device(&format!("virtual/block/{name}"), number, &[]);
        for one in lower {
            self.write_file(
                &format!("sys/devices/virtual/block/{name}/slaves/{one}"),
                "",
            );
            let holders = self.0.path().join("sys/class/block").join(one);
            fs::write(holders.join("holders").join(name), "").unwrap();
        }
        self
    }

    /// Gives a disk an identifier.
    fn identify_disk(&self, directory: &str, wwid: &str) -> &Self {
        let file = format!("sys/devices/{directory}/device/wwid");
        self.write_file(&file, &format!("{wwid}\n"));
        self
    }

    fn find_usage(&self, number: (u32, u32)) -> MediumUsage {
        let roots = SysPaths::under_root(self.0.path());
        let id = FileId::Device(number.0, number.1);
        conflicts::find_usage_in_tables(&roots, id, "/dev/target").unwrap()
    }

    /// The conflicts of the device with that number, as text.
    fn conflicts(&self, number: (u32, u32)) -> Vec<String> {
        let found = self.find_usage(number);
        found.conflicts.iter().map(ToString::to_string).collect()
    }

    /// The other devices that are held while the device with that number is written.
    fn aliases(&self, number: (u32, u32)) -> Vec<String> {
        let found = self.find_usage(number);
        found.aliases.into_iter().map(|one| one.name).collect()
    }
}

#[test]
fn mounted_partition_conflicts_with_disk_and_itself_only() {
    let tree = GuardTree::new("30 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_partition("host0/block/sda/sda1", "8:1", &[])
        .add_partition("host0/block/sda/sda2", "8:2", &[]);
    assert_eq!(tree.conflicts((8, 0)), ["sda1 is mounted at /srv"]);
    assert_eq!(tree.conflicts((8, 1)), ["sda1 is mounted at /srv"]);
    assert!(tree.conflicts((8, 2)).is_empty());
}

#[test]
fn mounted_disk_conflicts_with_its_partitions() {
    let tree = GuardTree::new("30 1 8:0 / /srv rw - ext4 /dev/sda rw\n");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_partition("host0/block/sda/sda1", "8:1", &[]);
    assert_eq!(tree.conflicts((8, 1)), ["sda is mounted at /srv"]);
}

#[test]
fn device_mapper_on_partition_conflicts_with_all_lower_devices() {
    // LVM on dm-crypt on sda1, mounted.
    let tree = GuardTree::new("30 1 253:1 / /home rw - xfs /dev/mapper/vg-home rw\n");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_partition("host0/block/sda/sda1", "8:1", &["dm-0"])
        .add_device("virtual/block/dm-0", "253:0", &["dm-1"])
        .add_device("virtual/block/dm-1", "253:1", &[]);
    let below = [
        "dm-1 is mounted at /home",
        "dm-1 is stacked on dm-0",
        "dm-0 is stacked on sda1",
    ];
    for number in [(8, 0), (8, 1)] {
        let mut found = tree.conflicts(number);
        found.sort_by_key(|line| below.iter().position(|known| known == line));
        assert_eq!(found, below, "{number:?}");
    }
    assert_eq!(tree.conflicts((253, 0)).len(), 2);
    assert_eq!(tree.conflicts((253, 1)), ["dm-1 is mounted at /home"]);
}

#[test]
fn idle_raid_member_conflicts() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &["md0"])
        .add_device("host1/block/sdb", "8:16", &["md0"])
        .add_device("virtual/block/md0", "9:0", &[]);
    for number in [(8, 0), (8, 16)] {
        assert_eq!(tree.conflicts(number).len(), 1, "{number:?}");
    }
    assert!(tree.conflicts((9, 0)).is_empty(), "the idle array itself");
}

#[test]
fn device_unknown_to_sysfs_is_refused() {
    let tree = GuardTree::new("");
    let roots = SysPaths::under_root(tree.0.path());
    let refused = conflicts::find_usage_in_tables(&roots, FileId::Device(8, 0), "/dev/target");
    assert!(matches!(refused, Err(Refusal::UseUnknown { .. })));
}

#[test]
fn second_path_of_disk_in_use_conflicts() {
    let tree = GuardTree::new("30 1 8:17 / /srv rw - ext4 /dev/sdb1 rw\n");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_partition("host0/block/sda/sda1", "8:1", &[])
        .add_partition("host0/block/sda/sda2", "8:2", &[])
        .add_device("host1/block/sdb", "8:16", &[])
        .add_partition("host1/block/sdb/sdb1", "8:17", &[])
        .add_device("host2/block/sdc", "8:32", &[]);
    // In this tree the partition 8:17 is at the same location as 8:1.
    tree.write_file("sys/devices/host1/block/sdb/sdb1/start", "2048\n");
    for (disk, wwid) in [
        ("0/block/sda", "naa.5"),
        ("1/block/sdb", "naa.5"),
        ("2/block/sdc", "naa.6"),
    ] {
        tree.write_file(
            &format!("sys/devices/host{disk}/device/wwid"),
            &format!("{wwid}\n"),
        );
    }
    let expected =
        "sdb is in use and has, or may have, the same sectors of the disk that is also sda";
    assert_eq!(
        tree.conflicts((8, 0)),
        ["sdb1 is mounted at /srv", expected]
    );
    assert_eq!(
        tree.conflicts((8, 1)),
        ["sdb1 is mounted at /srv", expected]
    );
    assert!(tree.conflicts((8, 2)).is_empty(), "the other partition");
    assert!(tree.conflicts((8, 32)).is_empty(), "another disk");
}

#[test]
fn disks_with_missing_or_zero_identity_are_distinct() {
    let tree = GuardTree::new("30 1 8:16 / /srv rw - ext4 /dev/sdb rw\n");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_device("host1/block/sdb", "8:16", &[]);
    for disk in ["0/block/sda", "1/block/sdb"] {
        tree.write_file(
            &format!("sys/devices/host{disk}/device/wwid"),
            "0000000000000000\n",
        );
        tree.write_file(&format!("sys/devices/host{disk}/serial"), "\n");
    }
    assert!(tree.conflicts((8, 0)).is_empty());
}

#[test]
fn mapped_device_with_unknown_sectors_conflicts_with_mounted_sibling() {
    let tree = GuardTree::new("30 1 253:1 / /home rw - xfs /dev/mapper/home rw\n");
    tree.add_device("host0/block/sda", "8:0", &["dm-0", "dm-1"])
        .add_device("virtual/block/dm-0", "253:0", &[])
        .add_device("virtual/block/dm-1", "253:1", &[]);
    for map in ["dm-0", "dm-1"] {
        tree.write_file(&format!("sys/devices/virtual/block/{map}/slaves/sda"), "");
    }
    assert_eq!(
        tree.conflicts((253, 0)),
        [
            "dm-1 is mounted at /home",
            "dm-1 is in use and has, or may have, the same sectors of sda"
        ]
    );
}

#[test]
fn appearing_alias_device_is_reported_by_kind() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &["dm-0", "dm-1"])
        .add_device("host1/block/sdb", "8:16", &[])
        .add_device("virtual/block/dm-0", "253:0", &[])
        .add_device("virtual/block/dm-1", "253:1", &[]);
    for map in ["dm-0", "dm-1"] {
        tree.write_file(&format!("sys/devices/virtual/block/{map}/slaves/sda"), "");
    }
    for disk in ["0/block/sda", "1/block/sdb"] {
        let wwid = format!("sys/devices/host{disk}/device/wwid");
        tree.write_file(&wwid, "naa.5\n");
    }
    let roots = SysPaths::under_root(tree.0.path());
    let found =
        conflicts::find_usage_in_tables(&roots, FileId::Device(253, 0), "/dev/target").unwrap();
    assert!(found.conflicts.is_empty(), "{:?}", found.conflicts);
    let words: Vec<String> = found
        .aliases
        .iter()
        .map(|alias| alias.conflict().to_string())
        .collect();
    let expected = [
        "dm-1 is stacked on sda",
        "sdb, which appeared meanwhile, is another path to the disk sda",
    ];
    assert_eq!(words, expected);
}

/// Two partitions, and a third that overlaps the second.
fn add_overlapping_partitions(tree: &GuardTree, disk: &str, major: u32) {
    let directory = |number: u32| format!("host0/block/{disk}/{disk}{number}");
    tree.add_device(&format!("host0/block/{disk}"), &format!("{major}:0"), &[]);
    for (number, start, size) in [(1, 2048, 2048), (2, 8192, 4096), (3, 10_240, 8192)] {
        tree.add_partition(&directory(number), &format!("{major}:{number}"), &[])
            .place_partition(&directory(number), start, size);
    }
}

#[test]
fn partitions_of_a_disk_below_stacked_devices_conflict() {
    for upper in ["dm-0", "md0", "bcache0"] {
        let tree = GuardTree::new("30 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n");
        tree.add_device("host0/block/sda", "8:0", &[])
            .add_partition("host0/block/sda/sda1", "8:1", &[])
            .add_device("host1/block/sdb", "8:16", &[])
            .add_upper_device(upper, "253:0", &["sdb", "sda"])
            .add_upper_device("dm-1", "253:1", &[upper]);
        assert_eq!(tree.conflicts((253, 1)), ["sda1 is mounted at /srv"]);
        let stacked = format!("dm-1 is stacked on {upper}");
        let expected = ["sda1 is mounted at /srv", &stacked];
        assert_eq!(tree.conflicts((253, 0)), expected);
        for number in [(253, 0), (253, 1)] {
            // The upper device holds the whole disk.
            assert_eq!(tree.aliases(number), [""; 0]);
        }
    }
}

#[test]
fn partitions_of_all_paths_below_a_multipath_device_conflict() {
    for used in ["8:1", "8:17"] {
        let tree = GuardTree::new(&format!("30 1 {used} / /srv rw - ext4 /dev/used rw\n"));
        tree.add_device("host0/block/sda", "8:0", &[])
            .add_partition("host0/block/sda/sda1", "8:1", &[])
            .add_device("host1/block/sdb", "8:16", &[])
            .add_partition("host1/block/sdb/sdb1", "8:17", &[])
            .identify_disk("host0/block/sda", "naa.5")
            .identify_disk("host1/block/sdb", "naa.5")
            .add_upper_device("dm-0", "253:0", &["sda", "sdb"]);
        let found = tree.conflicts((253, 0));
        assert!(found.iter().any(|it| it.contains("is mounted at /srv")));
        assert_eq!(tree.aliases((253, 0)), [""; 0]);
    }
}

#[test]
fn partition_that_overlaps_any_lower_partition_conflicts() {
    let tree = GuardTree::new("30 1 8:3 / /srv rw - ext4 /dev/sda3 rw\n");
    add_overlapping_partitions(&tree, "sda", 8);
    tree.add_upper_device("dm-0", "253:0", &["sda1", "sda2"])
        .add_upper_device("dm-1", "253:1", &["sda1"]);
    assert_eq!(tree.conflicts((253, 0)), ["sda3 is mounted at /srv"]);
    let others = ["dm-0 is stacked on sda2", "sda3 is mounted at /srv"];
    assert_eq!(tree.conflicts((8, 2)), [others[1], others[0]]);
    let disjoint = tree.conflicts((253, 1));
    assert!(!disjoint.contains(&others[1].to_owned()), "{disjoint:?}");
}

#[test]
fn overlapping_partitions_are_held() {
    let tree = GuardTree::new("");
    add_overlapping_partitions(&tree, "sda", 8);
    assert_eq!(tree.aliases((8, 1)), [""; 0]);
    assert_eq!(tree.aliases((8, 2)), ["sda3"]);
    assert_eq!(tree.aliases((8, 3)), ["sda2"]);
    assert_eq!(tree.aliases((8, 0)), [""; 0], "the disk itself is held");
    tree.add_upper_device("md0", "9:0", &["sda1", "sda2"]);
    assert_eq!(tree.aliases((9, 0)), ["sda3"]);
}

/// A disk of 2 GiB with the extended partition 2, as the kernel shows it, and the logical partitions
/// 5 and 6.
fn add_logical_partitions(tree: &GuardTree, disk: &str, major: u32) {
    let own = format!("host0/block/{disk}");
    tree.add_device(&own, &format!("{major}:0"), &[]);
    tree.write_file(&format!("sys/devices/{own}/size"), "4194304\n");
    let parts = [
        (1, 2048, 100_000),
        (2, 110_592, 2),
        (5, 112_640, 100_000),
        (6, 260_000, 100_000),
    ];
    for (number, start, size) in parts {
        let directory = format!("{own}/{disk}{number}");
        tree.add_partition(&directory, &format!("{major}:{number}"), &[])
            .place_partition(&directory, start, size)
            .write_file(
                &format!("sys/devices/{directory}/partition"),
                &format!("{number}\n"),
            );
    }
}

#[test]
fn partition_with_the_table_of_a_used_one_conflicts() {
    let tree = GuardTree::new("30 1 8:5 / /srv rw - ext4 /dev/sda5 rw\n");
    add_logical_partitions(&tree, "sda", 8);
    add_logical_partitions(&tree, "sdb", 65);
    let expected = [
        "sda5 is mounted at /srv",
        "the target has sectors of the partition table of sda, without which sda5 is lost",
    ];
    assert_eq!(tree.conflicts((8, 2)), expected);
    for ordinary in [1, 6] {
        assert!(tree.conflicts((8, ordinary)).is_empty(), "{ordinary}");
        assert_eq!(tree.aliases((8, ordinary)), [""; 0]);
    }
    // Held so that they cannot be used meanwhile.
    assert!(tree.conflicts((65, 2)).is_empty());
    assert_eq!(tree.aliases((65, 2)), ["sdb5", "sdb6"]);
    // An image of a CD: the first partition has the first sector.
    tree.place_partition("host0/block/sdb/sdb1", 0, 100_000);
    assert_eq!(tree.aliases((65, 1)), ["sdb2", "sdb5", "sdb6"]);
    tree.add_upper_device("md0", "9:0", &["sda2"]);
    assert_eq!(tree.conflicts((9, 0)), expected);
    // The same table by another path.
    let tree = GuardTree::new("30 1 65:5 / /srv rw - ext4 /dev/sdb5 rw\n");
    for (disk, major) in [("sda", 8), ("sdb", 65)] {
        add_logical_partitions(&tree, disk, major);
        tree.identify_disk(&format!("host0/block/{disk}"), "naa.5");
    }
    let found = tree.conflicts((8, 2));
    assert!(
        found.contains(&"sdb5 is mounted at /srv".to_owned()),
        "{found:?}"
    );
    assert!(tree.conflicts((8, 6)).is_empty());
}

#[test]
fn second_path_conflicts_whatever_other_lower_devices_there_are() {
    let tree_with = |used: &str, lower: &[&str]| {
        let tree = GuardTree::new(&format!("30 1 {used} / /srv rw - ext4 /dev/used rw\n"));
        for (disk, major) in [("sda", 8), ("sdb", 65), ("sdc", 66)] {
            add_overlapping_partitions(&tree, disk, major);
        }
        tree.identify_disk("host0/block/sdb", "naa.5")
            .identify_disk("host0/block/sdc", "naa.5")
            .add_upper_device("dm-0", "253:0", lower);
        tree
    };
    let cases: [(&str, &[&str], bool); 6] = [
        ("66:1", &["sda1", "sdb"], true),
        ("66:2", &["sdb1", "sdb2"], true),
        ("65:2", &["sdb1", "sdc2"], true),
        ("66:1", &["sdb1", "sdc2"], true),
        ("66:3", &["sda3", "sdb1"], false),
        ("65:3", &["sdc1"], false),
    ];
    for (used, lower, is_conflict) in cases {
        let found = tree_with(used, lower).conflicts((253, 0));
        let is_found = found.iter().any(|it| it.contains("is mounted at /srv"));
        assert_eq!(is_found, is_conflict, "{used} {lower:?}: {found:?}");
    }
    let tree = tree_with("1:1", &["sdb1", "sdb2"]);
    assert_eq!(tree.aliases((253, 0)), ["sdb3", "sdc1", "sdc2", "sdc3"]);
    let tree = tree_with("1:1", &["sda1", "sdb"]);
    assert_eq!(tree.aliases((253, 0)), ["sdc"]);
}

#[test]
fn device_on_flash_memory_is_unresolved() {
    let tree = GuardTree::new("");
    tree.add_device("mtd/mtd0/mtdblock0", "31:0", &[])
        .add_device("mtd/mtd1/ftla", "44:0", &[])
        .add_partition("mtd/mtd1/ftla/ftla1", "44:1", &[])
        .add_device("host0/block/sda", "8:0", &[])
        .add_upper_device("dm-0", "253:0", &["sda", "mtdblock0"])
        .add_upper_device("dm-1", "253:1", &["sda"]);
    let subsystem = tree.0.path().join("sys/class/mtd");
    fs::create_dir_all(&subsystem).unwrap();
    let device = tree.0.path().join("sys/devices/mtd/mtd1");
    symlink(&device, device.join("ftla/device")).unwrap();
    symlink(&subsystem, device.join("subsystem")).unwrap();
    for (number, name) in [
        ((31, 0), "mtdblock0"),
        ((44, 0), "ftla"),
        ((44, 1), "ftla"),
        ((253, 0), "mtdblock0"),
    ] {
        let questions = tree.find_usage(number).unresolved;
        assert_eq!(questions.len(), 1, "{questions:?}");
        let text = questions[0].to_string();
        assert!(text.contains(&format!("flash memory of {name}")), "{text}");
    }
    assert!(tree.find_usage((253, 1)).unresolved.is_empty());
}

#[test]
fn btrfs_member_conflicts_whichever_device_mount_names() {
    let tree = GuardTree::new("30 1 0:40 / /srv rw - btrfs /dev/sda rw\n");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_device("host1/block/sdb", "8:16", &[]);
    for member in ["sda", "sdb"] {
        tree.write_file(&format!("sys/fs/btrfs/0123-4567/devices/{member}"), "");
    }
    let expected = ["sdb belongs to the mounted file system btrfs 0123-4567"];
    assert_eq!(tree.conflicts((8, 16)), expected);
}

#[test]
fn exported_device_conflicts_and_unknown_export_is_unresolved() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[]);
    let file = tree.0.path().join("image");
    fs::write(&file, "content").unwrap();
    // The image is there before the export is set up.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let space = "sys/kernel/config/nvmet/subsystems/nqn.test/namespaces/1";
    tree.write_file(&format!("{space}/enable"), "1\n");
    tree.write_file(&format!("{space}/device_path"), "/nonexistent/sda\n");
    let roots = SysPaths::under_root(tree.0.path());
    let find =
        || conflicts::find_usage_in_tables(&roots, FileId::Device(8, 0), "/dev/target").unwrap();
    let questions: Vec<String> = find().unresolved.iter().map(ToString::to_string).collect();
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert!(
        questions[0].starts_with("what nvmet subsystem nqn.test exports"),
        "{questions:?}"
    );
    tree.write_file(&format!("{space}/enable"), "0\n");
    assert!(find().unresolved.is_empty());

    tree.write_file(&format!("{space}/enable"), "1\n");
    tree.write_file(
        &format!("{space}/device_path"),
        &format!("{}\n", file.display()),
    );
    let id = FileId::of_metadata(&fs::metadata(&file).unwrap());
    let found = conflicts::find_usage_in_tables(&roots, id, "image").unwrap();
    let found: Vec<String> = found.conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["nvmet subsystem nqn.test exports image"]);

    // The path leads elsewhere by now: the kernel still has the first file.
    let moved = tree.0.path().join("moved");
    fs::rename(&file, &moved).unwrap();
    fs::write(&file, "another").unwrap();
    let found = conflicts::find_usage_in_tables(&roots, id, "moved").unwrap();
    assert_eq!(found.unresolved.len(), 1, "{:?}", found.unresolved);
}

#[test]
fn scsi_target_exports_what_it_opened_and_its_attributes_export_nothing() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[]);
    let file = tree.0.path().join("image");
    fs::write(&file, "content").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let backend = "sys/kernel/config/target/core/fileio_0";
    tree.write_file(&format!("{backend}/hba_info"), "HBA Index: 1\n");
    tree.write_file(&format!("{backend}/hba_mode"), "0\n");
    let roots = SysPaths::under_root(tree.0.path());
    let id = FileId::of_metadata(&fs::metadata(&file).unwrap());
    let find = |name: &str| conflicts::find_usage_in_tables(&roots, id, name).unwrap();
    assert!(find("image").unresolved.is_empty());

    let info = format!(
        "Status: ACTIVATED\n  TCM FILEIO ID: 0  File: {}  Size: 7\n",
        file.display()
    );
    tree.write_file(&format!("{backend}/store/info"), &info);
    tree.write_file(&format!("{backend}/store/enable"), "1\n");
    let found: Vec<String> = find("image")
        .conflicts
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, ["SCSI target fileio_0/store exports image"]);
    fs::rename(&file, tree.0.path().join("moved")).unwrap();
    fs::write(&file, "another").unwrap();
    let found = find("moved");
    assert_eq!(found.unresolved.len(), 1, "{:?}", found.unresolved);
    tree.write_file(&format!("{backend}/store/enable"), "0\n");
    assert!(find("moved").unresolved.is_empty());
}

#[test]
fn loaded_target_module_without_configfs_is_unresolved() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[]);
    tree.write_file("sys/module/nvmet/refcnt", "1\n");
    let roots = SysPaths::under_root(tree.0.path());
    let found =
        conflicts::find_usage_in_tables(&roots, FileId::Device(8, 0), "/dev/target").unwrap();
    assert_eq!(found.unresolved.len(), 1, "{:?}", found.unresolved);
}

/// A disk that an exporter of this machine serves has the bytes of what is exported.
#[test]
fn disk_that_this_machine_serves_to_itself_is_in_use_with_what_it_has_its_bytes_from() {
    let serial = "3D1f8a52-0c77-4b1e-9d0a-5f6e7d8c9bab";
    let uuid = "b1f3b6c0-c519-4a6a-8c70-0d9f4c97bf0f";
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sdb", "8:16", &[])
        .add_device("host1/block/sdc", "8:32", &[])
        .add_device("nvme-subsystem/nvme1n1", "259:1", &[]);
    let block = "sys/class/block";
    tree.write_file(
        &format!("{block}/sdb/device/wwid"),
        "naa.60014053d1f8a520c774b1e9d0a5f6e7\n",
    );
    tree.write_file(
        &format!("{block}/sdc/device/wwid"),
        "naa.60014053d1f8a520c774b1e9d0a5f6e8\n",
    );
    tree.write_file(&format!("{block}/nvme1n1/wwid"), &format!("uuid.{uuid}\n"));
    let file = tree.0.path().join("image");
    fs::write(&file, "content").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let store = "sys/kernel/config/target/core/fileio_0/store";
    let info = format!(
        "Status: ACTIVATED\n  TCM FILEIO ID: 0  File: {}  Size: 7\n",
        file.display()
    );
    let serial = format!("T10 VPD Unit Serial Number: {serial}\n");
    let space = "sys/kernel/config/nvmet/subsystems/nqn.one/namespaces/1";
    tree.write_file(&format!("{store}/wwn/vpd_unit_serial"), &serial);
    tree.write_file(&format!("{store}/info"), &info);
    tree.write_file(&format!("{store}/enable"), "1\n");
    let roots = SysPaths::under_root(tree.0.path());
    let (sdb, sdc, nvme) = (
        FileId::Device(8, 16),
        FileId::Device(8, 32),
        FileId::Device(259, 1),
    );
    let find = |id: FileId| {
        let found = conflicts::find_usage_in_tables(&roots, id, "target").unwrap();
        let conflicts: Vec<String> = found.conflicts.iter().map(ToString::to_string).collect();
        (conflicts, found.unresolved.len())
    };
    let image = file.display();
    let by_nvme = format!("nvmet subsystem nqn.one exports {image}");
    let by_scsi = format!("SCSI target fileio_0/store exports {image}");
    let unused = (Vec::new(), 0);
    assert_eq!(find(sdb), unused, "its exporter alone uses the file");

    // Two exporters of one file: each is a user of the other one's disk.
    tree.write_file(&format!("{space}/device_uuid"), &format!("{uuid}\n"));
    tree.write_file(&format!("{space}/device_path"), &format!("{image}\n"));
    tree.write_file(&format!("{space}/enable"), "1\n");
    assert_eq!(find(sdb), (vec![by_nvme], 0));
    assert_eq!(find(nvme), (vec![by_scsi], 0));
    assert_eq!(find(sdc), unused, "another serial number");

    fs::rename(&file, tree.0.path().join("moved")).unwrap();
    fs::write(&file, "another").unwrap();
    assert!(find(sdb).1 > 0, "its bytes are in an unknown file");
}

#[test]
fn device_is_unresolved_while_the_pnfs_client_uses_disks() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[]);
    let file = tree.0.path().join("file");
    fs::write(&file, "content").unwrap();
    let file = FileId::of_metadata(&fs::metadata(&file).unwrap());
    let roots = SysPaths::under_root(tree.0.path());
    let unresolved = |id: FileId| {
        let found = conflicts::find_usage_in_tables(&roots, id, "target").unwrap();
        assert!(found.conflicts.is_empty(), "{:?}", found.conflicts);
        found.unresolved.len()
    };
    let disk = FileId::Device(8, 0);
    assert_eq!((unresolved(disk), unresolved(file)), (0, 0), "not loaded");
    for (users, expected) in [("0\n", 0), ("1\n", 1)] {
        tree.write_file("sys/module/blocklayoutdriver/refcnt", users);
        assert_eq!((unresolved(disk), unresolved(file)), (expected, 0));
    }
}

#[test]
fn exports_by_sysfs_and_heartbeats_conflict_with_their_devices() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_partition("host0/block/sda/sda1", "8:1", &[])
        .add_device("host1/block/sdb", "8:16", &[])
        .add_device("nvme/nvme0/nvme0n1", "259:0", &[])
        .add_device("nvme-subsystem/nvme1n2", "259:1", &[]);
    let config = "sys/kernel/config";
    let region = format!("{config}/cluster/one/heartbeat/ABCD");
    let backend = "sys/bus/xen-backend/devices/vbd-3-51712";
    let gadget = "sys/class/udc/dummy_udc.0/device/gadget.0/lun0/file";
    let passthru = format!("{config}/nvmet/subsystems/nqn.one/passthru");
    let file = tree.0.path().join("image");
    fs::write(&file, "content").unwrap();
    let id = FileId::of_metadata(&fs::metadata(&file).unwrap());
    let disk = tree.0.path().join("disk");
    fs::write(&disk, "content").unwrap();
    let disk_id = FileId::of_metadata(&fs::metadata(&disk).unwrap());
    let controller = tree.0.path().join("dev/nvme0");
    let second = tree.0.path().join("dev/nvme1");
    let node = |path: &Path| format!("{}\n", path.display());
    fs::create_dir_all(tree.0.path().join("sys/class/nvme/nvme0/nvme0n1")).unwrap();
    fs::create_dir_all(tree.0.path().join("sys/class/nvme/nvme1/nvme1c1n2")).unwrap();
    tree.write_file(&format!("{passthru}/device_path"), &node(&controller));
    let (sda, sda1) = (FileId::Device(8, 0), FileId::Device(8, 1));
    let space = FileId::Device(259, 0);
    let multipath = FileId::Device(259, 1);
    let steps = [
        (format!("{region}/dev"), "", "sda1\n".to_owned(), sda1),
        (
            format!("{backend}/physical_device"),
            "0:0\n",
            "8:10\n".to_owned(),
            FileId::Device(8, 16),
        ),
        (gadget.to_owned(), "", node(&file), id),
        (
            "sys/kernel/scst_tgt/devices/disk1/filename".to_owned(),
            "\n[key]\n",
            node(&disk) + "[key]\n",
            disk_id,
        ),
        (format!("{passthru}/enable"), "0\n", "1\n".to_owned(), space),
    ];
    let words = [
        "OCFS2 heartbeat region ABCD writes to sda1",
        "Xen backend vbd-3-51712 exports sdb",
        "USB gadget of dummy_udc.0 exports target",
        "SCST device disk1 exports target",
        "nvmet subsystem nqn.one exports nvme0n1",
    ];
    let roots = SysPaths::under_root(tree.0.path());
    let find = |id: FileId| {
        let found = conflicts::find_usage_in_tables(&roots, id, "target").unwrap();
        assert!(found.unresolved.is_empty(), "{:?}", found.unresolved);
        let words: Vec<String> = found.conflicts.iter().map(ToString::to_string).collect();
        words
    };
    for ((path, off, on, id), expected) in steps.into_iter().zip(words) {
        tree.write_file(&path, off);
        assert!(find(id).is_empty(), "{expected}");
        tree.write_file(&path, &on);
        assert_eq!(find(id), [expected]);
    }
    assert_eq!(find(sda), ["OCFS2 heartbeat region ABCD writes to sda1"]);
    tree.write_file(&format!("{passthru}/device_path"), &node(&second));
    assert_eq!(find(multipath), ["nvmet subsystem nqn.one exports nvme1n2"]);
    assert!(find(space).is_empty());

    let served = tree.0.path().join("sys/class/rnbd-server/ctl/devices/sdb");
    fs::create_dir_all(&served).unwrap();
    symlink(
        "../../../../../devices/host1/block/sdb",
        served.join("block_dev"),
    )
    .unwrap();
    assert!(
        find(FileId::Device(8, 16)).contains(&"RNBD server, device sdb exports sdb".to_owned())
    );

    assert_scst_devices_are_exported(&tree, &find);

    // What cannot be followed may be any device.
    tree.write_file(&format!("{passthru}/device_path"), "dev/nvme0\n");
    let found = conflicts::find_usage_in_tables(&roots, sda, "target").unwrap();
    assert_eq!(found.unresolved.len(), 1, "{:?}", found.unresolved);
}

/// A SCSI device that SCST passes commands on to, and a drive without a medium.
fn assert_scst_devices_are_exported(tree: &GuardTree, find: &dyn Fn(FileId) -> Vec<String>) {
    let scst = "sys/kernel/scst_tgt/devices";
    tree.write_file(&format!("{scst}/cd/filename"), "none\n\n");
    let device = tree.0.path().join(scst).join("0:0:0:0");
    fs::create_dir_all(device.join("scsi_device/device/block/sda")).unwrap();
    let is_exported = || {
        let words = "SCST device 0:0:0:0 exports sda";
        find(FileId::Device(8, 0))
            .iter()
            .any(|found| found == words)
    };
    assert!(!is_exported());
    symlink("../../handlers/dev_disk", device.join("handler")).unwrap();
    assert!(is_exported());
}

#[test]
fn scst_device_whose_file_cannot_be_read_may_be_any() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[]);
    let roots = SysPaths::under_root(tree.0.path());
    let place = tree.0.path().join("sys/kernel/scst_tgt/devices/disk1");
    // Reading a directory is an error other than that nothing is there.
    fs::create_dir_all(place.join("filename")).unwrap();
    let unresolved = || {
        let id = FileId::Device(8, 0);
        let found = conflicts::find_usage_in_tables(&roots, id, "/dev/target").unwrap();
        found.unresolved.len()
    };
    assert_eq!(unresolved(), 1);
    fs::remove_dir(place.join("filename")).unwrap();
    tree.write_file(
        "sys/kernel/scst_tgt/devices/disk1/filename",
        "/gone\n[key]\n",
    );
    assert_eq!(unresolved(), 1);
}

#[test]
fn unknown_export_is_another_question_when_it_is_configured_anew() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[]);
    let spaces = "sys/kernel/config/nvmet/subsystems/nqn.test/namespaces";
    let roots = SysPaths::under_root(tree.0.path());
    let questions = || {
        let id = FileId::Device(8, 0);
        let found = conflicts::find_usage_in_tables(&roots, id, "/dev/target").unwrap();
        found.unresolved
    };
    let configure = |space: u32, path: &str| {
        tree.write_file(&format!("{spaces}/{space}/device_path"), path);
        // Two changes within one tick of the clock have the same time.
        std::thread::sleep(std::time::Duration::from_millis(30));
        tree.write_file(&format!("{spaces}/{space}/enable"), "1\n");
    };
    configure(1, "relative/image\n");
    let known = questions();
    assert_eq!(known.len(), 1, "{known:?}");
    assert_eq!(known, questions());
    let is_new = || questions().iter().any(|question| !known.contains(question));
    configure(2, "relative/image\n");
    assert!(is_new(), "another namespace of the subsystem");
    tree.write_file(&format!("{spaces}/2/enable"), "0\n");
    assert!(!is_new());
    tree.write_file(&format!("{spaces}/1/device_path"), "relative/another\n");
    assert!(is_new(), "another path of the namespace");
    configure(1, "relative/image\n");
    assert!(is_new(), "the same path, perhaps from another directory");
}

#[test]
fn file_is_refused_where_exports_cannot_be_watched() {
    let tree = GuardTree::new("");
    let file = tree.0.path().join("image");
    fs::write(&file, vec![1; 8192]).unwrap();
    let name = file.to_str().unwrap();
    let real = SysPaths::default();
    let roots = SysPaths {
        sys: tree.0.path().join("sys"),
        ..real.clone()
    };
    let medium = medium::open_target(&real, name, None).unwrap();
    let consent = consent_with_signatures(name);
    let permit = permit_writing(&roots, &medium, Some(&consent));
    assert!(permit.is_ok(), "{permit:?}");
    drop(permit);
    tree.write_file("sys/module/nvmet/refcnt", "1\n");
    let refused = permit_writing(&roots, &medium, Some(&consent)).unwrap_err();
    assert!(
        refused.to_string().contains("configfs is not mounted"),
        "{refused}"
    );
    fs::create_dir_all(tree.0.path().join("sys/kernel/config/nvmet/subsystems")).unwrap();
    assert!(permit_writing(&roots, &medium, Some(&consent)).is_ok());
}

#[test]
fn unreadable_loop_device_is_unresolved() {
    let tree = GuardTree::new("");
    tree.add_device("host0/block/sda", "8:0", &[])
        .add_device("virtual/block/loop0", "7:0", &[]);
    tree.write_file(
        "sys/devices/virtual/block/loop0/loop/backing_file",
        "/gone (deleted)\n",
    );
    let roots = SysPaths::under_root(tree.0.path());
    let found =
        conflicts::find_usage_in_tables(&roots, FileId::Device(8, 0), "/dev/target").unwrap();
    let questions: Vec<String> = found.unresolved.iter().map(ToString::to_string).collect();
    assert_eq!(questions.len(), 1);
    assert!(
        questions[0].contains("loop0 (/gone (deleted)) is attached to"),
        "{questions:?}"
    );
}

#[test]
fn file_that_an_nfs_client_has_open_for_writing_conflicts() {
    let tree = GuardTree::new("");
    let file = tree.0.path().join("image");
    fs::write(&file, vec![1; 8192]).unwrap();
    let facts = fs::metadata(&file).unwrap();
    let (major, minor) = (
        rustix::fs::major(facts.dev()),
        rustix::fs::minor(facts.dev()),
    );
    let state = |access: &str, inode: u64| {
        let line = format!(
            "- 0x01: {{ type: open, access: {access}, deny: --, \
             superblock: \"{major:02x}:{minor:02x}:{inode}\", filename: \"/image\" }}\n"
        );
        tree.write_file("proc/fs/nfsd/threads", "8\n");
        tree.write_file("proc/fs/nfsd/clients/3/states", &line);
        let roots = SysPaths::under_root(tree.0.path());
        let id = FileId::of_metadata(&facts);
        let found = conflicts::find_usage_in_tables(&roots, id, "/srv/image").unwrap();
        let conflicts: Vec<String> = found.conflicts.iter().map(ToString::to_string).collect();
        conflicts
    };
    assert_eq!(
        state("rw", facts.ino()),
        ["the NFS client number 3 of this machine has /srv/image open for writing"]
    );
    assert!(state("r-", facts.ino()).is_empty());
    assert!(state("rw", facts.ino() + 1).is_empty());
}
