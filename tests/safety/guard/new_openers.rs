//! Processes that open a target, or what shares bytes with it, while it is written.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, assert_written, command_output, is_root,
    overwrite_command, run_overwrite, start_in_mount_namespace, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// A run on a device in an image, that has begun to write.
fn start_run(device: &LoopDevice, duration: &str) -> Background {
    let arguments = ["--duration", duration, "--rate", "100/s"];
    let mut command = overwrite_command(device.path().as_ref(), &arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = Background(command.spawn().unwrap());
    wait_until("it writes", || {
        let written = test_content(device.path().as_ref());
        written.iter().any(|byte| *byte != 0)
    });
    run
}

/// Waits for a run to end by itself because of a process, and returns its error.
#[track_caller]
fn assert_run_ends_because_of(run: &mut Background, process: u32, reason: &str) {
    let began = Instant::now();
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    assert_eq!(run.0.wait().unwrap().code(), Some(3));
    let document: serde_json::Value =
        serde_json::from_reader(run.0.stdout.take().unwrap()).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["state"], "failed");
    let message = run["error"].to_string();
    assert!(message.contains(reason), "{message}");
    assert!(
        message.contains(&format!("process {process} (")),
        "{message}"
    );
}

/// A script of the shell in a mount namespace of its own, in which `DIRECTORY/disk` is a node of the
/// device that nobody else sees. Ready when `ready` exists.
fn in_namespace_with_node(
    directory: &Path,
    device: &LoopDevice,
    script: &str,
    ready: &Path,
) -> Option<Background> {
    let number = device.path().trim_start_matches("/dev/loop");
    let all = format!("mount -t tmpfs none \"$0\" && mknod \"$0/disk\" b 7 {number} && {script}");
    let words = [directory.as_os_str(), ready.as_os_str()];
    start_in_mount_namespace(&all, &words, ready, "no node in a mount namespace")
}

/// A device in an image, and the directories for a mount and for what else is needed.
fn device_and_directories() -> Option<(GuardSandbox, LoopDevice, PathBuf, PathBuf)> {
    if !is_root() {
        return None;
    }
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let device = LoopDevice::attach(&image, &[])?;
    let (private, ready) = (sandbox.subdirectory("private"), sandbox.path("ready"));
    Some((sandbox, device, private, ready))
}

#[test]
fn run_ends_when_a_process_opens_its_device_by_a_node_of_its_own() {
    let Some((_sandbox, device, private, ready)) = device_and_directories() else {
        return;
    };
    let mut run = start_run(&device, "30s");
    let script = "exec 3<>\"$0/disk\" && touch \"$1\" && exec sleep 600";
    let Some(user) = in_namespace_with_node(&private, &device, script, &ready) else {
        return;
    };
    assert_run_ends_because_of(&mut run, user.0.id(), "open for writing");
}

#[test]
fn run_ends_when_a_process_that_was_there_before_opens_its_device() {
    let Some((_sandbox, device, private, ready)) = device_and_directories() else {
        return;
    };
    let go = private.with_file_name("go");
    let script = format!(
        "touch \"$1\"; while [ ! -e {} ]; do sleep 0.05; done; exec 3<>\"$0/disk\"; \
         while :; do sleep 1 3>&-; done",
        go.display()
    );
    let Some(user) = in_namespace_with_node(&private, &device, &script, &ready) else {
        return;
    };
    let mut run = start_run(&device, "30s");
    std::thread::sleep(Duration::from_secs(2));
    assert!(run.0.try_wait().unwrap().is_none(), "it ended early");
    File::create(&go).unwrap();
    assert_run_ends_because_of(&mut run, user.0.id(), "open for writing");
}

#[test]
fn run_ends_when_a_process_opens_the_image_below_its_device() {
    let Some((sandbox, device, ..)) = device_and_directories() else {
        return;
    };
    let mut run = start_run(&device, "30s");
    let open = OpenOptions::new()
        .write(true)
        .open(sandbox.path("image"))
        .unwrap();
    assert_run_ends_because_of(&mut run, std::process::id(), "open for writing");
    drop(open);
}

#[test]
fn run_ends_when_a_process_opens_its_file() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let arguments = ["--duration", "30s", "--rate", "100/s"];
    let mut command = overwrite_command(file.as_os_str(), &arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = Background(command.spawn().unwrap());
    wait_until("it writes", || {
        test_content(&file).iter().any(|byte| *byte != 0)
    });
    let open = OpenOptions::new().write(true).open(&file).unwrap();
    assert_run_ends_because_of(&mut run, std::process::id(), "open for writing");
    drop(open);
}

