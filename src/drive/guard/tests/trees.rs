//! The search for users of a device on literal trees of /sys and /proc: what a kernel with
//! device-mapper, md and partitions shows.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::super::conflicts;
use super::*;

/// A tree of literal files below a directory of its own.
struct Tree(tempfile::TempDir);

impl Tree {
    /// A kernel without devices, and these mounts.
    fn new(mountinfo: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.file("proc/self/mountinfo", mountinfo);
        tree.file("proc/swaps", "Filename Type Size Used Priority\n");
        fs::create_dir_all(tree.0.path().join("sys/class/block")).unwrap();
        tree
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A device at its place below /sys/devices, with its number and what lies on it.
    fn device(&self, place: &str, number: &str, holders: &[&str]) -> &Self {
        let own = format!("sys/devices/{place}");
        self.file(&format!("{own}/dev"), &format!("{number}\n"));
        self.file(&format!("{own}/size"), "2048\n");
        let holding = self.0.path().join(&own).join("holders");
        fs::create_dir_all(&holding).unwrap();
        for holder in holders {
            symlink("elsewhere", holding.join(holder)).unwrap();
        }
        let name = Path::new(place).file_name().unwrap();
        let class = self.0.path().join("sys/class/block").join(name);
        symlink(self.0.path().join(&own), class).unwrap();
        self
    }

    /// A partition of a device, likewise.
    fn partition(&self, place: &str, number: &str, holders: &[&str]) -> &Self {
        self.file(&format!("sys/devices/{place}/partition"), "1\n");
        let index: u64 = number.split(':').next_back().unwrap().parse().unwrap();
        let start = format!("{}\n", index * 2048);
        self.file(&format!("sys/devices/{place}/start"), &start);
        self.device(place, number, holders)
    }

    /// What forbids writing the device of that number, in words.
    fn conflicts(&self, number: (u32, u32)) -> Vec<String> {
        let roots = Roots::below(self.0.path());
        let id = FileId::Device(number.0, number.1);
        let found = conflicts::find_for(&roots, id, "/dev/target").unwrap();
        found.conflicts.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn a_mounted_partition_forbids_the_whole_and_itself_but_not_its_neighbour() {
    let tree = Tree::new("30 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n");
    tree.device("host0/block/sda", "8:0", &[])
        .partition("host0/block/sda/sda1", "8:1", &[])
        .partition("host0/block/sda/sda2", "8:2", &[]);
    assert_eq!(tree.conflicts((8, 0)), ["sda1 is mounted at /srv"]);
    assert_eq!(tree.conflicts((8, 1)), ["sda1 is mounted at /srv"]);
    assert!(tree.conflicts((8, 2)).is_empty());
}

#[test]
fn a_mounted_whole_forbids_its_partitions() {
    let tree = Tree::new("30 1 8:0 / /srv rw - ext4 /dev/sda rw\n");
    tree.device("host0/block/sda", "8:0", &[])
        .partition("host0/block/sda/sda1", "8:1", &[]);
    assert_eq!(tree.conflicts((8, 1)), ["sda is mounted at /srv"]);
}

#[test]
fn device_mapper_on_a_partition_forbids_all_below_it() {
    // LVM over dm-crypt over sda1, mounted on top.
    let tree = Tree::new("30 1 253:1 / /home rw - xfs /dev/mapper/vg-home rw\n");
    tree.device("host0/block/sda", "8:0", &[])
        .partition("host0/block/sda/sda1", "8:1", &["dm-0"])
        .device("virtual/block/dm-0", "253:0", &["dm-1"])
        .device("virtual/block/dm-1", "253:1", &[]);
    let below = [
        "dm-1 is mounted at /home",
        "dm-1 lies on dm-0",
        "dm-0 lies on sda1",
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
fn a_member_of_a_raid_is_forbidden_also_when_the_array_is_idle() {
    let tree = Tree::new("");
    tree.device("host0/block/sda", "8:0", &["md0"])
        .device("host1/block/sdb", "8:16", &["md0"])
        .device("virtual/block/md0", "9:0", &[]);
    for number in [(8, 0), (8, 16)] {
        assert_eq!(tree.conflicts(number).len(), 1, "{number:?}");
    }
    assert!(tree.conflicts((9, 0)).is_empty(), "the idle array itself");
}

#[test]
fn a_device_that_the_kernel_does_not_show_is_not_permitted() {
    let tree = Tree::new("");
    let roots = Roots::below(tree.0.path());
    let refused = conflicts::find_for(&roots, FileId::Device(8, 0), "/dev/target");
    assert!(matches!(refused, Err(Refusal::Unknown { .. })));
}

#[test]
fn second_path_of_a_disk_in_use_is_forbidden() {
    let tree = Tree::new("30 1 8:17 / /srv rw - ext4 /dev/sdb1 rw\n");
    tree.device("host0/block/sda", "8:0", &[])
        .partition("host0/block/sda/sda1", "8:1", &[])
        .partition("host0/block/sda/sda2", "8:2", &[])
        .device("host1/block/sdb", "8:16", &[])
        .partition("host1/block/sdb/sdb1", "8:17", &[])
        .device("host2/block/sdc", "8:32", &[]);
    // The number of a partition is its place in the test: 8:17 lies where 8:1 does.
    tree.file("sys/devices/host1/block/sdb/sdb1/start", "2048\n");
    for (disk, wwid) in [
        ("0/block/sda", "naa.5"),
        ("1/block/sdb", "naa.5"),
        ("2/block/sdc", "naa.6"),
    ] {
        tree.file(
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
fn disks_without_identity_or_with_zeroes_are_not_the_same() {
    let tree = Tree::new("30 1 8:16 / /srv rw - ext4 /dev/sdb rw\n");
    tree.device("host0/block/sda", "8:0", &[])
        .device("host1/block/sdb", "8:16", &[]);
    for disk in ["0/block/sda", "1/block/sdb"] {
        tree.file(
            &format!("sys/devices/host{disk}/device/wwid"),
            "0000000000000000\n",
        );
        tree.file(&format!("sys/devices/host{disk}/serial"), "\n");
    }
    assert!(tree.conflicts((8, 0)).is_empty());
}

#[test]
fn map_beside_a_mounted_one_is_forbidden_where_its_sectors_are_not_known() {
    let tree = Tree::new("30 1 253:1 / /home rw - xfs /dev/mapper/home rw\n");
    tree.device("host0/block/sda", "8:0", &["dm-0", "dm-1"])
        .device("virtual/block/dm-0", "253:0", &[])
        .device("virtual/block/dm-1", "253:1", &[]);
    for map in ["dm-0", "dm-1"] {
        tree.file(&format!("sys/devices/virtual/block/{map}/slaves/sda"), "");
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
fn device_with_the_same_bytes_that_comes_up_is_named_as_what_it_is() {
    let tree = Tree::new("");
    tree.device("host0/block/sda", "8:0", &["dm-0", "dm-1"])
        .device("host1/block/sdb", "8:16", &[])
        .device("virtual/block/dm-0", "253:0", &[])
        .device("virtual/block/dm-1", "253:1", &[]);
    for map in ["dm-0", "dm-1"] {
        tree.file(&format!("sys/devices/virtual/block/{map}/slaves/sda"), "");
    }
    for disk in ["0/block/sda", "1/block/sdb"] {
        let wwid = format!("sys/devices/host{disk}/device/wwid");
        tree.file(&wwid, "naa.5\n");
    }
    let roots = Roots::below(tree.0.path());
    let found = conflicts::find_for(&roots, FileId::Device(253, 0), "/dev/target").unwrap();
    assert!(found.conflicts.is_empty(), "{:?}", found.conflicts);
    let words: Vec<String> = found
        .aliases
        .iter()
        .map(|alias| alias.conflict().to_string())
        .collect();
    let expected = [
        "dm-1 lies on sda",
        "sdb, which came up meanwhile, is another path to the disk sda",
    ];
    assert_eq!(words, expected);
}

#[test]
fn member_of_a_mounted_btrfs_is_forbidden_whichever_device_the_mount_names() {
    let tree = Tree::new("30 1 0:40 / /srv rw - btrfs /dev/sda rw\n");
    tree.device("host0/block/sda", "8:0", &[])
        .device("host1/block/sdb", "8:16", &[]);
    for member in ["sda", "sdb"] {
        tree.file(&format!("sys/fs/btrfs/0123-4567/devices/{member}"), "");
    }
    let expected = ["sdb belongs to the mounted file system btrfs 0123-4567"];
    assert_eq!(tree.conflicts((8, 16)), expected);
}

#[test]
fn exported_device_is_forbidden_and_an_unknown_export_is_a_question() {
    let tree = Tree::new("");
    tree.device("host0/block/sda", "8:0", &[]);
    let space = "sys/kernel/config/nvmet/subsystems/nqn.test/namespaces/1";
    tree.file(&format!("{space}/enable"), "1\n");
    tree.file(&format!("{space}/device_path"), "/nonexistent/sda\n");
    let roots = Roots::below(tree.0.path());
    let find = || conflicts::find_for(&roots, FileId::Device(8, 0), "/dev/target").unwrap();
    let questions: Vec<String> = find().unresolved.iter().map(ToString::to_string).collect();
    assert_eq!(questions, ["what nvmet subsystem nqn.test exports"]);
    tree.file(&format!("{space}/enable"), "0\n");
    assert!(find().unresolved.is_empty());

    let file = tree.0.path().join("image");
    fs::write(&file, "content").unwrap();
    tree.file(&format!("{space}/enable"), "1\n");
    tree.file(
        &format!("{space}/device_path"),
        &format!("{}\n", file.display()),
    );
    let id = FileId::of(&fs::metadata(&file).unwrap());
    let found = conflicts::find_for(&roots, id, "image").unwrap();
    let found: Vec<String> = found.conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["nvmet subsystem nqn.test exports image"]);
}

#[test]
fn kernel_target_that_is_loaded_but_not_shown_is_a_question() {
    let tree = Tree::new("");
    tree.device("host0/block/sda", "8:0", &[]);
    tree.file("sys/module/nvmet/refcnt", "1\n");
    let roots = Roots::below(tree.0.path());
    let found = conflicts::find_for(&roots, FileId::Device(8, 0), "/dev/target").unwrap();
    assert_eq!(found.unresolved.len(), 1, "{:?}", found.unresolved);
}

#[test]
fn loop_device_that_cannot_be_asked_is_a_question() {
    let tree = Tree::new("");
    tree.device("host0/block/sda", "8:0", &[])
        .device("virtual/block/loop0", "7:0", &[]);
    tree.file(
        "sys/devices/virtual/block/loop0/loop/backing_file",
        "/gone (deleted)\n",
    );
    let roots = Roots::below(tree.0.path());
    let found = conflicts::find_for(&roots, FileId::Device(8, 0), "/dev/target").unwrap();
    let questions: Vec<String> = found.unresolved.iter().map(ToString::to_string).collect();
    assert_eq!(questions.len(), 1);
    assert!(
        questions[0].contains("loop0 (/gone (deleted)) is attached to"),
        "{questions:?}"
    );
}
