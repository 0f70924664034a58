//! What may not be examined counts as a use: as an ordinary user, and in namespaces that hide processes.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};

use crate::guard::sandbox::{
    GuardSandbox, assert_refused, assert_written, is_root, overwrite_arguments, run_overwrite,
    test_content,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

const USER: u32 = 1000;
/// With these, all processes may be examined.
const SEES_PROCESSES: &str = "+sys_ptrace,+dac_read_search,+checkpoint_restore";

/// A loop device that an ordinary user may write, as a member of the group of disks may; root's again at the end.
struct UsersDevice(LoopDevice);

impl UsersDevice {
    fn attach(image: &Path) -> Option<Self> {
        let device = LoopDevice::attach(image, &[])?;
        chown(device.path(), Some(USER), None).unwrap();
        Some(Self(device))
    }

    fn path(&self) -> &Path {
        self.0.path().as_ref()
    }
}

impl Drop for UsersDevice {
    fn drop(&mut self) {
        let _ = chown(self.0.path(), Some(0), None);
    }
}

/// The program's state directory of an ordinary user, who may enter the place.
fn state(sandbox: &GuardSandbox) -> std::path::PathBuf {
    fs::set_permissions(sandbox.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let state = sandbox.subdirectory("state");
    chown(&state, Some(USER), Some(USER)).unwrap();
    state
}

/// Words that start a program as an ordinary user.
const AS_USER: [&str; 6] = [
    "setpriv",
    "--reuid",
    "1000",
    "--regid",
    "1000",
    "--clear-groups",
];

/// Overwrites a target as an ordinary user with these capabilities; `None` where that user cannot
/// start the program.
fn overwrite_as_user(sandbox: &GuardSandbox, target: &Path, capabilities: &str) -> Option<Output> {
    let mut command = Command::new(AS_USER[0]);
    command.args(&AS_USER[1..]);
    if !capabilities.is_empty() {
        command.args(["--inh-caps", capabilities, "--ambient-caps", capabilities]);
    }
    command.arg(env!("CARGO_BIN_EXE_diskscope"));
    overwrite_arguments(&mut command, target.as_ref(), &["--requests", "20"]);
    let output = command.env("XDG_STATE_HOME", state(sandbox)).output();
    let started = output
        .ok()
        .filter(|it| !matches!(it.status.code(), Some(126 | 127)));
    if started.is_none() {
        skip(Requirement::Program, "setpriv cannot start the program");
    }
    started
}

#[test]
fn device_is_written_by_a_user_only_with_capabilities_that_show_all_processes() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let Some(device) = UsersDevice::attach(&sandbox.create_image("image")) else {
        return;
    };
    let Some(output) = overwrite_as_user(&sandbox, device.path(), "") else {
        return;
    };
    assert_refused(&output, "root");
    let held = OpenOptions::new().write(true).open(device.path()).unwrap();
    let output = overwrite_as_user(&sandbox, device.path(), SEES_PROCESSES).unwrap();
    assert_refused(&output, &std::process::id().to_string());
    drop(held);
    assert_written(&overwrite_as_user(&sandbox, device.path(), SEES_PROCESSES).unwrap());
}

/// The kernel gives a lease to the owner, and to others with `CAP_LEASE` only.
#[test]
fn file_of_another_owner_is_written_only_with_cap_lease() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let before = test_content(&file);
    let Some(output) = overwrite_as_user(&sandbox, &file, "") else {
        return;
    };
    assert_refused(&output, "lease");
    assert!(test_content(&file) == before);
    assert_written(&overwrite_as_user(&sandbox, &file, "+lease").unwrap());
    chown(&file, Some(USER), Some(USER)).unwrap();
    assert_written(&overwrite_as_user(&sandbox, &file, "").unwrap());
    assert_written(&run_overwrite(&file));
}

#[test]
fn device_is_refused_in_a_pid_namespace_that_hides_the_host() {
    let sandbox = GuardSandbox::new();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]);
    command.arg(env!("CARGO_BIN_EXE_diskscope"));
    overwrite_arguments(&mut command, device.path().as_ref(), &["--requests", "20"]);
    assert_refused(&command.output().unwrap(), "processes");
}

/// In a mount namespace whose /proc hides the processes of others.
const HIDING: &str = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";

#[test]
fn device_is_refused_where_processes_are_hidden_whatever_a_user_namespace_permits() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = UsersDevice::attach(&image) else {
        return;
    };
    let state = state(&sandbox);
    let held = OpenOptions::new().write(true).open(device.path()).unwrap();
    let before = test_content(&image);
    for own_namespace in [&["unshare", "-r"][..], &[]] {
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "private", "sh", "-c", HIDING, "sh"]);
        command.args(AS_USER).args(own_namespace);
        command.arg(env!("CARGO_BIN_EXE_diskscope"));
        overwrite_arguments(&mut command, device.path().as_ref(), &["--requests", "20"]);
        let output = command.env("XDG_STATE_HOME", &state).output().unwrap();
        let status = output.status.code();
        if status == Some(1) && output.stderr.starts_with(b"unshare:") {
            return skip(Requirement::Namespaces, "no user namespaces");
        }
        if matches!(status, Some(126 | 127)) {
            return skip(Requirement::Program, "setpriv cannot start the program");
        }
        assert_refused(&output, "");
    }
    assert!(test_content(&image) == before);
    drop(held);
}
