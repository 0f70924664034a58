//! Processes that have the target open.

use std::fs::{File, OpenOptions};
use std::process::Command;

use rustix::mm::{MapFlags, ProtFlags};

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, assert_written, is_root, overwrite_arguments,
    run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

fn open_for_writing(path: impl AsRef<std::path::Path>) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

#[test]
fn file_open_for_writing_is_refused_and_process_named() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let open = open_for_writing(&file);
    let expected = std::process::id().to_string();
    assert_refused(&run_overwrite(&file), &expected);
    drop(open);
    assert_written(&run_overwrite(&file));
}

#[test]
fn file_open_for_reading_is_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let open = File::open(&file).unwrap();
    let before = test_content(&file);
    assert_refused(&run_overwrite(&file), &std::process::id().to_string());
    assert!(test_content(&file) == before);
    drop(open);
    assert_written(&run_overwrite(&file));
}

#[test]
fn device_open_for_reading_is_written() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let open = File::open(device.path()).unwrap();
    assert_written(&run_overwrite(device.path()));
    drop(open);
}

#[test]
fn device_open_for_writing_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let own_id = std::process::id().to_string();
    let open = open_for_writing(device.path());
    assert_refused(&run_overwrite(device.path()), &own_id);
    drop(open);
    let open = open_for_writing(&image);
    assert_refused(&run_overwrite(device.path()), &own_id);
    drop(open);
    assert_written(&run_overwrite(device.path()));
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
#[test]
fn file_with_invisible_reader_is_refused() {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::io::IoSlice;
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let (sender, receiver) = std::os::unix::net::UnixStream::pair().unwrap();
    let open = File::open(&file).unwrap();
    let descriptors = [open.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    assert!(message.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let bytes = [IoSlice::new(b"x")];
    sendmsg(&sender, &bytes, &mut message, SendFlags::empty()).unwrap();
    drop(open);
    let before = test_content(&file);
    assert_refused(&run_overwrite(&file), "");
    assert!(test_content(&file) == before);
    drop((sender, receiver));
    assert_written(&run_overwrite(&file));
}

#[test]
fn file_with_visible_reader_is_refused_while_processes_are_hidden() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let (file, state) = (sandbox.create_image("file"), sandbox.subdirectory("state"));
    for path in [&file, &state] {
        chown(path, Some(1000), Some(1000)).unwrap();
    }
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(sandbox.directory.path(), everybody).unwrap();
    let user = ["--reuid", "1000", "--regid", "1000", "--clear-groups"];
    let write = || {
        let mut command = Command::new("setpriv");
        command.args(user).arg(env!("CARGO_BIN_EXE_diskscope"));
        overwrite_arguments(&mut command, file.as_ref(), &["--requests", "20"]);
        command.env("XDG_STATE_HOME", &state).output().unwrap()
    };
    let output = write();
    if matches!(output.status.code(), Some(126 | 127)) {
        return skip(Requirement::Program, "setpriv cannot start the program");
    }
    assert_written(&output);
    let reader = Command::new("setpriv")
        .args(user)
        .args(["sleep", "600"])
        .stdin(File::open(&file).unwrap())
        .spawn();
    let reader = Background(reader.unwrap());
    let status = format!("/proc/{}/status", reader.0.id());
    wait_until("it is the user's", || {
        std::fs::read_to_string(&status).is_ok_and(|text| text.contains("Uid:\t1000\t1000"))
    });
    assert_refused(&write(), "");
    drop(reader);
    assert_written(&write());
}
