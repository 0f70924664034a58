//! A worker that is killed alone, and signals that end the supervisor: the settings are restored
//! before the program has ended, without another start.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output};

use rustix::process::{Pid, Signal, kill_process};

use crate::held_opens::HeldOpens;
use crate::process::worker_id;
use crate::settings::sandbox::{ORIGINAL_READ_AHEAD, ReadAheadTarget, SettingsSandbox, stderr};

/// A benchmark that has changed the read-ahead and waits.
struct Benchmark {
    child: Child,
    worker: Pid,
    held: HeldOpens,
}

impl Benchmark {
    fn start(sandbox: &SettingsSandbox, target: &ReadAheadTarget) -> Option<Self> {
        let held = target.hold_opens()?;
        let mut command = sandbox.read_ahead(target);
        let child = command.args(["--duration", "60s"]).spawn().unwrap();
        held.wait();
        assert_ne!(target.read_ahead(), ORIGINAL_READ_AHEAD);
        let worker = worker_id(&child).and_then(Pid::from_raw).unwrap();
        Some(Self {
            child,
            worker,
            held,
        })
    }

    fn supervisor(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The output of the program after a signal to one of its processes.
    fn output_after(self, target: Pid, signal: Signal) -> Output {
        kill_process(target, signal).unwrap();
        self.child.wait_with_output().unwrap()
    }

    /// The same, where the benchmark goes on after the signal.
    fn output_after_going_on(self, target: Pid, signal: Signal) -> Output {
        kill_process(target, signal).unwrap();
        self.held.release();
        self.child.wait_with_output().unwrap()
    }
}

#[track_caller]
fn assert_restored(target: &ReadAheadTarget, signal: Signal, output: &Output) {
    assert_eq!(
        target.read_ahead(),
        ORIGINAL_READ_AHEAD,
        "{signal:?}: {}",
        stderr(output)
    );
}

#[test]
fn setting_is_restored_when_only_the_worker_is_killed() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    for signal in [Signal::KILL, Signal::ABORT, Signal::QUIT] {
        let Some(benchmark) = Benchmark::start(&sandbox, &target) else {
            return;
        };
        let worker = benchmark.worker;
        let output = benchmark.output_after(worker, signal);
        assert_restored(&target, signal, &output);
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
        let message = stderr(&output);
        assert!(message.contains("is 96 again"), "{message}");
    }
}

#[test]
fn supervisor_passes_signals_on_so_that_the_result_is_saved_and_the_setting_restored() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
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
        let Some(benchmark) = Benchmark::start(&sandbox, &target) else {
            return;
        };
        let supervisor = benchmark.supervisor();
        let output = benchmark.output_after_going_on(supervisor, signal);
        assert_restored(&target, signal, &output);
        assert_eq!(output.status.code(), Some(130), "{signal:?}: {output:?}");
        let message = String::from_utf8_lossy(&output.stdout);
        assert!(message.contains("INTERRUPTED"), "{signal:?}: {message}");
    }
}

#[test]
fn setting_is_restored_when_supervisor_receives_signal_of_a_fault() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
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
        let Some(benchmark) = Benchmark::start(&sandbox, &target) else {
            return;
        };
        let supervisor = benchmark.supervisor();
        let output = benchmark.output_after(supervisor, signal);
        assert_restored(&target, signal, &output);
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
    }
}

#[test]
fn setting_is_restored_when_a_second_signal_ends_the_worker_at_once() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    let Some(benchmark) = Benchmark::start(&sandbox, &target) else {
        return;
    };
    let supervisor = benchmark.supervisor();
    // It cannot act on the first one.
    kill_process(benchmark.worker, Signal::STOP).unwrap();
    kill_process(supervisor, Signal::TERM).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let output = benchmark.output_after(supervisor, Signal::TERM);
    assert_restored(&target, Signal::TERM, &output);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
}

#[test]
fn value_that_is_set_after_a_kill_is_kept_although_the_benchmark_had_set_it() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    let (sender, values) = std::sync::mpsc::channel();
    let mut seen = BTreeSet::new();
    // Until the benchmark has replaced its first value twice.
    let Some(held) = target.hold_opens_when(move |value| {
        if value != ORIGINAL_READ_AHEAD && seen.insert(value.clone()) {
            sender.send(value).unwrap();
        }
        seen.len() == 3
    }) else {
        return;
    };
    let mut child = sandbox.read_ahead(&target).spawn().unwrap();
    held.wait();
    child.kill().unwrap();
    child.wait().unwrap();
    let earlier = values.recv().unwrap();
    assert_ne!(target.read_ahead(), ORIGINAL_READ_AHEAD);
    assert_ne!(target.read_ahead(), earlier);
    assert!(target.drive().set("read_ahead_kb", earlier.trim()));
    sandbox.start_and_restore();
    assert_eq!(target.read_ahead(), earlier);
}
