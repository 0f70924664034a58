//! Staged shortage of memory, in control groups of the tests' own.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::faults::{MIB, disk, own_directory};
use super::{Load, diagnosis, draw};
use crate::control_group::TestCgroup;
use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::process::{run_dd, wait_until};
use crate::requirement::{Requirement, skip};

/// Held by a test of swap or of the page cache: while one has switched swap on, pages of the other go
/// there too.
static MEMORY: Mutex<()> = Mutex::new(());

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

/// The cause with this code.
fn cause<'d>(document: &'d serde_json::Value, code: &str) -> Option<&'d serde_json::Value> {
    let mut causes = document["causes"].as_array().unwrap().iter();
    causes.find(|cause| cause["code"] == code)
}

#[test]
fn process_that_needs_more_memory_than_its_group_has_is_swap_thrashing() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = own_directory();
    let limit = draw(24, 40) * MIB;
    let Some(swap) = disk(directory.path(), 512 * MIB).and_then(Swap::on) else {
        return;
    };
    let Some(group) = TestCgroup::with_memory_limit(limit) else {
        return;
    };
    // Pages of zeros would not be written to swap.
    let size = limit * 3;
    let load = Load::shell([group.command(&format!(
        "exec perl -e '$x = \"x\" x {size}; while (1) {{ for ($i = 0; $i < {size}; $i += 4096) {{ substr($x, $i, 1) = \"y\" }} }}'"
    ))]);
    // The kernel's averages of pressure lag behind.
    let before = pages_swapped_in();
    wait_until("pages come back from swap", || {
        pages_swapped_in() >= before + 20_000
    });
    let document = diagnosis("10s");
    drop(load);
    drop(group);
    drop(swap);
    let found = cause(&document, "swap-thrashing");
    assert!(found.is_some(), "{limit} {document:#}");
}

#[test]
fn files_that_do_not_fit_the_page_cache_are_cache_thrashing() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = own_directory();
    let path = directory.path().join("file");
    let size = draw(48, 80);
    fs::write(&path, vec![7; (size * MIB) as usize]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    // Cached pages belong to the group that read them first.
    run_dd(&[
        "iflag=nocache",
        "count=0",
        &format!("if={}", path.display()),
    ]);
    let Some(group) = TestCgroup::with_memory_limit(size * MIB * 3 / 4) else {
        return;
    };
    let load = Load::shell([group.command(&format!(
        "while :; do cat {} > /dev/null; done",
        path.display()
    ))]);
    let document = diagnosis("10s");
    drop(load);
    drop(group);
    assert!(
        cause(&document, "cache-thrashing").is_some(),
        "{size} {document:#}"
    );
}

/// A limit of dirty memory for one device alone, so that no other writer is throttled
/// (Documentation/ABI/testing/sysfs-class-bdi).
fn limit_dirty_memory(device: &str, bytes: u64) -> bool {
    let number = fs::read_to_string(format!("/sys/class/block/{device}/dev")).unwrap();
    let place = Path::new("/sys/class/bdi").join(number.trim());
    let set = |name: &str, value: String| fs::write(place.join(name), value).is_ok();
    set("max_bytes", bytes.to_string()) && set("strict_limit", "1".to_owned())
}

/// A limit of bytes written per second for one device, for all processes: the threads that write
/// back are in the root group. Removed when this is dropped.
pub(super) struct SlowWrites(String);

const ROOT_LIMIT: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";

impl SlowWrites {
    pub(super) fn limit(device: &str, bytes: u64) -> Option<Self> {
        let number = fs::read_to_string(format!("/sys/class/block/{device}/dev")).unwrap();
        let number = number.trim().to_owned();
        if fs::write(ROOT_LIMIT, format!("{number} {bytes}")).is_err() {
            skip(
                Requirement::Cgroup,
                "needs the blkio controller of version 1",
            );
            return None;
        }
        Some(Self(number))
    }
}

impl Drop for SlowWrites {
    fn drop(&mut self) {
        let _ = fs::write(ROOT_LIMIT, format!("{} 0", self.0));
    }
}

#[test]
fn writer_whose_device_is_slower_than_it_is_dirty_throttled() {
    let Some(file_system) = LoopFileSystem::new("ext4", Requirement::Ext4) else {
        return;
    };
    let device = file_system.device().name().to_owned();
    if !limit_dirty_memory(&device, draw(8, 24) * MIB) {
        skip(Requirement::Kernel, "no strict limit of dirty memory (6.2)");
        return;
    }
    let Some(slow) = SlowWrites::limit(&device, draw(2, 8) * 1_000_000) else {
        return;
    };
    let file = file_system.mount_point().join("file");
    let load = Load::shell([format!(
        "exec dd if=/dev/zero of={} bs=64k count=4000",
        file.display()
    )]);
    wait_until("it writes", || {
        fs::metadata(&file).is_ok_and(|it| it.len() > 8 * MIB)
    });
    let document = diagnosis("8s");
    let pid = load.pids()[0];
    drop(slow);
    drop(load);
    let found = cause(&document, "dirty-throttled");
    assert!(found.is_some(), "{document:#}");
    let found = found.unwrap();
    assert_eq!(found["device"], device.as_str(), "{document:#}");
    let victims = found["victims"].as_array().unwrap();
    assert!(
        victims.iter().any(|victim| victim["pid"] == pid),
        "{document:#}"
    );
}
