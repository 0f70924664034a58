//! What happens to a target while it is written.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::{Command, Stdio};

use crate::loop_device::LoopDevice;
use crate::place::{
    Background, Place, assert_refused, is_locked, is_root, overwrite, overwriting,
    overwriting_words, wait_until,
};
use crate::requirement::{Requirement, skip};

/// A run of half a minute that has begun to write.
fn writing(target: &std::path::Path) -> Background {
    let mut command = overwriting(
        target.as_os_str(),
        &["--duration", "30s", "--rate", "100/s"],
    );
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Background(command.spawn().unwrap());
    // The file is one hole until the first request.
    wait_until("it writes", || fs::metadata(target).unwrap().blocks() > 0);
    child
}

#[test]
fn second_run_on_the_same_file_is_refused() {
    let place = Place::new();
    let file = place.image("file");
    let first = writing(&file);
    assert_refused(&overwrite(&file), "holds a lock on");
    drop(first);
}

#[test]
fn run_ends_at_once_when_its_file_is_attached_to_a_loop_device() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let file = place.image("file");
    let mut run = writing(&file);
    let Some(device) = LoopDevice::attach(&file, &[]) else {
        return;
    };
    let began = std::time::Instant::now();
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    assert_eq!(run.0.wait().unwrap().code(), Some(3));
    let document: serde_json::Value =
        serde_json::from_reader(run.0.stdout.take().unwrap()).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["state"], "failed");
    let said = run["error"].to_string();
    assert!(said.contains("is attached to"), "{said}");
    drop(device);
}

/// Waits for a run to end by itself because its target came into use.
#[track_caller]
fn assert_ends(run: &mut Background) {
    let began = std::time::Instant::now();
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    assert_eq!(run.0.wait().unwrap().code(), Some(3));
}

#[test]
fn run_ends_when_an_attached_loop_device_changes_over_to_its_file() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let (file, other) = (place.image("file"), place.image("other"));
    let Some(device) = LoopDevice::attach(&other, &["--read-only"]) else {
        return;
    };
    let mut run = writing(&file);
    // The watch has looked at what is attached.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let node = File::open(device.path()).unwrap();
    let image = File::open(&file).unwrap();
    // SAFETY: LOOP_CHANGE_FD takes a descriptor and no pointer.
    let changed = unsafe { libc::ioctl(node.as_raw_fd(), 0x4C06, image.as_raw_fd()) };
    assert_eq!(changed, 0, "{}", std::io::Error::last_os_error());
    assert_ends(&mut run);
}

#[test]
fn run_of_ordinary_user_ends_when_a_loop_device_is_attached_to_its_file() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let file = place.image("file");
    chown(&file, Some(1000), Some(1000)).unwrap();
    let readable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.directory.path(), readable).unwrap();
    let state = place.subdirectory("state");
    chown(&state, Some(1000), Some(1000)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "1000", "--regid", "1000", "--clear-groups"]);
    command.arg(env!("CARGO_BIN_EXE_diskscope"));
    let more = ["--duration", "30s", "--rate", "100/s"];
    overwriting_words(&mut command, file.as_os_str(), &more);
    command.env("XDG_STATE_HOME", &state);
    command.stdout(Stdio::null());
    let Ok(child) = command.spawn() else {
        return skip(Requirement::Program, "no setpriv");
    };
    let mut run = Background(child);
    wait_until("it holds its locks", || {
        is_locked(&file) || run.0.try_wait().unwrap().is_some()
    });
    if matches!(
        run.0.try_wait().unwrap().and_then(|it| it.code()),
        Some(126 | 127)
    ) {
        return skip(Requirement::Program, "setpriv cannot start the program");
    }
    let Some(device) = LoopDevice::attach(&file, &[]) else {
        return;
    };
    assert_ends(&mut run);
    drop(device);
}

#[test]
fn run_on_a_loop_device_ends_when_another_is_attached_to_its_image() {
    let place = Place::alone();
    let image = place.image("image");
    let Some(target) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let mut command = overwriting(
        target.path().as_ref(),
        &["--duration", "30s", "--rate", "100/s"],
    );
    command.stdout(Stdio::null());
    let mut run = Background(command.spawn().unwrap());
    wait_until("it holds its locks", || is_locked(target.path().as_ref()));
    let Some(sibling) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_ends(&mut run);
    drop(sibling);
}
