//! Shortage of memory, in control groups of the tests' own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::situation::Held;
use super::{Draw, Load, MIB, Requirement, Staged, disk, drop_cache, own_directory, write_file};
use crate::control_group::TestCgroup;
use crate::loop_device::LoopDevice;
use crate::process::wait_until;
use crate::requirement::skip;

/// Swap on a loop device, switched off when this is dropped.
struct Swap(LoopDevice);

impl Swap {
    fn on(device: LoopDevice) -> Option<Self> {
        let run = |program: &str| {
            let output = Command::new(program).arg(device.path()).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !run("mkswap") || !run("swapon") {
            skip(Requirement::Swap, "mkswap or swapon failed");
            return None;
        }
        Some(Self(device))
    }
}

impl Held for Swap {}

impl Drop for Swap {
    fn drop(&mut self) {
        let off = Command::new("swapoff").arg(self.0.path()).status();
        let off = off.is_ok_and(|status| status.success());
        assert!(off || std::thread::panicking(), "swap stays on");
    }
}

/// Pages read from swap since boot.
fn pages_swapped_in() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap();
    let count = text.lines().find_map(|line| line.strip_prefix("pswpin "));
    count.unwrap().parse().unwrap()
}

pub(in super::super) fn group_that_swaps(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let limit = draw.number("mib", 24, 40) * MIB;
    let swap = disk(directory.path(), 512 * MIB).and_then(Swap::on)?;
    let group = TestCgroup::with_memory_limit(limit)?;
    let name = group.name();
    // Pages of zeros would not be written to swap.
    let size = limit * 3;
    let load = Load::shell([group.command(&format!(
        "exec perl -e '$x = \"x\" x {size}; while (1) {{ for ($i = 0; $i < {size}; $i += 4096) {{ substr($x, $i, 1) = \"y\" }} }}'"
    ))]);
    let before = pages_swapped_in();
    wait_until("pages come back from swap", || {
        pages_swapped_in() >= before + 20_000
    });
    let staged = Staged::new(load).waits(&[0]).on(name);
    Some(staged.holding(group).holding(swap).holding(directory))
}

pub(in super::super) fn group_smaller_than_its_file(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let size = draw.number("mib", 48, 80) * MIB;
    let file = write_file(directory.path().join("file"), size);
    // Cached pages belong to the group that read them first.
    drop_cache(file.as_ref());
    let group = TestCgroup::with_memory_limit(size * 3 / 4)?;
    let name = group.name();
    let load = Load::shell([group.command(&format!(
        "exec perl -e 'while (1) {{ open F, \"{file}\"; while (sysread F, $x, 65536) {{}} }}'"
    ))]);
    let staged = Staged::new(load).names(&[0]).on(name);
    Some(staged.holding(group).holding(directory))
}

/// A limit of dirty memory for one device alone, so that no other writer is throttled
/// (Documentation/ABI/testing/sysfs-class-bdi). Removed when this is dropped: loop devices keep it.
pub(super) struct DirtyLimit(PathBuf);

impl DirtyLimit {
    pub fn of(device: &str, bytes: u64) -> Option<Self> {
        let number = fs::read_to_string(format!("/sys/class/block/{device}/dev")).unwrap();
        let limit = Self(Path::new("/sys/class/bdi").join(number.trim()));
        if limit.set("max_bytes", bytes) && limit.set("strict_limit", 1) {
            return Some(limit);
        }
        skip(Requirement::Kernel, "no strict limit of dirty memory (6.2)");
        None
    }

    /// Removes one that an earlier user of the loop device has left.
    pub fn remove(device: &str) {
        let number = fs::read_to_string(format!("/sys/class/block/{device}/dev")).unwrap();
        drop(Self(Path::new("/sys/class/bdi").join(number.trim())));
    }

    fn set(&self, setting: &str, value: u64) -> bool {
        fs::write(self.0.join(setting), value.to_string()).is_ok()
    }
}

impl Held for DirtyLimit {}

impl Drop for DirtyLimit {
    fn drop(&mut self) {
        self.set("strict_limit", 0);
        self.set("max_ratio", 100);
    }
}
