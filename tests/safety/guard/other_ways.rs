//! The same bytes by another way.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::guard::sandbox::{
    Background, GuardSandbox, IMAGE_BYTES, assert_refused, assert_written, command_output, is_root,
    overwrite_arguments, run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

#[test]
fn second_loop_device_on_image_of_mounted_one_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(first) = sandbox.mounted_loop_device(&image, &[]) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let before = test_content(&image);
    assert_refused(&run_overwrite(second.path()), "is mounted at");
    assert_refused(&run_overwrite(first.path()), "is mounted at");
    assert_refused(&run_overwrite(&image), "is attached to");
    assert!(test_content(&image) == before);
}

#[test]
fn loop_device_with_offset_into_image_of_mounted_one_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(first) = sandbox.mounted_loop_device(&image, &[]) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&image, &["--offset", "1048576"]) else {
        return;
    };
    assert_refused(&run_overwrite(second.path()), "is mounted at");
    drop(first);
}

#[test]
fn loop_device_on_a_deleted_image_is_written_unless_it_is_open() {
    // A file that is open in an overlay of another test cannot be compared.
    let sandbox = GuardSandbox::exclusive();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let writer = File::options().write(true).open(&image).unwrap();
    fs::remove_file(&image).unwrap();
    // What the programs of a machine have open: pipes, sockets, shared memory, anonymous inodes.
    let _open = (
        std::io::pipe().unwrap(),
        std::os::unix::net::UnixStream::pair().unwrap(),
        rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap(),
        rustix::fs::memfd_create("memory", rustix::fs::MemfdFlags::empty()).unwrap(),
    );
    assert_refused(&run_overwrite(device.path()), "open for writing");
    drop(writer);
    assert_written(&run_overwrite(device.path()));
}

#[test]
fn loop_device_on_a_deleted_image_is_refused_while_an_overlay_is_written() {
    let mut sandbox = GuardSandbox::exclusive();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    fs::remove_file(&image).unwrap();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| sandbox.subdirectory(name));
    let point = sandbox.path("merged");
    let (lower, upper, work) = (lower.display(), upper.display(), work.display());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let arguments = ["-t", "overlay", "overlay", "-o", &options];
    let arguments = [&arguments[..], &[point.to_str().unwrap()]].concat();
    if !sandbox.mount(&arguments, Requirement::Overlay) {
        return;
    }
    let writer = File::create(point.join("other")).unwrap();
    let refused = run_overwrite(device.path());
    assert_refused(&refused, "cannot be compared");
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!message.contains("process "), "{message}");
    drop(writer);
}

/// A loop device, detached at the end.
struct Detach(String);

impl Drop for Detach {
    fn drop(&mut self) {
        command_output("losetup", &["--detach", &self.0]);
    }
}

#[test]
fn loop_device_on_an_image_of_another_mount_namespace_is_written() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::exclusive();
    let (point, done) = (sandbox.subdirectory("elsewhere"), sandbox.path("done"));
    let command = format!(
        "mount -t tmpfs none {point} && truncate -s 32M {point}/image && \
         losetup --find --show {point}/image > {done}.new && mv {done}.new {done} && exec sleep 600",
        point = point.display(),
        done = done.display()
    );
    let child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &command])
        .stdin(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        return skip(Requirement::Namespaces, "no unshare");
    };
    let mut child = Background(child);
    wait_until("it is attached in the other namespace", || {
        done.exists() || child.0.try_wait().unwrap().is_some()
    });
    let Ok(device) = fs::read_to_string(&done) else {
        return skip(Requirement::Loop, "no loop device in a mount namespace");
    };
    let device = Detach(device.trim().to_owned());
    assert_written(&run_overwrite(&device.0));
    // Nothing tells any more whether it is in an overlay.
    drop(child);
    let refused = run_overwrite(&device.0);
    assert_refused(&refused, "its file has no path here");
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!message.contains("process "), "{message}");
}

#[test]
fn loop_device_with_idle_sibling_is_written_and_blocks_sibling_mount() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(first) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_written(&run_overwrite(second.path()));
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
    let taken = rustix::fs::open(first.path(), flags, rustix::fs::Mode::empty()).unwrap();
    assert_refused(&run_overwrite(second.path()), "which has the same bytes");
    drop(taken);
}

