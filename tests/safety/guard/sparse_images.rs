//! Devices and file systems in a sparse image: when the file system of the image is full, the kernel
//! drops data that it has accepted from others.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::guard::sandbox::{
    GuardSandbox, IMAGE_BYTES, assert_refused, assert_written, command_output, overwrite_command,
    run_overwrite,
};
use crate::loop_device::LoopDevice;
use crate::process::wait_until;
use crate::requirement::{Requirement, skip};

const MIB: u64 = 1 << 20;
/// What stays free of a file system of up to 20 GiB.
const RESERVE_BYTES: u64 = 1 << 30;

/// Mounts a file system that is smaller than the reserve; its directory.
fn mount_small_file_system(sandbox: &mut GuardSandbox) -> Option<(LoopDevice, PathBuf)> {
    mount_file_system(sandbox, 8 * IMAGE_BYTES)
}

/// Mounts a file system of that size, which needs little space itself; its directory.
fn mount_file_system(sandbox: &mut GuardSandbox, size: u64) -> Option<(LoopDevice, PathBuf)> {
    let image = sandbox.path("small");
    File::create(&image).unwrap().set_len(size).unwrap();
    let device = sandbox.mounted_loop_device(&image, &[])?;
    Some((device, sandbox.path("mounted-0")))
}

#[test]
fn device_in_sparse_image_without_room_below_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_small_file_system(&mut sandbox) else {
        return;
    };
    let image = directory.join("image");
    File::create(&image).unwrap().set_len(1 << 30).unwrap();
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(device.path()), "is in the sparse image");
    drop(device);
    let image = directory.join("allocated");
    let size = IMAGE_BYTES.to_string();
    command_output("fallocate", &["--length", &size, image.to_str().unwrap()]).unwrap();
    let Some(allocated) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_written(&run_overwrite(allocated.path()));
}

#[test]
fn scratch_file_in_sparse_image_without_room_below_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_small_file_system(&mut sandbox) else {
        return;
    };
    let image = directory.join("image");
    File::create(&image).unwrap().set_len(4 << 30).unwrap();
    let image = image.to_str().unwrap();
    let format = ["-q", "-F", "-O", "^has_journal", image];
    if command_output("mkfs.ext4", &format).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = sandbox.path("inner");
    let point = point.to_str().unwrap();
    if !sandbox.mount(&["-o", "loop", image, point], Requirement::Loop) {
        return;
    }
    let mut command = overwrite_command(point.as_ref(), &["--scratch-size", "32MiB"]);
    let output = command.args(["--requests", "20"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("is in the sparse image"), "{message}");
}

fn free_bytes(directory: &Path) -> u64 {
    let facts = rustix::fs::statvfs(directory).unwrap();
    facts.f_bavail * facts.f_frsize
}

#[test]
fn run_on_a_device_in_a_sparse_image_stops_at_the_reserve_below() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_file_system(&mut sandbox, 1700 * MIB) else {
        return;
    };
    let image = directory.join("image");
    File::create(&image).unwrap().set_len(256 * MIB).unwrap();
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.args(["run", "random-write", device.path()]);
    command.args([
        "--overwrite",
        device.path(),
        "--duration",
        "60s",
        "--ramp",
        "0s",
    ]);
    command.args(["--block-size", "64KiB", "--rate", "200/s", "--json", "-"]);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_until("a block of the image", || {
        std::fs::metadata(&image).unwrap().blocks() > 0 || child.try_wait().unwrap().is_some()
    });
    // Others use up the space but for a second of the run.
    let filler = File::create(directory.join("filler")).unwrap();
    let size = free_bytes(&directory) - RESERVE_BYTES - 12 * MIB;
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, size).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(message.contains("sparse image"), "{message}");
    // The space of a few looks may be missing.
    std::thread::sleep(Duration::from_millis(100));
    let free = free_bytes(&directory);
    assert!(free > RESERVE_BYTES - 32 * MIB, "{free} bytes are free");
}
