//! What happens to a target while it is written.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::guard::sandbox::{
    self, Background, GuardSandbox, IMAGE_BYTES, assert_refused, is_locked, is_root,
    overwrite_arguments, overwrite_command, run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::process::worker_id;
use crate::requirement::{Requirement, skip};

/// A run of half a minute that has begun to write.
fn start_writing_run(target: &std::path::Path) -> Background {
    let mut command = overwrite_command(
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
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let first = start_writing_run(&file);
    assert_refused(&run_overwrite(&file), "holds a lock on");
    drop(first);
}

#[test]
fn run_ends_at_once_when_its_file_is_attached_to_a_loop_device() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let mut run = start_writing_run(&file);
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
    let message = run["error"].to_string();
    assert!(message.contains("is attached to"), "{message}");
    drop(device);
}

/// Waits for a run to end by itself because its target came into use.
#[track_caller]
fn assert_run_ends(run: &mut Background) {
    let began = std::time::Instant::now();
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    assert_eq!(run.0.wait().unwrap().code(), Some(3));
}

#[test]
fn run_ends_when_attached_loop_device_switches_to_its_file() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let (file, other) = (sandbox.create_image("file"), sandbox.create_image("other"));
    let Some(device) = LoopDevice::attach(&other, &["--read-only"]) else {
        return;
    };
    let mut run = start_writing_run(&file);
    // The watch has looked at what is attached.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let node = File::open(device.path()).unwrap();
    let image = File::open(&file).unwrap();
    // SAFETY: LOOP_CHANGE_FD takes a descriptor and no pointer.
    let changed = unsafe { libc::ioctl(node.as_raw_fd(), 0x4C06, image.as_raw_fd()) };
    assert_eq!(changed, 0, "{}", std::io::Error::last_os_error());
    assert_run_ends(&mut run);
}

#[test]
fn run_of_ordinary_user_ends_when_a_loop_device_is_attached_to_its_file() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    chown(&file, Some(1000), Some(1000)).unwrap();
    let readable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.directory.path(), readable).unwrap();
    let state = sandbox.subdirectory("state");
    chown(&state, Some(1000), Some(1000)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "1000", "--regid", "1000", "--clear-groups"]);
    command.arg(env!("CARGO_BIN_EXE_diskscope"));
    let more = ["--duration", "30s", "--rate", "100/s"];
    overwrite_arguments(&mut command, file.as_os_str(), &more);
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
    assert_run_ends(&mut run);
    drop(device);
}

/// The processes of a run: the program, and the worker that it starts.
fn processes_of(run: &Background) -> Vec<Pid> {
    let worker = worker_id(&run.0).and_then(Pid::from_raw);
    std::iter::once(Pid::from_child(&run.0))
        .chain(worker)
        .collect()
}

/// Requests that a worker may have checked just before it was stopped, and that it still submits
/// afterwards (docs/safety.md): one batch.
const CHECKED_BEFORE_STOP: usize = 8;

/// No more of the file changes than one batch of requests of 4 KiB, and nothing after that.
#[track_caller]
fn assert_content_unchanged(file: &Path, before: &[u8]) {
    let looks = Instant::now();
    let mut after_stop = None;
    while looks.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(20));
        let now = test_content(file);
        let pairs = now.chunks(4096).zip(before.chunks(4096));
        let changed = pairs.filter(|(now, before)| now != before).count();
        assert!(changed <= CHECKED_BEFORE_STOP, "{changed} blocks changed");
        // The gate closes within its half second: what changes later was submitted later.
        if looks.elapsed() > Duration::from_secs(1) {
            let settled = after_stop.get_or_insert_with(|| now.clone());
            assert!(now == *settled, "the bytes still change");
        }
    }
}

/// Starts a run, stops all of it, has the file attached to a loop device meanwhile, and lets the run
/// go on: nothing may be written any more.
fn assert_no_write_after_stop(engine: &str, more: &[&str]) {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::exclusive();
    let file = sandbox.create_image("file");
    fs::write(&file, vec![0; usize::try_from(IMAGE_BYTES).unwrap()]).unwrap();
    let mut arguments = vec!["--duration", "30s", "--engine", engine];
    arguments.extend(more);
    let mut command = overwrite_command(file.as_os_str(), &arguments);
    command.stdout(Stdio::null());
    let mut run = Background(command.spawn().unwrap());
    wait_until("it writes", || {
        test_content(&file).iter().any(|byte| *byte != 0)
    });
    let processes = processes_of(&run);
    assert_eq!(processes.len(), 2, "{processes:?}");
    for process in &processes {
        kill_process(*process, Signal::STOP).unwrap();
    }
    wait_until("it is stopped", || {
        processes.iter().all(|it| is_stopped(*it))
    });
    // Longer than the gap that the workers tolerate.
    std::thread::sleep(Duration::from_millis(700));
    let Some(device) = LoopDevice::attach(&file, &[]) else {
        return;
    };
    let before = test_content(&file);
    for process in processes.iter().rev() {
        kill_process(*process, Signal::CONT).unwrap();
    }
    assert_content_unchanged(&file, &before);
    assert_run_ends(&mut run);
    drop(device);
}

