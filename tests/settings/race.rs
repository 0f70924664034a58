//! Two benchmarks that change one setting, ended in every order.

use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::loop_device::LoopDevice;
use crate::place::{ORIGINAL, Place, drive, stderr, wait_until};
use crate::process::worker;

/// How a benchmark ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Killed,
    Terminated,
    Alone,
}

const ENDS: [End; 3] = [End::Killed, End::Terminated, End::Alone];

fn is_changed(drive: &LoopDevice) -> bool {
    drive.queue("read_ahead_kb") != ORIGINAL
}

/// A benchmark that has changed the setting, or has ended meanwhile.
fn begin(place: &Place, drive: &LoopDevice) -> Child {
    let mut child = place.read_ahead(drive).spawn().unwrap();
    wait_until("a changed setting", || {
        is_changed(drive) || child.try_wait().unwrap().is_some()
    });
    child
}

/// Whether a process is in state T (proc_pid_stat(5)).
fn is_stopped(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(") ")
        .is_some_and(|(_, fields)| fields.starts_with('T'))
}

fn end(mut child: Child, how: End) {
    let pid = Pid::from_child(&child);
    match how {
        End::Killed => child.kill().unwrap(),
        End::Terminated => kill_process(pid, Signal::TERM).unwrap(),
        End::Alone => {}
    }
    child.wait_with_output().unwrap();
}

#[test]
fn second_benchmark_of_a_setting_is_refused_naming_the_first() {
    let (Some(place), Some(drive)) = (Place::new(), drive()) else {
        return;
    };
    let first = begin(&place, &drive);
    let pid = Pid::from_child(&first);
    let worker = worker(&first).unwrap();
    let worker = worker.file_name().unwrap().to_str().unwrap();
    // It keeps the setting, however long this machine takes to start the second one.
    kill_process(pid, Signal::STOP).unwrap();
    wait_until("a stopped worker", || is_stopped(worker));
    let changed = drive.queue("read_ahead_kb");
    let second = place.read_ahead(&drive).output().unwrap();
    let during = drive.queue("read_ahead_kb");
    let restored = place.start();
    let after = drive.queue("read_ahead_kb");
    kill_process(pid, Signal::CONT).unwrap();
    end(first, End::Terminated);
    let said = stderr(&second);
    assert_eq!(second.status.code(), Some(3), "{said}");
    assert!(
        said.contains("is changing the read-ahead of loop"),
        "{said}"
    );
    assert!(said.contains(worker), "{said}, not {worker}");
    assert_eq!([&during, &after], [&changed, &changed], "left to the first");
    assert_eq!(stderr(&restored), "");
    assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL);
}

#[test]
fn setting_has_its_original_value_whatever_ends_two_benchmarks_in_which_order() {
    let (Some(place), Some(drive)) = (Place::new(), drive()) else {
        return;
    };
    for first_end in ENDS {
        for second_end in ENDS {
            for overlap in [false, true] {
                let first = begin(&place, &drive);
                if overlap {
                    // Refused, or it waits out the end of the first one: both are right.
                    let second = place.read_ahead(&drive).spawn().unwrap();
                    end(first, first_end);
                    end(second, second_end);
                } else {
                    end(first, first_end);
                    // Begins with what the first one left.
                    let second = place.read_ahead(&drive).spawn().unwrap();
                    std::thread::sleep(Duration::from_millis(30));
                    end(second, second_end);
                }
                place.start();
                let now = drive.queue("read_ahead_kb");
                assert_eq!(now, ORIGINAL, "{first_end:?}, {second_end:?}, {overlap}");
            }
        }
    }
}

#[test]
fn setting_has_its_original_value_after_benchmarks_that_begin_together() {
    let (Some(place), Some(drive)) = (Place::new(), drive()) else {
        return;
    };
    for round in 0..6 {
        let all: Vec<Child> = (0..4)
            .map(|_| place.read_ahead(&drive).spawn().unwrap())
            .collect();
        wait_until("a changed setting", || is_changed(&drive));
        let starts: Vec<Child> = (0..3)
            .map(|_| place.diskscope(&["tests"]).spawn().unwrap())
            .collect();
        for (index, child) in all.into_iter().enumerate() {
            end(child, ENDS[(index + round) % 3]);
        }
        for child in starts {
            child.wait_with_output().unwrap();
        }
        place.start();
        assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL, "round {round}");
    }
}

#[test]
fn start_under_another_home_restores_what_a_kill_left() {
    let (Some(place), Some(drive)) = (Place::new(), drive()) else {
        return;
    };
    let mut killed = 0;
    while killed == 0 {
        let mut first = begin(&place, &drive);
        first.kill().unwrap();
        first.wait().unwrap();
        killed += usize::from(is_changed(&drive));
        let other = place.path().join("other");
        let next = place
            .diskscope(&["tests", "--json"])
            .env("HOME", &other)
            .env("XDG_STATE_HOME", other.join("state"))
            .output()
            .unwrap();
        assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL, "{}", stderr(&next));
    }
}
