//! Data that programs have written and the kernel has not written back yet. File systems have promised space for it.
//! What is below them learns of it only when it is written back: an image gets its blocks
//! then, and a pool or a snapshot its own (kernel Documentation/admin-guide/mm/concepts.rst, "Page cache").

use std::collections::HashSet;
use std::fs;
use std::fs::File;
use std::path::Path;

use super::new_blocks::BTRFS_MAGIC;
use super::upper_directory::open_upper_directory;
use crate::drive::btrfs;
use crate::drive::identity::sysfs::{directory_entries, read_line};
use crate::roots::SysPaths;

/// Counters of `/proc/vmstat`, in pages: dirty, being written back, and the same in memory of FUSE (before Linux
/// 6.16).
const UNWRITTEN_COUNTERS: [&str; 3] = ["nr_dirty", "nr_writeback", "nr_writeback_temp"];
/// Bytes from which on the devices are read: the kernel walks a device's list of dirty inodes for each
/// reading.
const MIN_READ_BYTES: u64 = 16 << 20;

/// Bytes in the page cache that may need space below a file system: all of the machine, or without those
/// of drives where debugfs tells them apart.
pub(super) fn unwritten_bytes(roots: &SysPaths) -> u64 {
    let text = fs::read_to_string(roots.proc.join("vmstat")).unwrap_or_default();
    let pages = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| UNWRITTEN_COUNTERS.contains(name))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .fold(0, u64::saturating_add);
    let all = pages.saturating_mul(rustix::param::page_size() as u64);
    if all < MIN_READ_BYTES {
        return all;
    }
    above_devices(roots).map_or(all, |bytes| bytes.min(all))
}

/// Bytes that the file system of a file still reports as free although they are taken, or promised: on btrfs those
/// that were allocated since its last commit (30 s), also with `O_DIRECT`, and those for data in the page cache. 0
/// on others. (fs/btrfs/super.c, `btrfs_statfs` counts `disk_used` alone; the files are those of fs/btrfs/sysfs.c.)
pub(super) fn uncommitted_bytes(roots: &SysPaths, file: &File) -> u64 {
    let upper = open_upper_directory(roots, file);
    let place = upper.as_ref().unwrap_or(file);
    if !rustix::fs::fstatfs(place).is_ok_and(|facts| facts.f_type as u32 == BTRFS_MAGIC) {
        return 0;
    }
    btrfs::file_system_id(place).map_or(0, |id| uncommitted_bytes_of_btrfs(roots, &id))
}

fn uncommitted_bytes_of_btrfs(roots: &SysPaths, id: &str) -> u64 {
    let directory = roots.sys.join("fs/btrfs").join(id).join("allocation");
    // With small block groups, data and metadata share theirs.
    let of_type = |name: &str| {
        let counters = ["bytes_may_use", "bytes_reserved"];
        let values = counters.map(|counter| read_line(&directory.join(name).join(counter)));
        let values = values.into_iter().flatten();
        let numbers = values.filter_map(|value| value.parse::<u64>().ok());
        numbers.fold(0, u64::saturating_add)
    };
    of_type("data").saturating_add(of_type("mixed"))
}

/// As `unwritten_bytes`, without what is written to drives; `None` without access to debugfs. File systems without a device
/// of their own (btrfs, FUSE) have a name or a number there that no block device has.
fn above_devices(roots: &SysPaths) -> Option<u64> {
    let entries = fs::read_dir(roots.sys.join("kernel/debug/bdi")).ok()?;
    let drives = drive_numbers(roots);
    let bytes = entries.map(|entry| {
        let entry = entry.ok()?;
        match drives.contains(entry.file_name().to_str()?) {
            true => Some(0),
            false => device_bytes(&entry.path().join("stats")),
        }
    });
    bytes.sum()
}

/// Numbers of the block devices that are on no others, as text.
fn drive_numbers(roots: &SysPaths) -> HashSet<String> {
    let class = roots.sys.join("class/block");
    let is_drive = |name: &String| {
        fs::read_link(class.join(name)).is_ok_and(|link| {
            let mut directories = link.ancestors();
            !directories.any(|directory| directory.ends_with("virtual/block"))
        })
    };
    directory_entries(&class)
        .into_iter()
        .filter(is_drive)
        .filter_map(|name| read_line(&class.join(name).join("dev")))
        .collect()
}

/// `BdiReclaimable` and `BdiWriteback` of a device, in bytes.
fn device_bytes(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let kibibytes = value("BdiReclaimable:")?.saturating_add(value("BdiWriteback:")?);
    Some(kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn stats(dirty: u64, writeback: u64) -> String {
        format!(
            "BdiWriteback:  {writeback:8} kB\nBdiReclaimable: {dirty:8} kB\nBdiDirtyThresh: 9 kB\n"
        )
    }

    #[test]
    fn bytes_of_btrfs_that_are_not_committed_are_not_free() {
        let id = "0b1c2d3e-0000-4000-8000-0123456789ab";
        let allocation = format!("sys/fs/btrfs/{id}/allocation");
        let file = |name: &str| format!("{allocation}/{name}");
        let (_root, roots) = SysPaths::with_files(&[
            (&file("data/bytes_may_use"), "4096\n"),
            (&file("data/bytes_reserved"), "1048576\n"),
            // Free again with the next commit, which btrfs makes when it needs them.
            (&file("data/bytes_pinned"), "65536\n"),
            (&file("metadata/bytes_may_use"), "7\n"),
        ]);
        assert_eq!(uncommitted_bytes_of_btrfs(&roots, id), 1_048_576 + 4096);
        assert_eq!(uncommitted_bytes_of_btrfs(&roots, "another"), 0);
    }

    #[test]
    fn unwritten_bytes_are_those_of_all_but_drives() {
        let page = rustix::param::page_size() as u64;
        let pages = (1 << 30) / page;
        let vmstat = format!("nr_free_pages 7\nnr_dirty {pages}\nnr_writeback 1\nnr_dirtied 9\n");
        let (root, roots) = SysPaths::with_files(&[
            ("proc/vmstat", &vmstat),
            ("sys/devices/pci0/block/sda/dev", "8:0\n"),
            ("sys/devices/virtual/block/loop0/dev", "7:0\n"),
            ("sys/class/block/loop1/dev", "7:1\n"),
        ]);
        assert_eq!(unwritten_bytes(&roots), (1 << 30) + page);
        let sys = root.path().join("sys");
        for (name, path) in [("sda", "pci0/block/sda"), ("loop0", "virtual/block/loop0")] {
            let target = Path::new("../../devices").join(path);
            symlink(target, sys.join("class/block").join(name)).unwrap();
        }
        for (name, text) in [
            ("8:0", stats(800_000, 0)),
            ("7:0", stats(20_000, 4)),
            ("0:51", stats(100, 0)),
            ("btrfs-1", stats(1, 0)),
        ] {
            let directory = sys.join("kernel/debug/bdi").join(name);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("stats"), text).unwrap();
        }
        assert_eq!(unwritten_bytes(&roots), 20_105 * 1024);
        fs::write(sys.join("kernel/debug/bdi/7:0/stats"), "").unwrap();
        assert_eq!(unwritten_bytes(&roots), (1 << 30) + page, "not told apart");
    }

    #[test]
    fn few_unwritten_bytes_count_whatever_they_are_of() {
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/vmstat", "nr_dirty 3\nnr_writeback_temp 1\n"),
            ("sys/kernel/debug/bdi/7:0/stats", &stats(0, 0)),
        ]);
        assert_eq!(
            unwritten_bytes(&roots),
            4 * rustix::param::page_size() as u64
        );
    }
}
