//! Files of a file system that the kernel has mounted from files (erofs): the table of mounts shows
//! one of them, and extra device files (`device=`) nowhere.

use std::ffi::CString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::guard::sandbox::lock_machine;
use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{OutputSandbox, assert_document, exit_code, is_root, stderr};
use crate::requirement::{Requirement, skip};

/// A mounted erofs, gone at the end.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// An erofs mounted from `image`, whose data is in `extra`.
fn mounted_erofs(sandbox: &OutputSandbox) -> Option<Mounted> {
    if !is_root() {
        return None;
    }
    let [image, extra, tree, point] =
        ["image", "extra", "tree", "point"].map(|name| sandbox.join(name));
    fs::create_dir(&tree).unwrap();
    fs::create_dir(&point).unwrap();
    fs::write(tree.join("data"), vec![0x5a; 1 << 20]).unwrap();
    let mut blobs = std::ffi::OsString::from("--blobdev=");
    blobs.push(&extra);
    let made = Command::new("mkfs.erofs")
        .args(["--quiet", "--chunksize=4096"])
        .args([&blobs, image.as_os_str(), tree.as_os_str()])
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        skip(Requirement::Program, "no mkfs.erofs with --blobdev");
        return None;
    }
    let options = CString::new(format!("device={}", extra.display())).unwrap();
    let flags = MountFlags::RDONLY;
    match rustix::mount::mount(&image, &point, "erofs", flags, options.as_c_str()) {
        Ok(()) => Some(Mounted(point)),
        Err(error) => {
            let reason = format!("no erofs from files: {error}");
            skip(Requirement::Kernel, reason);
            None
        }
    }
}

fn write_report(sandbox: &OutputSandbox, output: &str) -> std::process::Output {
    let words = ["report", "s.json", "-o", output];
    sandbox.command(&words).output().unwrap()
}

/// Two names, so that it is written in place.
fn add_hard_link(sandbox: &OutputSandbox, file: &Path) {
    fs::hard_link(file, sandbox.join("linked")).unwrap();
}

#[test]
fn extra_device_file_of_a_mounted_file_system_is_not_written_in_place() {
    let _alone = lock_machine();
    let sandbox = OutputSandbox::new();
    sandbox.write_session("s.json");
    let Some(mounted) = mounted_erofs(&sandbox) else {
        return;
    };
    let extra = sandbox.join("extra");
    add_hard_link(&sandbox, &extra);
    let before = fs::read(&extra).unwrap();
    let by_descriptor = sandbox
        .script("exec \"$P\" report s.json -o /dev/fd/5 5<> linked")
        .output()
        .unwrap();
    for output in [
        sandbox.run_to("linked"),
        write_report(&sandbox, "linked"),
        by_descriptor,
    ] {
        let message = stderr(&output);
        assert_eq!(exit_code(&output), 2, "{message}");
        assert!(
            message.contains("cannot determine whether it is in use"),
            "{message}"
        );
    }
    assert!(fs::read(&extra).unwrap() == before);
    assert_eq!(sandbox.saved_session_count(), 1, "nothing was measured");
    drop(mounted);
    let output = write_report(&sandbox, "linked");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
}

#[test]
fn other_files_are_written_in_place_while_a_file_system_is_mounted_from_files() {
    let _alone = lock_machine();
    let sandbox = OutputSandbox::new();
    let Some(_mounted) = mounted_erofs(&sandbox) else {
        return;
    };
    let file = sandbox.join("file");
    fs::write(&file, "before").unwrap();
    add_hard_link(&sandbox, &file);
    let output = sandbox.run_to("linked");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&fs::read_to_string(&file).unwrap());
    // What is replaced keeps its bytes, whoever reads them.
    fs::remove_file(sandbox.join("linked")).unwrap();
    let reader = File::open(&file).unwrap();
    let output = sandbox.run_to("file");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    drop(reader);
}

#[test]
fn image_of_a_loop_device_is_not_written_in_place_through_an_overlay() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        return;
    }
    let _alone = lock_machine();
    let sandbox = OutputSandbox::new();
    let [lower, upper, work, point] =
        ["lower", "upper", "work", "merged"].map(|name| sandbox.join(name));
    for directory in [&lower, &upper, &work, &point] {
        fs::create_dir(directory).unwrap();
    }
    let image = upper.join("image");
    fs::write(&image, vec![0x5a; 1 << 20]).unwrap();
    // A special bit: it is written in place.
    fs::set_permissions(&image, fs::Permissions::from_mode(0o1644)).unwrap();
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    let options = CString::new(options).unwrap();
    let mounted = rustix::mount::mount(
        "overlay",
        &point,
        "overlay",
        MountFlags::empty(),
        options.as_c_str(),
    );
    if let Err(error) = mounted {
        return skip(Requirement::Overlay, error);
    }
    let _mounted = Mounted(point);
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let output = sandbox.run_to("merged/image");
    assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
    let expected = "is attached to";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    assert!(fs::read(&image).unwrap() == vec![0x5a; 1 << 20]);
    drop(device);
    let output = sandbox.run_to("merged/image");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
}
