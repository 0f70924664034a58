//! Users in other namespaces, and namespaces that hide the users.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, command_output, is_root, overwrite_arguments,
    run_overwrite, run_overwrite_in_mount_namespace, start_in_mount_namespace, test_content,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// A device with ext4 that is mounted in a mount namespace of its own.
fn mount_in_other_namespace(sandbox: &GuardSandbox, device: &LoopDevice) -> Option<Background> {
    if command_output("mkfs.ext4", &["-q", device.path()]).is_none() {
        skip(Requirement::Ext4, "no mkfs.ext4");
        return None;
    }
    let (point, done) = (sandbox.subdirectory("elsewhere"), sandbox.path("done"));
    let command = format!(
        "mount {} {} && touch {} && exec sleep 600",
        device.path(),
        point.display(),
        done.display()
    );
    start_in_mount_namespace(&command, &[], &done, "no mount in a namespace of its own")
}

#[test]
fn second_loop_device_is_refused_when_first_is_mounted_in_another_namespace() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(first) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let Some(child) = mount_in_other_namespace(&sandbox, &first) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let before = test_content(&image);
    assert_refused(
        &run_overwrite(second.path()),
        "in the mount namespace of process",
    );
    assert_refused(
        &run_overwrite(first.path()),
        "in the mount namespace of process",
    );
    assert!(test_content(&image) == before);
    drop(child);
}

#[test]
fn device_of_mounted_image_is_refused_where_other_nodes_are_missing() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(first) = sandbox.mounted_loop_device(&image, &[]) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let number = second.path().trim_start_matches("/dev/loop");
    // Only the target's own node is left.
    let script = format!(
        "mount -t tmpfs none /dev && mknod /dev/target b 7 {number} && mknod /dev/null c 1 3 && \
         exec \"$@\""
    );
    let output = run_overwrite_in_mount_namespace(&script, &[], "/dev/target");
    assert_refused(&output, "is mounted at");
    drop(first);
}

#[test]
fn device_is_refused_in_a_pid_namespace_that_hides_the_host() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]);
    command.arg(env!("CARGO_BIN_EXE_diskscope"));
    overwrite_arguments(&mut command, device.path().as_ref(), &["--requests", "20"]);
    let output = command.output().unwrap();
    assert_refused(&output, "does not show the processes of the host");
}

#[test]
fn disk_group_user_is_refused_but_ambient_capabilities_permit_write() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    // A node of the user's own stands for the membership in the group of disks.
    let node = sandbox.path("node");
    let facts = fs::metadata(device.path()).unwrap();
    let number = facts.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let words = [major.to_string(), minor.to_string()];
    let name = node.to_str().unwrap();
    if command_output("mknod", &[name, "b", &words[0], &words[1]]).is_none() {
        return skip(Requirement::Files, "no device nodes here");
    }
    std::os::unix::fs::chown(&node, Some(1000), Some(1000)).unwrap();
    let directory = sandbox.directory.path();
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    let state = sandbox.subdirectory("state");
    std::os::unix::fs::chown(&state, Some(1000), Some(1000)).unwrap();
    let write_with = |capabilities: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "1000", "--regid", "1000", "--clear-groups"]);
        command.args(capabilities);
        command.arg(env!("CARGO_BIN_EXE_diskscope"));
        overwrite_arguments(&mut command, node.as_ref(), &["--requests", "20"]);
        command.env("XDG_STATE_HOME", &state).output().unwrap()
    };
    let output = write_with(&[]);
    if matches!(output.status.code(), Some(126 | 127)) {
        return skip(Requirement::Program, "setpriv cannot start the program");
    }
    assert_refused(&output, "may not be examined");

    let sees_all = "+sys_ptrace,+dac_read_search,+checkpoint_restore";
    let output = write_with(&["--inh-caps", sees_all, "--ambient-caps", sees_all]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
}
