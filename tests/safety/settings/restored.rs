//! Benchmarks that change a setting, alone or several at once, ended in every way: the setting is restored
//! before the program has ended, or at the next start.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output};
use std::time::Duration;

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

    /// The output of the program after a signal to one of its processes. `goes_on`: the worker's open is no
    /// longer held then.
    fn output_after(self, process: Pid, signal: Signal, goes_on: bool) -> Output {
        kill_process(process, signal).unwrap();
        if goes_on {
            self.held.release();
        }
        self.child.wait_with_output().unwrap()
    }
}

fn sandbox_and_target() -> Option<(SettingsSandbox, ReadAheadTarget)> {
    Some((SettingsSandbox::new()?, ReadAheadTarget::new()?))
}

#[test]
fn setting_is_restored_before_the_program_has_ended() {
    let Some((sandbox, target)) = sandbox_and_target() else {
        return;
    };
    // Signals that end the worker or the supervisor at once, and those after which the run saves its result.
    for (to_worker, signal, saves) in [
        (true, Signal::KILL, false),
        (true, Signal::ABORT, false),
        (false, Signal::QUIT, false),
        (false, Signal::TRAP, false),
        (false, Signal::POWER, false),
        (false, Signal::TERM, true),
        (false, Signal::USR1, true),
        (false, Signal::XCPU, true),
    ] {
        let Some(benchmark) = Benchmark::start(&sandbox, &target) else {
            return;
        };
        let supervisor = benchmark.supervisor();
        let process = if to_worker {
            benchmark.worker
        } else {
            supervisor
        };
        let output = benchmark.output_after(process, signal, saves);
        let message = stderr(&output);
        assert_eq!(
            target.read_ahead(),
            ORIGINAL_READ_AHEAD,
            "{signal:?}: {message}"
        );
        assert_eq!(message.contains("is 96 again"), !saves, "{message}");
        if saves {
            assert_eq!(output.status.code(), Some(130), "{signal:?}: {output:?}");
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(printed.contains("INTERRUPTED"), "{signal:?}: {printed}");
        } else {
            assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
        }
    }
}

#[test]
fn second_benchmark_of_a_setting_is_refused_naming_the_first() {
    let Some((sandbox, target)) = sandbox_and_target() else {
        return;
    };
    let Some(first) = Benchmark::start(&sandbox, &target) else {
        return;
    };
    let changed = target.read_ahead();
    let second = sandbox.read_ahead(&target).output().unwrap();
    let message = stderr(&second);
    assert_eq!(second.status.code(), Some(3), "{message}");
    let worker = first.worker.as_raw_nonzero();
    let sentence = format!("another process ({worker}) is changing the read-ahead of loop");
    assert!(message.contains(&sentence), "{message}, not {worker}");
    // Neither this nor another start touches what the first one has set.
    assert_eq!(stderr(&sandbox.start_and_restore()), "");
    assert_eq!(target.read_ahead(), changed);
    let supervisor = first.supervisor();
    first.output_after(supervisor, Signal::TERM, true);
    assert_eq!(target.read_ahead(), ORIGINAL_READ_AHEAD);
}

#[test]
fn read_ahead_is_measured_with_each_setting_and_restored_before_the_first_request() {
    let Some((sandbox, target)) = sandbox_and_target() else {
        return;
    };
    let (sender, opens) = std::sync::mpsc::channel();
    let Some(_held) = target.hold_opens_when(move |setting| {
        sender.send(setting).unwrap();
        false
    }) else {
        return;
    };
    let words = ["--step-bytes", "64MiB", "--block-size", "4KiB"];
    let mut child = sandbox.read_ahead(&target).args(words).spawn().unwrap();
    let (mut changed, mut samples) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        samples += 1;
        changed += u32::from(target.read_ahead() != ORIGINAL_READ_AHEAD);
        std::thread::sleep(Duration::from_millis(1));
    }
    // The benchmark opens the target for each measurement.
    let settings: BTreeSet<String> = opens.try_iter().collect();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(settings.len(), 12 + 1, "{settings:?}");
    assert!(changed * 4 < samples, "{changed} of {samples}");
}
