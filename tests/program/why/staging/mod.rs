//! Functions that stage a situation: work on slow devices, limits, memory, space, and what hangs.

pub(super) mod disks;
pub(super) mod faults;
pub(super) mod limits;
pub(super) mod memory;
pub(super) mod space;
pub(super) mod stuck;
pub(super) mod writers;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Load;
use super::situation::{Draw, Staged};
use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};
use crate::slow_disk::SlowDisk;

pub(super) const MIB: u64 = 1 << 20;

/// A loop device of that size whose file is allocated, with direct I/O.
fn disk(directory: &Path, size: u64) -> Option<LoopDevice> {
    let path = directory.join("disk");
    let file = File::create(&path).unwrap();
    let allocated = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size);
    if let Err(error) = allocated {
        skip(Requirement::Files, error);
        return None;
    }
    LoopDevice::attach(&path, &["--direct-io=on"])
}

fn own_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A device of 64 MiB behind a server that is quick until it is told otherwise.
fn slow_device() -> Option<(SlowDisk, LoopDevice)> {
    let slow = SlowDisk::mount()?;
    let device = LoopDevice::attach(&slow.file(), &["--direct-io=on"])?;
    Some((slow, device))
}

/// A device that serves one request after the other, each in that time.
fn serial_device(service: Duration) -> Option<(SlowDisk, LoopDevice)> {
    let (slow, device) = slow_device()?;
    slow.serve_serially(service);
    Some((slow, device))
}

/// An ext4 on a device that is quick until it is told otherwise.
fn slow_file_system(options: &[&str]) -> Option<(SlowDisk, LoopFileSystem)> {
    let (slow, device) = slow_device()?;
    let file_system = LoopFileSystem::on(device, "ext4", options, Requirement::Ext4)?;
    Some((slow, file_system))
}

/// Forgets the cached pages of a file, after they are written.
fn drop_cache(path: &Path) {
    File::open(path).unwrap().sync_all().unwrap();
    let dropped = Command::new("dd")
        .args(["iflag=nocache", "count=0", "status=none"])
        .arg(format!("if={}", path.display()))
        .status();
    assert!(dropped.unwrap().success());
}

/// A file with that many bytes that are not zero.
fn write_file(path: PathBuf, bytes: u64) -> String {
    std::fs::write(&path, vec![7; bytes as usize]).unwrap();
    path.display().to_string()
}

fn has_program(name: &str, requirement: Requirement) -> bool {
    let found = Command::new("which").arg(name).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        skip(requirement, format!("{name} is not installed"));
    }
    found
}

/// A line for sh(1) that runs fio, unless it is not installed.
fn fio(name: &str, target: &str, rest: &str) -> Option<String> {
    has_program("fio", Requirement::Fio).then(|| {
        format!(
            "exec fio --name={name} --filename={target} --thread --time_based --runtime=120 \
             --output=/dev/null {rest}"
        )
    })
}

/// A line for sh(1) that reads a device or file in order, without the page cache.
fn direct_reader(target: &str, block: &str, skipped: u64) -> String {
    format!("exec dd if={target} of=/dev/null bs={block} iflag=direct skip={skipped}")
}
