//! Processes that have the target open, mapped or locked.

use std::fs::{File, OpenOptions};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use rustix::fs::FlockOperation;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, assert_written, command_output, run_overwrite,
    wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

fn open_for_writing(path: impl AsRef<Path>) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

/// Asserts that a target is refused, and keeps its bytes, as long as there is a user, whom the message names if it
/// can, and that it is written afterwards.
#[track_caller]
fn assert_refused_while<T>(target: &Path, message: &str, user: T) {
    let before = std::fs::read(target).unwrap();
    assert_refused(&run_overwrite(target), message);
    assert!(std::fs::read(target).unwrap() == before);
    drop(user);
    assert_written(&run_overwrite(target));
}

#[test]
fn file_that_is_open_or_locked_is_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let own_id = std::process::id().to_string();
    let read = || File::open(&file).unwrap();
    assert_refused_while(&file, &own_id, open_for_writing(&file));
    let reader = read();
    rustix::fs::flock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused_while(&file, &own_id, reader);
    assert_refused_while(&file, "", message_with(read()));
}

#[test]
fn file_open_for_reading_is_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let own_id = std::process::id().to_string();
    assert_refused_while(&file, &own_id, File::open(&file).unwrap());
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
    let reader = File::open(&file).unwrap();
    rustix::fs::fcntl_lock(&reader, FlockOperation::LockShared).unwrap();
    assert_refused_while(&file, "", reader);
    let writer = open_for_writing(&file);
    lock_as_qemu(&writer);
    assert_refused_while(&file, "", writer);
}

/// Also as a library, and by who has closed it.
#[test]
fn mapped_file_is_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    for (rights, flags) in [
        (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED),
        (ProtFlags::READ, MapFlags::PRIVATE),
    ] {
        let open = OpenOptions::new().read(true).write(true).open(&file);
        let start = std::ptr::null_mut();
        // SAFETY: nothing in this process touches the mapping, which is taken away below.
        let mapping = unsafe { rustix::mm::mmap(start, 4096, rights, flags, open.unwrap(), 0) };
        let mapping = mapping.unwrap();
        assert_refused(&run_overwrite(&file), "");
        // SAFETY: it was mapped above with that length.
        unsafe { rustix::mm::munmap(mapping, 4096) }.unwrap();
        assert_written(&run_overwrite(&file));
    }
}

/// A descriptor in a message that nobody has received is in no process.
fn message_with(open: File) -> (UnixStream, UnixStream) {
    let (sender, receiver) = UnixStream::pair().unwrap();
    let descriptors = [open.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    assert!(message.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let bytes = [IoSlice::new(b"x")];
    sendmsg(&sender, &bytes, &mut message, SendFlags::empty()).unwrap();
    (sender, receiver)
}

#[test]
fn device_open_for_writing_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let (path, own_id) = (Path::new(device.path()), std::process::id().to_string());
    assert_refused_while(path, &own_id, open_for_writing(path));
    assert_refused_while(path, &own_id, open_for_writing(&image));
    let reader = File::open(path).unwrap();
    assert_written(&run_overwrite(path));
    rustix::fs::flock(&reader, FlockOperation::LockExclusive).unwrap();
    assert_refused_while(path, "", reader);
    // Its image has no name any more.
    let writer = open_for_writing(&image);
    std::fs::remove_file(&image).unwrap();
    assert_refused_while(path, &own_id, writer);
}

/// Ends the first thread of its process; another one keeps the file open.
const LEAVES_THE_WORK_TO_A_THREAD: &str = "
import ctypes, os, sys, threading, time
os.open(sys.argv[1], os.O_WRONLY)
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall(int(sys.argv[2]), 0)
";

/// The descriptors of its first thread are not listed any more.
#[test]
fn device_open_in_a_process_whose_first_thread_has_ended_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let (words, exit) = (["-c", LEAVES_THE_WORK_TO_A_THREAD], libc::SYS_exit);
    let mut python = Command::new("python3");
    python.args(words).arg(device.path()).arg(exit.to_string());
    let Ok(writer) = python.spawn() else {
        return skip(Requirement::Program, "no python3");
    };
    let writer = Background(writer);
    let process = format!("/proc/{}", writer.0.id());
    wait_until("its first thread has ended", || {
        let status = std::fs::read_to_string(format!("{process}/status"));
        status.is_ok_and(|status| status.contains("State:\tZ"))
    });
    let id = writer.0.id().to_string();
    assert_refused_while(device.path().as_ref(), &id, writer);
}

/// A loop device claims nothing: what it is attached to has partitions, or is one.
#[test]
fn loop_device_over_a_partition_or_disk_that_is_open_for_writing_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(disk) = LoopDevice::attach(&image, &["--partscan"]) else {
        return;
    };
    if command_output("addpart", &[disk.path(), "1", "2048", "40960"]).is_none() {
        return skip(Requirement::Program, "addpart fails");
    }
    let partition = format!("{}p1", disk.path());
    for (below, opened) in [
        (disk.path(), &*partition),
        (&*partition, &*partition),
        (&*partition, disk.path()),
    ] {
        let Some(target) = LoopDevice::attach(Path::new(below), &[]) else {
            return;
        };
        let own_id = std::process::id().to_string();
        assert_refused_while(target.path().as_ref(), &own_id, open_for_writing(opened));
    }
}
