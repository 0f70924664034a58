//! Targets that somebody protects, and names that are hard to read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, assert_written, command_output, is_root,
    run_overwrite, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

#[test]
fn immutable_and_append_only_files_are_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let name = file.to_str().unwrap();
    for (attribute, reason) in [("i", "immutable"), ("a", "append-only")] {
        if command_output("chattr", &[&format!("+{attribute}"), name]).is_none() {
            return skip(Requirement::Files, "no attributes here");
        }
        let output = run_overwrite(&file);
        command_output("chattr", &[&format!("-{attribute}"), name]).unwrap();
        assert_refused(&output, reason);
    }
    assert_written(&run_overwrite(&file));
}

#[test]
fn file_on_a_read_only_mount_is_refused() {
    if !is_root() {
        return;
    }
    let mut sandbox = GuardSandbox::new();
    let directory = sandbox.subdirectory("directory");
    sandbox.create_image("directory/file");
    let point = sandbox.path("read-only");
    let (directory, point) = (directory.to_str().unwrap(), point.to_str().unwrap());
    let arguments = ["-o", "bind,ro", directory, point];
    if !sandbox.mount(&arguments, Requirement::Namespaces) {
        return;
    }
    assert_refused(&run_overwrite(format!("{point}/file")), "read-only");
}

#[test]
fn read_only_device_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &["--read-only"]) else {
        return;
    };
    assert_refused(&run_overwrite(device.path()), "read-only");
}

#[test]
fn executing_program_file_is_refused() {
    let sandbox = GuardSandbox::new();
    let program = sandbox.path("program");
    fs::copy("/bin/sleep", &program).unwrap();
    let before = fs::read(&program).unwrap();
    let child = Command::new(&program).arg("600").spawn().unwrap();
    let child = Background(child);
    let link = format!("/proc/{}/exe", child.0.id());
    wait_until("it is executed", || {
        fs::read_link(&link).is_ok_and(|path| path == program)
    });
    let output = run_overwrite(&program);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(fs::read(&program).unwrap() == before);
}

#[test]
fn target_with_trailing_slash_is_accepted() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    assert_written(&run_overwrite(format!("{}/", file.display())));
    let Some(device) = LoopDevice::attach(&file, &[]) else {
        return;
    };
    assert_written(&run_overwrite(format!("{}//", device.path())));
}

#[test]
fn non_utf8_target_name_is_accepted_and_shown_escaped() {
    let sandbox = GuardSandbox::new();
    let mut path = sandbox.directory.path().as_os_str().to_owned();
    path.push("/");
    path.push(OsStr::from_bytes(b"im\xffage"));
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    let output = run_overwrite(&path);
    assert_written(&output);
    let document = String::from_utf8(output.stdout).unwrap();
    assert!(document.contains("im\\\\xffage"), "{document}");
}

#[test]
fn sysfs_file_as_target_is_refused() {
    let sandbox = GuardSandbox::new();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let name = device.path().strip_prefix("/dev/").unwrap();
    let setting = format!("/sys/block/{name}/queue/read_ahead_kb");
    let before = fs::read(&setting).unwrap();
    // No target of any benchmark: a reading one is refused as well.
    let output = run_overwrite(&setting);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(fs::read(&setting).unwrap(), before);
}
