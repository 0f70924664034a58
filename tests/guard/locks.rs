//! Locks that others hold on the target.

use std::fs::{File, OpenOptions};

use diskscope::drive::fcntl;
use rustix::fs::FlockOperation;

use crate::loop_device::LoopDevice;
use crate::place::{Place, assert_refused, assert_written, overwrite, run};
use crate::requirement::{Requirement, skip};

#[test]
fn file_with_a_lock_of_flock_is_refused_and_its_holder_named() {
    let place = Place::new();
    let file = place.image("file");
    let reader = File::open(&file).unwrap();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    let expected = format!("process {} (", std::process::id());
    let output = overwrite(&file);
    assert_refused(&output, "holds a lock on");
    assert_refused(&output, &expected);
    drop(reader);
    assert_written(&overwrite(&file));
}

#[test]
fn file_with_a_record_lock_is_refused() {
    let place = Place::new();
    let file = place.image("file");
    let reader = OpenOptions::new().read(true).open(&file).unwrap();
    rustix::fs::fcntl_lock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&overwrite(&file), "holds a lock on");
    drop(reader);
    let writer = OpenOptions::new().write(true).open(&file).unwrap();
    fcntl::lock_for_writing(&writer).unwrap();
    assert_refused(&overwrite(&file), "holds a lock on");
}

#[test]
fn loop_device_whose_image_is_locked_is_refused() {
    let place = Place::new();
    let image = place.image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let reader = File::open(&image).unwrap();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&overwrite(device.path()), "holds a lock on");
    drop(reader);
    let node = File::open(device.path()).unwrap();
    rustix::fs::flock(&node, FlockOperation::LockExclusive).unwrap();
    assert_refused(&overwrite(device.path()), "holds a lock on");
}

#[test]
fn loop_device_whose_image_on_btrfs_is_locked_is_refused() {
    let mut place = Place::new();
    let disk = place.image("disk");
    File::options()
        .write(true)
        .open(&disk)
        .unwrap()
        .set_len(512 << 20)
        .unwrap();
    if run("mkfs.btrfs", &["-q", disk.to_str().unwrap()]).is_none() {
        return skip(Requirement::Btrfs, "no mkfs.btrfs");
    }
    let Some(lower) = LoopDevice::attach(&disk, &[]) else {
        return;
    };
    let point = place.path("btrfs");
    let words = ["-t", "btrfs", lower.path(), point.to_str().unwrap()];
    if !place.mount(&words, Requirement::Btrfs) {
        return;
    }
    let image = place.image("btrfs/image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_written(&overwrite(device.path()));
    let reader = File::open(&image).unwrap();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&overwrite(device.path()), "holds a lock on");
    drop(reader);
    drop((device, place, lower));
}
