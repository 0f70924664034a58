//! Requests of real processes, summed by process and device.

use std::collections::HashMap;
use std::fs::File;

use diskscope::roots::SysPaths;
use diskscope::trace::by_process::ProcessIoTrace;
use diskscope::trace::requests::{DeviceIoCounts, DeviceNumber, TracedIo};

use crate::file_system::LoopFileSystem;
use crate::live::live_sampler::MIB;
use crate::process::run_dd;
use crate::requirement::{Requirement, skip};

/// Writes back all that is cached of a file system.
fn sync(file_system: &LoopFileSystem) {
    let root = File::open(file_system.mount_point()).unwrap();
    rustix::fs::syncfs(root).unwrap();
}

/// What the processes did on a device.
fn on_device(traced: &TracedIo, device: DeviceNumber) -> HashMap<u32, DeviceIoCounts> {
    let counts = |(pid, process): (&u32, &diskscope::trace::requests::TracedProcess)| {
        Some((*pid, *process.devices.get(&device)?))
    };
    traced.processes.iter().filter_map(counts).collect()
}

fn kernel_counts(device: &str) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).unwrap();
    let values: Vec<u64> = text
        .split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect();
    (values[2] * 512, values[6] * 512)
}

#[test]
fn bytes_on_a_loop_device_are_attributed_to_the_processes_that_moved_them() {
    let Some(mounted) = LoopFileSystem::ext4(256 * MIB) else {
        return;
    };
    let path = |name: &str| mounted.file_path(name).display().to_string();
    sync(&mounted);
    let trace = match ProcessIoTrace::start(&SysPaths::default()) {
        Ok(trace) => trace,
        Err(error) => return skip(Requirement::Tracing, error),
    };
    let before = kernel_counts(mounted.device().name());
    let (direct, buffered) = (path("direct"), path("buffered"));
    let direct_writer = run_dd(&[
        "if=/dev/zero",
        &format!("of={direct}"),
        "bs=1M",
        "count=40",
        "oflag=direct",
    ]);
    let direct_reader = run_dd(&[
        &format!("if={direct}"),
        "of=/dev/null",
        "bs=64k",
        "iflag=direct",
    ]);
    let buffered_writer = run_dd(&[
        "if=/dev/zero",
        &format!("of={buffered}"),
        "bs=1M",
        "count=40",
    ]);
    sync(&mounted);
    let traced = trace.stop();
    let after = kernel_counts(mounted.device().name());
    let found = on_device(&traced, mounted.device().number());

    let expected = 40 * MIB;
    let share = |bytes: u64| bytes as f64 / expected as f64;
    let direct_written = share(found[&direct_writer].written_bytes);
    let direct_read = share(found[&direct_reader].read_bytes);
    let written_back = share(found[&buffered_writer].written_bytes);
    for (name, share, least) in [
        ("direct writes", direct_written, 0.98),
        ("direct reads", direct_read, 0.98),
        ("buffered writes", written_back, 0.95),
    ] {
        // More than its bytes would be those of another process; metadata are a few blocks.
        assert!(share >= least && share <= 1.01, "{name}: {share}");
    }
    let others: u64 = found
        .iter()
        .filter(|(pid, _)| ![direct_writer, direct_reader, buffered_writer].contains(pid))
        .map(|(_, counts)| counts.read_bytes + counts.written_bytes)
        .sum();
    assert!(
        (others as f64) < 0.01 * (3 * expected) as f64,
        "{others} of others: {found:?}"
    );
    // Nothing is missing: what no process is known for is told. The counters are read while nothing is
    // traced: what others look up in between is in them only.
    let rest = traced.unattributed.get(&mounted.device().number()).copied();
    let rest = rest.unwrap_or_default();
    let all = |of: fn(&DeviceIoCounts) -> u64| found.values().map(of).sum::<u64>() + of(&rest);
    for (counted, total) in [
        (all(|it| it.read_bytes), after.0 - before.0),
        (all(|it| it.written_bytes), after.1 - before.1),
    ] {
        assert!(counted <= total, "{counted} of {total}");
        assert!(total - counted <= expected / 1000, "{counted} of {total}");
    }
    assert_eq!(traced.events_lost, 0);
}
