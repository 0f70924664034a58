//! Locks that others hold on the target.

use std::fs::{File, OpenOptions};

use diskscope::drive::fcntl;
use rustix::fs::FlockOperation;

use crate::guard::sandbox::{
    GuardSandbox, assert_refused, assert_written, command_output, run_overwrite,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

#[test]
fn file_locked_by_flock_is_refused_and_holder_named() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let reader = File::open(&file).unwrap();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    let expected = format!("process {} (", std::process::id());
    let output = run_overwrite(&file);
    assert_refused(&output, "holds a lock on");
    assert_refused(&output, &expected);
    drop(reader);
    assert_written(&run_overwrite(&file));
}

#[test]
fn file_with_a_record_lock_is_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let reader = OpenOptions::new().read(true).open(&file).unwrap();
    rustix::fs::fcntl_lock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&run_overwrite(&file), "holds a lock on");
    drop(reader);
    let writer = OpenOptions::new().write(true).open(&file).unwrap();
    fcntl::lock_whole_file(&writer).unwrap();
    assert_refused(&run_overwrite(&file), "holds a lock on");
}

#[test]
fn loop_device_whose_image_is_locked_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let reader = File::open(&image).unwrap();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&run_overwrite(device.path()), "holds a lock on");
    drop(reader);
    let node = File::open(device.path()).unwrap();
    rustix::fs::flock(&node, FlockOperation::LockExclusive).unwrap();
    assert_refused(&run_overwrite(device.path()), "holds a lock on");
}

#[test]
fn loop_device_whose_image_on_btrfs_is_locked_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let disk = sandbox.create_image("disk");
    File::options()
        .write(true)
        .open(&disk)
        .unwrap()
        .set_len(4 << 30)
        .unwrap();
    if command_output("mkfs.btrfs", &["-q", disk.to_str().unwrap()]).is_none() {
        return skip(Requirement::Btrfs, "no mkfs.btrfs");
    }
    let Some(lower) = LoopDevice::attach(&disk, &[]) else {
        return;
    };
    let point = sandbox.path("btrfs");
    let words = ["-t", "btrfs", lower.path(), point.to_str().unwrap()];
    if !sandbox.mount(&words, Requirement::Btrfs) {
        return;
    }
    let image = sandbox.create_image("btrfs/image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_written(&run_overwrite(device.path()));
    let reader = File::open(&image).unwrap();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&run_overwrite(device.path()), "holds a lock on");
    drop(reader);
    drop((device, sandbox, lower));
}
