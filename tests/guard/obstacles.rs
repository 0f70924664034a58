//! Targets that somebody protects, and names that are hard to read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::loop_device::LoopDevice;
use crate::place::{
    Background, Place, assert_refused, assert_written, is_root, overwrite, run, wait_until,
};
use crate::requirement::{Requirement, skip};

#[test]
fn immutable_and_append_only_files_are_refused() {
    let place = Place::new();
    let file = place.image("file");
    let name = file.to_str().unwrap();
    for (attribute, reason) in [("i", "is immutable"), ("a", "may only be appended to")] {
        if run("chattr", &[&format!("+{attribute}"), name]).is_none() {
            return skip(Requirement::Files, "no attributes here");
        }
        let output = overwrite(&file);
        run("chattr", &[&format!("-{attribute}"), name]).unwrap();
        assert_refused(&output, reason);
    }
    assert_written(&overwrite(&file));
}

#[test]
fn file_on_a_read_only_mount_is_refused() {
    if !is_root() {
        return;
    }
    let mut place = Place::new();
    let directory = place.subdirectory("directory");
    place.image("directory/file");
    let point = place.path("read-only");
    let (directory, point) = (directory.to_str().unwrap(), point.to_str().unwrap());
    let arguments = ["-o", "bind,ro", directory, point];
    if !place.mount(&arguments, Requirement::Namespaces) {
        return;
    }
    assert_refused(&overwrite(format!("{point}/file")), "mounted read-only");
}

#[test]
fn read_only_device_is_refused() {
    let place = Place::new();
    let image = place.image("image");
    let Some(device) = LoopDevice::attach(&image, &["--read-only"]) else {
        return;
    };
    assert_refused(&overwrite(device.path()), "is read-only");
}

#[test]
fn program_that_is_being_executed_is_refused() {
    let place = Place::new();
    let program = place.path("program");
    fs::copy("/bin/sleep", &program).unwrap();
    let before = fs::read(&program).unwrap();
    let child = Command::new(&program).arg("600").spawn().unwrap();
    let child = Background(child);
    let link = format!("/proc/{}/exe", child.0.id());
    wait_until("it is executed", || {
        fs::read_link(&link).is_ok_and(|path| path == program)
    });
    let output = overwrite(&program);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(fs::read(&program).unwrap() == before);
}

#[test]
fn trailing_slash_is_understood() {
    let place = Place::new();
    let file = place.image("file");
    assert_written(&overwrite(format!("{}/", file.display())));
    let Some(device) = LoopDevice::attach(&file, &[]) else {
        return;
    };
    assert_written(&overwrite(format!("{}//", device.path())));
}

#[test]
fn name_that_is_no_utf_8_is_understood_and_shown_escaped() {
    let place = Place::new();
    let mut path = place.directory.path().as_os_str().to_owned();
    path.push("/");
    path.push(OsStr::from_bytes(b"im\xffage"));
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    let output = overwrite(&path);
    assert_written(&output);
    let document = String::from_utf8(output.stdout).unwrap();
    assert!(document.contains("im\\\\xffage"), "{document}");
}

#[test]
fn file_of_sysfs_is_refused() {
    let place = Place::new();
    let Some(device) = LoopDevice::attach(&place.image("image"), &[]) else {
        return;
    };
    let name = device.path().strip_prefix("/dev/").unwrap();
    let setting = format!("/sys/block/{name}/queue/read_ahead_kb");
    let before = fs::read(&setting).unwrap();
    // No target of any benchmark: a reading one is refused as well.
    let output = overwrite(&setting);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("in sysfs, whose files act on the kernel"),
        "{message}"
    );
    assert_eq!(fs::read(&setting).unwrap(), before);
}
