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