fn is_stopped(process: Pid) -> bool {
    let directory = format!("/proc/{}/task", process.as_raw_nonzero());
    fs::read_dir(directory).unwrap().all(|thread| {
        let status = fs::read_to_string(thread.unwrap().path().join("status"));
        status.is_ok_and(|status| status.contains("State:\tT"))
    })
}

#[test]
fn pread_run_stopped_during_file_attachment_writes_nothing() {
    assert_no_write_after_stop("pread", &["--rate", "2000/s"]);
}

#[test]
fn uring_run_stopped_during_file_attachment_writes_nothing() {
    assert_no_write_after_stop("uring", &["--rate", "2000/s", "--depth", "8"]);
}

/// The two sides of a new terminal.
fn open_pty() -> (File, File) {
    let (mut master, mut slave) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: openpty writes two descriptors, which are new and owned by nobody else; it accepts
    // null for the name, the settings and the size.
    unsafe {
        let answer = libc::openpty(&mut master, &mut slave, none, none.cast(), none.cast());
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
        (File::from_raw_fd(master), File::from_raw_fd(slave))
    }
}

/// Asserts that a run whose file is attached to a loop device now soon writes nothing any more.
fn assert_writing_stops(run: &Background, file: &Path) {
    let Some(device) = LoopDevice::attach(file, &[]) else {
        return;
    };
    std::thread::sleep(Duration::from_secs(1));
    assert_content_unchanged(file, &test_content(file));
    assert_eq!(processes_of(run).len(), 2, "the run has ended already");
    drop(device);
}

#[test]
fn run_with_blocked_terminal_stops_writing_when_file_is_attached() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::exclusive();
    let file = sandbox.create_image("file");
    let (master, slave) = open_pty();
    let more = ["--duration", "30s", "--rate", "200/s"];
    let mut command = overwrite_command(file.as_os_str(), &more);
    command.stdout(Stdio::null());
    command.stderr(slave.try_clone().unwrap());
    let run = Background(command.spawn().unwrap());
    wait_until("it writes", || fs::metadata(&file).unwrap().blocks() > 0);
    // SAFETY: tcflow takes a descriptor and a number.
    let blocked = unsafe { libc::tcflow(slave.as_raw_fd(), libc::TCOOFF) };
    assert_eq!(blocked, 0);
    std::thread::sleep(Duration::from_secs(1));
    assert_writing_stops(&run, &file);
    drop((run, master));
}

#[test]
fn run_with_frozen_session_directory_stops_writing_on_attachment() {
    if !is_root() {
        return;
    }
    let mut sandbox = GuardSandbox::exclusive();
    let file = sandbox.create_image("file");
    let sessions = sandbox.create_image("sessions");
    let Some(device) = sandbox.mounted_loop_device(&sessions, &[]) else {
        return;
    };
    let state = sandbox.path("mounted-0");
    let state_name = state.to_str().unwrap().to_owned();
    let more = ["--duration", "30s", "--rate", "200/s"];
    let mut command = overwrite_command(file.as_os_str(), &more);
    command.stdout(Stdio::null()).env("XDG_STATE_HOME", &state);
    let run = Background(command.spawn().unwrap());
    wait_until("it writes", || fs::metadata(&file).unwrap().blocks() > 0);
    if sandbox::command_output("fsfreeze", &["-f", &state_name]).is_none() {
        return skip(Requirement::Program, "no fsfreeze");
    }
    let thaw = Thaw(state_name);
    std::thread::sleep(Duration::from_secs(2));
    assert_writing_stops(&run, &file);
    let processes = processes_of(&run);
    drop((thaw, run));
    // The worker keeps the directory open for a moment longer.
    wait_until("all of it has ended", || {
        let is_there = |it: &Pid| fs::exists(format!("/proc/{}", it.as_raw_nonzero())).unwrap();
        !processes.iter().any(is_there)
    });
    drop((sandbox, device));
}

/// Lets a file system go on at the end.
struct Thaw(String);

impl Drop for Thaw {
    fn drop(&mut self) {
        sandbox::command_output("fsfreeze", &["-u", &self.0]);
    }
}

#[test]
fn run_on_a_loop_device_ends_when_another_is_attached_to_its_image() {
    let sandbox = GuardSandbox::exclusive();
    let image = sandbox.create_image("image");
    let Some(target) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let mut command = overwrite_command(
        target.path().as_ref(),
        &["--duration", "30s", "--rate", "100/s"],
    );
    command.stdout(Stdio::null());
    let mut run = Background(command.spawn().unwrap());
    // What is attached while writing is being permitted is held instead.
    wait_until("it writes", || {
        test_content(target.path().as_ref())
            .iter()
            .any(|byte| *byte != 0)
    });
    let Some(sibling) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_run_ends(&mut run);
    drop(sibling);
}
