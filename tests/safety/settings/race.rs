//! Two benchmarks that change one setting, ended in every order.

use std::collections::BTreeSet;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::held_opens::HeldOpens;
use crate::loop_device::LoopDevice;
use crate::process::worker;
use crate::settings::sandbox::{
    ORIGINAL_READ_AHEAD, ReadAheadTarget, SettingsSandbox, device_name, stderr,
};

/// How a benchmark ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Killed,
    Terminated,
    Unsignalled,
}

const ALL_ENDS: [End; 3] = [End::Killed, End::Terminated, End::Unsignalled];

fn is_setting_changed(target: &ReadAheadTarget) -> bool {
    target.read_ahead() != ORIGINAL_READ_AHEAD
}

/// A benchmark that has changed the setting, and waits.
fn start_benchmark(
    sandbox: &SettingsSandbox,
    target: &ReadAheadTarget,
) -> Option<(Child, HeldOpens)> {
    let held = target.hold_opens()?;
    let child = sandbox.read_ahead(target).spawn().unwrap();
    held.wait();
    assert!(is_setting_changed(target));
    Some((child, held))
}

/// Ends a benchmark. One that is not killed goes on.
fn end_benchmark(mut child: Child, how: End, held: Option<&HeldOpens>) {
    let pid = Pid::from_child(&child);
    match how {
        End::Killed => child.kill().unwrap(),
        End::Terminated => kill_process(pid, Signal::TERM).unwrap(),
        End::Unsignalled => {}
    }
    if let (Some(held), End::Terminated | End::Unsignalled) = (held, how) {
        held.release();
    }
    child.wait_with_output().unwrap();
}

#[test]
fn second_benchmark_of_a_setting_is_refused_naming_the_first() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    let Some((first, held)) = start_benchmark(&sandbox, &target) else {
        return;
    };
    let worker = worker(&first).unwrap();
    let worker = worker.file_name().unwrap().to_str().unwrap();
    let changed = target.read_ahead();
    let second = sandbox.read_ahead(&target).output().unwrap();
    let during = target.read_ahead();
    let restored = sandbox.start_and_restore();
    let after = target.read_ahead();
    end_benchmark(first, End::Terminated, Some(&held));
    let message = stderr(&second);
    assert_eq!(second.status.code(), Some(3), "{message}");
    assert!(
        message.contains("is changing the read-ahead of loop"),
        "{message}"
    );
    assert!(message.contains(worker), "{message}, not {worker}");
    assert_eq!([&during, &after], [&changed, &changed], "left to the first");
    assert_eq!(stderr(&restored), "");
    assert_eq!(target.read_ahead(), ORIGINAL_READ_AHEAD);
}

#[test]
fn setting_is_restored_after_two_benchmarks_end_in_any_order() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    for first_end in ALL_ENDS {
        for second_end in ALL_ENDS {
            for overlap in [false, true] {
                let Some((first, held)) = start_benchmark(&sandbox, &target) else {
                    return;
                };
                if overlap {
                    // Refused, or it waits out the end of the first one: both are right.
                    let second = sandbox.read_ahead(&target).spawn().unwrap();
                    end_benchmark(first, first_end, Some(&held));
                    end_benchmark(second, second_end, None);
                } else {
                    end_benchmark(first, first_end, Some(&held));
                    // Begins with what the first one left.
                    let second = sandbox.read_ahead(&target).spawn().unwrap();
                    std::thread::sleep(Duration::from_millis(30));
                    end_benchmark(second, second_end, None);
                }
                sandbox.start_and_restore();
                let now = target.read_ahead();
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
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    for round in 0..6 {
        let Some(held) = target.hold_opens() else {
            return;
        };
        let all: Vec<Child> = (0..4)
            .map(|_| sandbox.read_ahead(&target).spawn().unwrap())
            .collect();
        held.wait();
        let starts: Vec<Child> = (0..3)
            .map(|_| sandbox.diskscope(&["tests"]).spawn().unwrap())
            .collect();
        for (index, child) in all.into_iter().enumerate() {
            end_benchmark(child, ALL_ENDS[(index + round) % 3], Some(&held));
        }
        for child in starts {
            child.wait_with_output().unwrap();
        }
        sandbox.start_and_restore();
        assert_eq!(target.read_ahead(), ORIGINAL_READ_AHEAD, "round {round}");
    }
}

#[test]
fn start_with_other_home_restores_setting_after_kill() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    let Some((mut first, _held)) = start_benchmark(&sandbox, &target) else {
        return;
    };
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(is_setting_changed(&target));
    let other = sandbox.path().join("other");
    let next = sandbox
        .diskscope(&["tests", "--json"])
        .env("HOME", &other)
        .env("XDG_STATE_HOME", other.join("state"))
        .output()
        .unwrap();
    assert_eq!(
        target.read_ahead(),
        ORIGINAL_READ_AHEAD,
        "{}",
        stderr(&next)
    );
}

/// Reads and sectors that a device has transferred (kernel Documentation/block/stat.rst).
fn reads_and_sectors(drive: &LoopDevice) -> (u64, u64) {
    let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", device_name(drive))).unwrap();
    let fields: Vec<u64> = stat
        .split_whitespace()
        .map(|field| field.parse().unwrap())
        .collect();
    (fields[0], fields[2])
}

#[test]
fn read_ahead_is_measured_with_each_setting_and_restored_before_the_first_request() {
    let (Some(sandbox), Some(target)) = (SettingsSandbox::new(), ReadAheadTarget::new()) else {
        return;
    };
    let (sender, opens) = std::sync::mpsc::channel();
    let Some(_held) = target.hold_opens_when(move |setting| {
        sender.send(setting).unwrap();
        false
    }) else {
        return;
    };
    let mut child = sandbox
        .read_ahead(&target)
        .args(["--step-bytes", "64MiB", "--block-size", "4KiB"])
        .spawn()
        .unwrap();
    let (mut seen, mut changed, mut samples) = (reads_and_sectors(target.drive()), 0, 0);
    let (mut smallest, mut largest) = (u64::MAX, 0);
    while child.try_wait().unwrap().is_none() {
        let now = reads_and_sectors(target.drive());
        if now.0 > seen.0 + 20 {
            let mean = (now.1 - seen.1) / (now.0 - seen.0);
            (smallest, largest) = (smallest.min(mean), largest.max(mean));
            seen = now;
        }
        samples += 1;
        changed += u32::from(is_setting_changed(&target));
        std::thread::sleep(Duration::from_millis(1));
    }
    // The benchmark opens the target for each measurement.
    let settings: BTreeSet<String> = opens
        .try_iter()
        .filter(|setting| setting != ORIGINAL_READ_AHEAD)
        .collect();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(settings.len(), 12, "{settings:?}");
    // In sectors: the kernel reads one page, or as much as the device takes at once.
    assert!(largest >= 8 * smallest, "{smallest} to {largest}");
    assert!(changed * 4 < samples, "{changed} of {samples}");
}
