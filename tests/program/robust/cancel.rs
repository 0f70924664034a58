//! A drive that takes five seconds for a request, and a user who does not wait: the prompt is back
//! within a second, and what was measured is saved.

use std::fs;
use std::path::Path;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use diskscope::session::document::{MetricId, RunState};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::requirement::Requirement;
use crate::robust::sandbox::{RunSandbox, kill_and_wait, stderr, wait_until, worker};
use crate::slow_disk::{Operation, SlowDisk};

/// A second, and what a machine busy with other tests may add.
const MAX_CANCEL_TIME: Duration = Duration::from_millis(1500);

/// Sends a signal and waits for the end, until nobody has the program's output open any more.
fn signal_and_wait(child: Child, signal: Signal) -> (Output, Duration) {
    let began = Instant::now();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    (output, began.elapsed())
}

fn assert_exits_promptly(output: &Output, took: Duration, what: &str) {
    let message = stderr(output);
    assert!(took < MAX_CANCEL_TIME, "{what}: {took:?}\n{message}");
    assert_eq!(output.status.code(), Some(130), "{what}: {message}");
}

/// The process that stays is named, is in the table of processes, and ends when the drive answers.
fn assert_blocked_process_named(output: &Output, disk: &SlowDisk, what: &str) {
    let message = stderr(output);
    let (_, rest) = message
        .split_once("diskscope: process ")
        .unwrap_or_else(|| panic!("{what}: {message}"));
    let pid: u32 = rest.split_once(' ').unwrap().0.parse().unwrap();
    disk.be_quick();
    wait_until("the end of what was left behind", || {
        !Path::new(&format!("/proc/{pid}")).exists()
    });
}

fn assert_interrupted(sandbox: &RunSandbox, what: &str) {
    let session = sandbox.session();
    assert_eq!(session.runs[0].state, RunState::Interrupted, "{what}");
    let saved = sandbox.saved_sessions();
    assert!(
        saved[0].extension().is_some_and(|ending| ending == "json"),
        "{what}: {saved:?}"
    );
}

#[test]
fn hanging_open_can_be_cancelled() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    disk.slow_down(Operation::Open);
    let sandbox = RunSandbox::new();
    let file = disk.file();
    let run = ["run", "random-read", file.to_str().unwrap()];
    let child = sandbox.command(&run).spawn().unwrap();
    wait_until("an open", || disk.is_waited_for(Operation::Open));
    let (output, took) = signal_and_wait(child, Signal::INT);
    assert_exits_promptly(&output, took, "open");
    let message = stderr(&output);
    assert!(message.contains("while opening"), "{message}");
    assert!(message.contains("nothing was measured"), "{message}");
    assert!(sandbox.saved_sessions().is_empty());
    assert_blocked_process_named(&output, &disk, "open");
}

#[test]
fn command_with_hanging_file_can_be_cancelled() {
    for command in ["show", "compare", "report", "replay"] {
        let Some(disk) = SlowDisk::mount() else {
            return;
        };
        disk.slow_down(Operation::Open);
        let sandbox = RunSandbox::new();
        let (file, output) = (disk.file(), sandbox.path().join("out.html"));
        let mut words = vec![command, file.to_str().unwrap()];
        match command {
            "compare" => words.push(file.to_str().unwrap()),
            "report" => words.extend(["-o", output.to_str().unwrap()]),
            _ => {}
        }
        let child = sandbox.command(&words).spawn().unwrap();
        wait_until("an open", || disk.is_waited_for(Operation::Open));
        // The process that stays keeps its standard error open: only the prompt is timed.
        let mut child = child;
        let began = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let status = child.wait().unwrap();
        let took = began.elapsed();
        disk.be_quick();
        let message = stderr(&child.wait_with_output().unwrap());
        assert!(took < MAX_CANCEL_TIME, "{command}: {took:?}\n{message}");
        assert_eq!(status.code(), Some(130), "{command}: {message}");
        assert!(message.contains("continues to run"), "{command}: {message}");
        assert!(!message.contains("journal"), "{command}: {message}");
    }
}

#[test]
fn hanging_scratch_fill_can_be_cancelled() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    disk.slow_down(Operation::Write);
    let sandbox = RunSandbox::new();
    let directory = disk.directory();
    let run = ["run", "random-read", directory.to_str().unwrap()];
    let child = sandbox.command(&run).spawn().unwrap();
    wait_until("a write", || disk.is_waited_for(Operation::Write));
    let (output, took) = signal_and_wait(child, Signal::INT);
    assert_exits_promptly(&output, took, "fill");
    assert!(
        stderr(&output).contains("filling the scratch file"),
        "{}",
        stderr(&output)
    );
    assert!(sandbox.saved_sessions().is_empty());
    assert_blocked_process_named(&output, &disk, "fill");
}

