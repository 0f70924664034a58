//! Two benchmarks that change one setting, ended in every order.

use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::loop_device::LoopDevice;
use crate::process::worker;
use crate::settings::sandbox::{
    ORIGINAL_READ_AHEAD, SettingsSandbox, loop_device, stderr, wait_until,
};

/// How a benchmark ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Killed,
    Terminated,
    Unsignalled,
}

const ALL_ENDS: [End; 3] = [End::Killed, End::Terminated, End::Unsignalled];

fn is_setting_changed(drive: &LoopDevice) -> bool {
    drive.queue("read_ahead_kb") != ORIGINAL_READ_AHEAD
}

/// A benchmark that has changed the setting, or has ended meanwhile.
fn start_benchmark(sandbox: &SettingsSandbox, drive: &LoopDevice) -> Child {
    let mut child = sandbox.read_ahead(drive).spawn().unwrap();
    wait_until("a changed setting", || {
        is_setting_changed(drive) || child.try_wait().unwrap().is_some()
    });
    child
}

/// Whether a process is in state T (proc_pid_stat(5)).
fn is_stopped(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(") ")
        .is_some_and(|(_, fields)| fields.starts_with('T'))
}

fn end_benchmark(mut child: Child, how: End) {
    let pid = Pid::from_child(&child);
    match how {
        End::Killed => child.kill().unwrap(),
        End::Terminated => kill_process(pid, Signal::TERM).unwrap(),
        End::Unsignalled => {}
    }
    child.wait_with_output().unwrap();
}

#[test]
fn second_benchmark_of_a_setting_is_refused_naming_the_first() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    let first = start_benchmark(&sandbox, &drive);
    let pid = Pid::from_child(&first);
    let worker = worker(&first).unwrap();
    let worker = worker.file_name().unwrap().to_str().unwrap();
    // It keeps the setting, however long this machine takes to start the second one.
    kill_process(pid, Signal::STOP).unwrap();
    wait_until("a stopped worker", || is_stopped(worker));
    let changed = drive.queue("read_ahead_kb");
    let second = sandbox.read_ahead(&drive).output().unwrap();
    let during = drive.queue("read_ahead_kb");
    let restored = sandbox.start_and_restore();
    let after = drive.queue("read_ahead_kb");
    kill_process(pid, Signal::CONT).unwrap();
    end_benchmark(first, End::Terminated);
    let message = stderr(&second);
    assert_eq!(second.status.code(), Some(3), "{message}");
    assert!(
        message.contains("is changing the read-ahead of loop"),
        "{message}"
    );
    assert!(message.contains(worker), "{message}, not {worker}");
    assert_eq!([&during, &after], [&changed, &changed], "left to the first");
    assert_eq!(stderr(&restored), "");
    assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL_READ_AHEAD);
}

#[test]
fn setting_is_restored_after_two_benchmarks_end_in_any_order() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    for first_end in ALL_ENDS {
        for second_end in ALL_ENDS {
            for overlap in [false, true] {
                let first = start_benchmark(&sandbox, &drive);
                if overlap {
                    // Refused, or it waits out the end of the first one: both are right.
                    let second = sandbox.read_ahead(&drive).spawn().unwrap();
                    end_benchmark(first, first_end);
                    end_benchmark(second, second_end);
                } else {
                    end_benchmark(first, first_end);
                    // Begins with what the first one left.
                    let second = sandbox.read_ahead(&drive).spawn().unwrap();
                    std::thread::sleep(Duration::from_millis(30));
                    end_benchmark(second, second_end);
                }
                sandbox.start_and_restore();
                let now = drive.queue("read_ahead_kb");
                assert_eq!(
                    now, ORIGINAL_READ_AHEAD,
                    "{first_end:?}, {second_end:?}, {overlap}"
                );
            }
        }
    }
}

#[test]
fn setting_is_restored_after_simultaneous_benchmarks() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    for round in 0..6 {
        let all: Vec<Child> = (0..4)
            .map(|_| sandbox.read_ahead(&drive).spawn().unwrap())
            .collect();
        wait_until("a changed setting", || is_setting_changed(&drive));
        let starts: Vec<Child> = (0..3)
            .map(|_| sandbox.diskscope(&["tests"]).spawn().unwrap())
            .collect();
        for (index, child) in all.into_iter().enumerate() {
            end_benchmark(child, ALL_ENDS[(index + round) % 3]);
        }
        for child in starts {
            child.wait_with_output().unwrap();
        }
        sandbox.start_and_restore();
        assert_eq!(
            drive.queue("read_ahead_kb"),
            ORIGINAL_READ_AHEAD,
            "round {round}"
        );
    }
}

#[test]
fn start_with_other_home_restores_setting_after_kill() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    let mut killed = 0;
    while killed == 0 {
        let mut first = start_benchmark(&sandbox, &drive);
        first.kill().unwrap();
        first.wait().unwrap();
        killed += usize::from(is_setting_changed(&drive));
        let other = sandbox.path().join("other");
        let next = sandbox
            .diskscope(&["tests", "--json"])
            .env("HOME", &other)
            .env("XDG_STATE_HOME", other.join("state"))
            .output()
            .unwrap();
        assert_eq!(
            drive.queue("read_ahead_kb"),
            ORIGINAL_READ_AHEAD,
            "{}",
            stderr(&next)
        );
    }
}