/// Keeps a shared writable mapping of a file or device, and no descriptor.
const MAPPING_SCRIPT: &str = "
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(file, 4096)
os.close(file)
time.sleep(600)
";

/// Reads a file or device, and runs a virtual machine, as it seems.
const MONITOR_SCRIPT: &str = "
import os, sys, time
disk = os.open(sys.argv[1], os.O_RDONLY)
machine = os.open('/dev/kvm', os.O_RDWR)
open(sys.argv[2], 'w').close()
time.sleep(600)
";

fn python(script: &str, arguments: &[&Path]) -> Option<Background> {
    let mut command = Command::new("python3");
    command.args(["-c", script]).args(arguments);
    let child = command.stdin(Stdio::null()).spawn();
    match child {
        Ok(child) => Some(Background(child)),
        Err(_) => {
            skip(Requirement::Program, "no python3");
            None
        }
    }
}

#[test]
fn run_ends_when_a_process_maps_its_device() {
    let Some((_sandbox, device, ..)) = device_and_directories() else {
        return;
    };
    let mut run = start_run(&device, "30s");
    let Some(user) = python(MAPPING_SCRIPT, &[device.path().as_ref()]) else {
        return;
    };
    assert_run_ends_because_of(&mut run, user.0.id(), "mapped for writing");
}

#[test]
fn device_that_a_monitor_of_virtual_machines_reads_is_not_written() {
    if OpenOptions::new().write(true).open("/dev/kvm").is_err() {
        return skip(Requirement::Files, "no /dev/kvm");
    }
    let Some((_sandbox, device, _, ready)) = device_and_directories() else {
        return;
    };
    let arguments = [device.path().as_ref(), ready.as_path()];
    let Some(monitor) = python(MONITOR_SCRIPT, &arguments) else {
        return;
    };
    wait_until("it reads", || ready.exists());
    assert_refused(&run_overwrite(device.path()), "virtual machine");
    drop(monitor);
    let mut run = start_run(&device, "30s");
    let Some(monitor) = python(MONITOR_SCRIPT, &arguments) else {
        return;
    };
    assert_run_ends_because_of(&mut run, monitor.0.id(), "virtual machine");
}

#[test]
fn processes_that_read_a_device_do_not_end_a_run() {
    let Some((sandbox, device, ..)) = device_and_directories() else {
        return;
    };
    let mut run = start_run(&device, "4s");
    let readers = [device.path().as_ref(), sandbox.path("image").as_path()].map(File::open);
    // As udev locks the disk of a partition that is written: the run holds the lock of its node only.
    let number = std::fs::metadata(device.path()).unwrap().rdev();
    let node = sandbox.path("node");
    let kind = rustix::fs::FileType::BlockDevice;
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &node, kind, mode, number).unwrap();
    let locked = File::open(&node).unwrap();
    rustix::fs::flock(&locked, FlockOperation::NonBlockingLockShared).unwrap();
    for _ in 0..5 {
        // As udev does with a device that changes.
        let _ = command_output("blkid", &["-p", device.path()]);
        std::thread::sleep(Duration::from_millis(300));
    }
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert_eq!(run.0.wait().unwrap().code(), Some(0));
    drop(readers);
}

/// Whether the lock that QEMU tries first on an image that it writes would be granted: byte 100, an
/// open file description lock.
fn is_granted_to_qemu(file: &File) -> bool {
    const F_OFD_GETLK: libc::c_int = 36;
    // SAFETY: struct flock consists of numbers, for which zero is valid.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = libc::F_WRLCK as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    (request.l_start, request.l_len) = (100, 1);
    // SAFETY: F_OFD_GETLK reads and writes the struct flock whose address is given.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), F_OFD_GETLK, &raw mut request) };
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
    i32::from(request.l_type) == libc::F_UNLCK
}

#[test]
fn image_below_a_device_is_locked_while_the_device_is_written() {
    let Some((sandbox, device, ..)) = device_and_directories() else {
        return;
    };
    let image = File::open(sandbox.path("image")).unwrap();
    let is_free = || {
        let locked = rustix::fs::flock(&image, FlockOperation::NonBlockingLockShared);
        rustix::fs::flock(&image, FlockOperation::Unlock).unwrap();
        (locked.is_ok(), is_granted_to_qemu(&image))
    };
    assert_eq!(is_free(), (true, true));
    let run = start_run(&device, "30s");
    assert_eq!(is_free(), (false, false));
    drop(run);
    wait_until("the locks have gone", || is_free() == (true, true));
    assert_written(&run_overwrite(device.path()));
    assert_eq!(is_free(), (true, true));
    // Nothing keeps it open.
    drop((image, device));
    fs::remove_file(sandbox.path("image")).unwrap();
}