/// A block device whose requests take five seconds when the file's do.
fn slow_device(disk: &SlowDisk) -> Option<LoopDevice> {
    LoopDevice::attach(&disk.file(), &[])
}

#[test]
fn hanging_signature_inspection_can_be_cancelled() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = slow_device(&disk) else {
        return;
    };
    disk.slow_down(Operation::Read);
    let sandbox = RunSandbox::new();
    // Without consent it is refused with what is on it.
    let run = ["run", "random-write", device.path()];
    let child = sandbox.command(&run).spawn().unwrap();
    wait_until("a read", || disk.is_waited_for(Operation::Read));
    let (output, took) = signal_and_wait(child, Signal::INT);
    assert_exits_promptly(&output, took, "inspect");
    let message = stderr(&output);
    assert!(message.contains("while looking at what is on"), "{message}");
    assert_blocked_process_named(&output, &disk, "inspect");
}

#[test]
fn hanging_run_preparation_can_be_cancelled() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = slow_device(&disk) else {
        return;
    };
    disk.slow_down(Operation::Open);
    let sandbox = RunSandbox::new();
    // What is there to be read is looked at before the run begins: in the file behind the device.
    let run = ["run", "random-read", device.path()];
    let child = sandbox.command(&run).spawn().unwrap();
    wait_until("an open", || disk.is_waited_for(Operation::Open));
    let (output, took) = signal_and_wait(child, Signal::INT);
    assert_exits_promptly(&output, took, "prepare");
    assert_interrupted(&sandbox, "prepare");
    assert_blocked_process_named(&output, &disk, "prepare");
}

/// Whether the journal holds a metric.
fn journal_has_metric(sandbox: &RunSandbox) -> bool {
    let Some(path) = sandbox.saved_sessions().into_iter().next() else {
        return false;
    };
    fs::read_to_string(path).is_ok_and(|text| text.contains("\"iops\""))
}

fn assert_run_interruptible(engine: &str, on_device: bool, signal: Signal) {
    let what = format!("{engine}, device: {on_device}, {signal:?}");
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let device = match on_device {
        true => match slow_device(&disk) {
            Some(device) => Some(device),
            None => return,
        },
        false => None,
    };
    let sandbox = RunSandbox::new();
    let file = disk.file();
    let target = device
        .as_ref()
        .map_or(file.to_str().unwrap(), LoopDevice::path);
    let options = ["--duration", "60s", "--depth", "4", "--engine", engine];
    let run = [&["run", "random-read", target][..], &options].concat();
    let child = sandbox.command(&run).spawn().unwrap();
    wait_until("a metric in the journal", || journal_has_metric(&sandbox));
    disk.slow_down(Operation::Read);
    wait_until("a slow read", || disk.is_waited_for(Operation::Read));
    let (output, took) = signal_and_wait(child, signal);
    assert_exits_promptly(&output, took, &what);
    assert_interrupted(&sandbox, &what);
    let run = &sandbox.session().runs[0];
    assert!(run.findings.metric(&MetricId::IOPS).is_some(), "{what}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("random-read"),
        "{what}: the result is printed"
    );
    // Through io_uring the kernel alone waits for a block device, and no process stays.
    if !(on_device && engine == "uring") {
        assert_blocked_process_named(&output, &disk, &what);
    }
    disk.be_quick();
}

#[test]
fn pread_run_can_be_cancelled_by_any_signal() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        assert_run_interruptible("pread", false, signal);
    }
    assert_run_interruptible("pread", true, Signal::INT);
}

#[test]
fn uring_run_can_be_cancelled_by_any_signal() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        assert_run_interruptible("uring", false, signal);
    }
    assert_run_interruptible("uring", true, Signal::INT);
}

#[test]
fn hanging_end_fsync_can_be_cancelled() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = slow_device(&disk) else {
        return;
    };
    disk.slow_down(Operation::Fsync);
    let sandbox = RunSandbox::new();
    let path = device.path();
    let run = ["run", "write-sync-close", path, "--overwrite", path];
    let child = sandbox.command(&run).spawn().unwrap();
    wait_until("an fsync", || disk.is_waited_for(Operation::Fsync));
    let (output, took) = signal_and_wait(child, Signal::TERM);
    assert_exits_promptly(&output, took, "fsync");
    assert_interrupted(&sandbox, "fsync");
    assert_blocked_process_named(&output, &disk, "fsync");
}

