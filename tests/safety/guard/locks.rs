//! Locks that others hold on the target.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;

use rustix::fs::FlockOperation;

use crate::guard::sandbox::{GuardSandbox, assert_refused, assert_written, run_overwrite};
use crate::loop_device::LoopDevice;

#[test]
fn file_locked_by_flock_is_refused_and_holder_named() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let reader = File::open(&file).unwrap();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&run_overwrite(&file), &std::process::id().to_string());
    drop(reader);
    assert_written(&run_overwrite(&file));
}

/// An open file description lock on the whole file, as QEMU takes on bytes of an image that it writes.
fn lock_as_qemu(file: &File) {
    // SAFETY: struct flock consists of numbers, for which zero is valid.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = libc::F_WRLCK as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: F_OFD_SETLK reads the struct flock whose address is given.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const request) };
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn file_with_a_record_lock_is_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let reader = OpenOptions::new().read(true).open(&file).unwrap();
    rustix::fs::fcntl_lock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused(&run_overwrite(&file), "");
    drop(reader);
    let writer = OpenOptions::new().write(true).open(&file).unwrap();
    lock_as_qemu(&writer);
    assert_refused(&run_overwrite(&file), "");
}

#[test]
fn locked_device_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let node = File::open(device.path()).unwrap();
    rustix::fs::flock(&node, FlockOperation::LockExclusive).unwrap();
    assert_refused(&run_overwrite(device.path()), "");
    drop(node);
    assert_written(&run_overwrite(device.path()));
}