#[test]
fn loop_device_below_a_mounted_stack_of_loop_devices_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(lower) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let Some(upper) = sandbox.mounted_loop_device(lower.path().as_ref(), &[]) else {
        return;
    };
    let Some(beside) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(beside.path()), "is attached to");
    assert_refused(&run_overwrite(lower.path()), "is mounted at");
    let Some(third) = LoopDevice::attach(lower.path().as_ref(), &[]) else {
        return;
    };
    assert_refused(&run_overwrite(third.path()), "is mounted at");
    drop(third);
    drop((beside, upper));
}

#[test]
fn image_with_unlinked_path_is_refused_by_hard_link_for_user() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(_device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let link = sandbox.path("link");
    fs::hard_link(&image, &link).unwrap();
    fs::remove_file(&image).unwrap();
    fs::set_permissions(sandbox.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(&link, Some(1000), Some(1000)).unwrap();
    let state = sandbox.subdirectory("state");
    std::os::unix::fs::chown(&state, Some(1000), Some(1000)).unwrap();
    let before = test_content(&link);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "1000", "--regid", "1000", "--clear-groups"]);
    command.arg(env!("CARGO_BIN_EXE_diskscope"));
    overwrite_arguments(&mut command, link.as_ref(), &["--requests", "20"]);
    let output = command.env("XDG_STATE_HOME", &state).output().unwrap();
    if output.status.code() == Some(127) || output.status.code() == Some(126) {
        let message = String::from_utf8_lossy(&output.stderr);
        return skip(Requirement::Program, message);
    }
    assert_refused(&output, "is in use");
    assert!(test_content(&link) == before);
}

#[test]
fn file_with_a_file_system_mounted_from_it_by_relative_path_is_refused() {
    let mut sandbox = GuardSandbox::exclusive();
    let image = sandbox.create_image("image.erofs");
    let tree = sandbox.subdirectory("tree");
    if command_output(
        "mkfs.erofs",
        &[image.to_str().unwrap(), tree.to_str().unwrap()],
    )
    .is_none()
    {
        return skip(Requirement::Program, "no mkfs.erofs");
    }
    let point = sandbox.subdirectory("mounted");
    let command = format!(
        "cd {} && mount -t erofs image.erofs {}",
        sandbox.directory.path().display(),
        point.display()
    );
    if command_output("sh", &["-c", &command]).is_none() {
        return skip(Requirement::Kernel, "erofs cannot be mounted from a file");
    }
    let _undo = Undo(point.to_str().unwrap().to_owned());
    let output = run_overwrite(&image);
    assert_refused(&output, "image.erofs");
    let _ = &mut sandbox;
}

struct Undo(String);

impl Drop for Undo {
    fn drop(&mut self) {
        command_output("umount", &[&self.0]);
    }
}

#[test]
fn copy_that_shares_extents_with_a_file_in_use_is_written_alone() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.path("file-system");
    File::create(&image).unwrap().set_len(4 << 30).unwrap();
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    if command_output("mkfs.btrfs", &["-q", device.path()]).is_none() {
        return skip(Requirement::Btrfs, "no mkfs.btrfs");
    }
    let point = sandbox.path("mounted");
    if !sandbox.mount(
        &[device.path(), point.to_str().unwrap()],
        Requirement::Btrfs,
    ) {
        return;
    }
    let [used, copy] = ["used", "copy"].map(|name| point.join(name));
    fs::write(&used, vec![7; IMAGE_BYTES as usize]).unwrap();
    let names = [&used, &copy].map(|path| path.to_str().unwrap());
    command_output("cp", &["--reflink=always", names[0], names[1]]).unwrap();
    File::open(&copy).unwrap().sync_all().unwrap();
    let attached = LoopDevice::attach(&used, &[]);
    assert_refused(&run_overwrite(&used), "is attached to");
    assert_written(&run_overwrite(&copy));
    drop(attached);
    let is_unchanged = |path| test_content(path).iter().all(|byte| *byte == 7);
    assert!(is_unchanged(&used) && !is_unchanged(&copy));
}
