//! A worker that is killed alone, and signals that end the supervisor: the settings are restored
//! before the program has ended, without another start.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output};

use rustix::process::{Pid, Signal, kill_process};

use crate::loop_device::LoopDevice;
use crate::process::worker_id;
use crate::settings::sandbox::{ORIGINAL_READ_AHEAD, SettingsSandbox, stderr, wait_until};

/// A loop device that takes seconds to read; its directory goes last.
fn large_device() -> Option<(LoopDevice, tempfile::TempDir)> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = directory.path().join("disk");
    File::create(&file).unwrap().set_len(1 << 30).unwrap();
    let drive = LoopDevice::attach(&file, &[])?;
    let is_set = drive.set("read_ahead_kb", ORIGINAL_READ_AHEAD.trim());
    is_set.then_some((drive, directory))
}

/// A benchmark that has changed the read-ahead and goes on for seconds, and its worker.
fn start_benchmark(sandbox: &SettingsSandbox, drive: &LoopDevice) -> (Child, Pid) {
    let mut command = sandbox.read_ahead(drive);
    let child = command
        .args(["--duration", "60s", "--step-bytes", "1GiB"])
        .spawn()
        .unwrap();
    wait_until("a changed setting", || {
        drive.queue("read_ahead_kb") != ORIGINAL_READ_AHEAD
    });
    let worker = worker_id(&child).and_then(Pid::from_raw).unwrap();
    (child, worker)
}

/// The output of the program after a signal to one of its processes.
fn output_after(child: Child, target: Pid, signal: Signal) -> Output {
    kill_process(target, signal).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn assert_restored(drive: &LoopDevice, signal: Signal, output: &Output) {
    assert_eq!(
        drive.queue("read_ahead_kb"),
        ORIGINAL_READ_AHEAD,
        "{signal:?}: {}",
        stderr(output)
    );
}

#[test]
fn setting_is_restored_when_only_the_worker_is_killed() {
    let (Some(sandbox), Some((drive, _directory))) = (SettingsSandbox::new(), large_device())
    else {
        return;
    };
    for signal in [Signal::KILL, Signal::ABORT, Signal::QUIT] {
        let (child, worker) = start_benchmark(&sandbox, &drive);
        let output = output_after(child, worker, signal);
        assert_restored(&drive, signal, &output);
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
        let message = stderr(&output);
        assert!(message.contains("is 96 again"), "{message}");
    }
}

#[test]
fn supervisor_passes_signals_on_so_that_the_result_is_saved_and_the_setting_restored() {
    let (Some(sandbox), Some((drive, _directory))) = (SettingsSandbox::new(), large_device())
    else {
        return;
    };
    for signal in [
        Signal::TERM,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::XCPU,
        Signal::IO,
    ] {
        let (child, _) = start_benchmark(&sandbox, &drive);
        let supervisor = Pid::from_child(&child);
        let output = output_after(child, supervisor, signal);
        assert_restored(&drive, signal, &output);
        assert_eq!(output.status.code(), Some(130), "{signal:?}: {output:?}");
        let message = String::from_utf8_lossy(&output.stdout);
        assert!(message.contains("INTERRUPTED"), "{signal:?}: {message}");
    }
}

#[test]
fn setting_is_restored_when_supervisor_receives_signal_of_a_fault() {
    let (Some(sandbox), Some((drive, _directory))) = (SettingsSandbox::new(), large_device())
    else {
        return;
    };
    for signal in [
        Signal::QUIT,
        Signal::TRAP,
        Signal::SYS,
        Signal::ABORT,
        Signal::POWER,
        Signal::STKFLT,
    ] {
        let (child, _) = start_benchmark(&sandbox, &drive);
        let supervisor = Pid::from_child(&child);
        let output = output_after(child, supervisor, signal);
        assert_restored(&drive, signal, &output);
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
    }
}

#[test]
fn setting_is_restored_when_a_second_signal_ends_the_worker_at_once() {
    let (Some(sandbox), Some((drive, _directory))) = (SettingsSandbox::new(), large_device())
    else {
        return;
    };
    let (child, worker) = start_benchmark(&sandbox, &drive);
    let supervisor = Pid::from_child(&child);
    // It cannot act on the first one.
    kill_process(worker, Signal::STOP).unwrap();
    kill_process(supervisor, Signal::TERM).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let output = output_after(child, supervisor, Signal::TERM);
    assert_restored(&drive, Signal::TERM, &output);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
}

/// A value that a benchmark has set, and has replaced twice by other ones since.
fn earlier_value(drive: &LoopDevice) -> String {
    let mut seen: Vec<String> = Vec::new();
    wait_until("three values of the setting", || {
        let now = drive.queue("read_ahead_kb");
        if now != ORIGINAL_READ_AHEAD && !seen.contains(&now) {
            seen.push(now);
        }
        seen.len() == 3
    });
    seen.remove(0)
}

#[test]
fn value_that_is_set_after_a_kill_is_kept_although_the_benchmark_had_set_it() {
    let (Some(sandbox), Some((drive, _directory))) = (SettingsSandbox::new(), large_device())
    else {
        return;
    };
    let mut command = sandbox.read_ahead(&drive);
    let mut child = command.args(["--step-bytes", "256MiB"]).spawn().unwrap();
    let earlier = earlier_value(&drive);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(drive.queue("read_ahead_kb"), ORIGINAL_READ_AHEAD);
    assert!(drive.set("read_ahead_kb", earlier.trim()));
    sandbox.start_and_restore();
    assert_eq!(drive.queue("read_ahead_kb"), earlier);
}