#[test]
fn signal_to_group_and_process_counts_once() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let sandbox = RunSandbox::new();
    let file = disk.file();
    let path = file.to_str().unwrap();
    let mut run = sandbox.command(&["run", "random-read", path, "--duration", "60s"]);
    std::os::unix::process::CommandExt::process_group(&mut run, 0);
    let child = run.spawn().unwrap();
    wait_until("a metric in the journal", || journal_has_metric(&sandbox));
    let id = Pid::from_child(&child);
    // As timeout(1) does.
    rustix::process::kill_process_group(id, Signal::TERM).unwrap();
    let (output, took) = signal_and_wait(child, Signal::TERM);
    assert_exits_promptly(&output, took, "group");
    assert_interrupted(&sandbox, "group");
    assert!(
        !stderr(&output).contains("continues to run"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn killed_program_stops_its_io_load() {
    let sandbox = RunSandbox::new();
    let mut child = sandbox
        .run("random-read", &["--duration", "60s"])
        .spawn()
        .unwrap();
    wait_until("the journal", || !sandbox.saved_sessions().is_empty());
    assert!(worker(&child).is_some());
    kill_and_wait(&mut child);
}

/// Whether anybody may mount a device or stack another one on it.
fn is_held(device: &LoopDevice) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    match rustix::fs::open(device.path(), flags, Mode::empty()) {
        Ok(_) => false,
        Err(error) => error == Errno::BUSY,
    }
}

/// Starts a run that overwrites a target; returns when it has measured something.
fn start_writing(sandbox: &RunSandbox, target: &str, options: &[&str]) -> Child {
    let run = ["run", "random-write", target, "--overwrite", target];
    let run = [&run[..], &["--duration", "60s"], options].concat();
    let child = sandbox.command(&run).spawn().unwrap();
    wait_until("a metric in the journal", || journal_has_metric(sandbox));
    child
}

/// Stops a run that overwrites a target on a disk while its writes wait for the disk. They still do then.
fn stop_while_writes_hang(disk: &SlowDisk, target: &str, engine: &str) {
    let sandbox = RunSandbox::new();
    let child = start_writing(&sandbox, target, &["--depth", "4", "--engine", engine]);
    disk.slow_down(Operation::Write);
    wait_until("a slow write", || disk.is_waited_for(Operation::Write));
    let (output, took) = signal_and_wait(child, Signal::INT);
    assert_exits_promptly(&output, took, engine);
    assert!(disk.is_waited_for(Operation::Write), "{engine}");
}

#[test]
fn device_stays_held_until_writes_of_a_cancelled_run_are_complete() {
    for engine in ["uring", "pread"] {
        let Some(disk) = SlowDisk::mount() else {
            return;
        };
        let Some(device) = slow_device(&disk) else {
            return;
        };
        stop_while_writes_hang(&disk, device.path(), engine);
        assert!(is_held(&device), "{engine}");
        disk.be_quick();
        wait_until("the end of the writes", || !is_held(&device));
    }
}

/// Whether whoever opens the file has to wait for its lease.
fn is_leased(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    opened.is_err_and(|error| error == Errno::AGAIN)
}

#[test]
fn file_stays_leased_until_writes_of_a_cancelled_run_are_complete() {
    for engine in ["uring", "pread"] {
        let Some(disk) = SlowDisk::mount() else {
            return;
        };
        let Some(device) = slow_device(&disk) else {
            return;
        };
        let Some(file_system) = LoopFileSystem::on(device, "ext4", &[], Requirement::Ext4) else {
            return;
        };
        let file = file_system.file_path("disk.img");
        fs::write(&file, vec![0x5a; 8 << 20]).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
        stop_while_writes_hang(&disk, file.to_str().unwrap(), engine);
        assert!(is_leased(&file), "{engine}");
        disk.be_quick();
        wait_until("the end of the writes", || !is_leased(&file));
    }
}

/// The requests that are being cancelled, and those that never reach the kernel, are counted.
#[test]
fn every_request_of_a_cancelled_writing_run_is_accounted_for() {
    let Some(device) = LoopDevice::with(&vec![0x5a; 64 << 20]) else {
        return;
    };
    for sync in ["none", "dsync", "none", "dsync", "none", "dsync"] {
        let sandbox = RunSandbox::new();
        let child = start_writing(&sandbox, device.path(), &["--depth", "32", "--sync", sync]);
        let (output, took) = signal_and_wait(child, Signal::INT);
        assert_exits_promptly(&output, took, sync);
        assert_interrupted(&sandbox, sync);
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
        assert!(!is_held(&device), "{sync}");
    }
}
