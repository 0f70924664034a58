//! Data that programs have written and the kernel has not written back yet. File systems have promised space for it.
//! What is below them learns of it only when it is written back: an image gets its blocks
//! then, and a pool or a snapshot its own (kernel Documentation/admin-guide/mm/concepts.rst, "Page cache").

use std::collections::HashSet;
use std::fs;
use std::path::Path;

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

/// As above, without what is written to drives; `None` without access to debugfs. File systems without a device
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
