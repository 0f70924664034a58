//! Samples and views from literal `/proc` and `/sys` trees of several kernels.
//!
//! Each tree has two moments: `before` whole, `after` with just the files that changed. The time
//! between them is set by the test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::probe::sample::ProbeNotice;
use diskscope::probe::{SampleCollector, SystemSample, Wanted};
use diskscope::roots::SysPaths;
use diskscope::snapshot::view::DeviceView;
use diskscope::snapshot::{Snapshot, ViewBuilder, ViewSettings};

use crate::overlay::lay;

fn kernel_tree(kernel: &str, moment: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(kernel)
        .join(moment)
}

/// Moves a sample to another time.
fn shift_times(sample: &mut SystemSample, at: Duration) {
    sample.boot_time = at;
    for process in &mut sample.processes {
        process.read_at = at;
    }
}

/// Two samples of a kernel and the view of the second.
fn sample_and_snapshot(kernel: &str, interval: Duration) -> (SystemSample, Snapshot) {
    let root = tempfile::tempdir().unwrap();
    lay(&kernel_tree(kernel, "before"), root.path());
    let mut collector = SampleCollector::new(SysPaths::under_root(root.path()));
    collector.set_wanted(Wanted {
        all_processes: true,
        ..Wanted::default()
    });
    let mut modeler = ViewBuilder::new(ViewSettings {
        all_processes: true,
        ..ViewSettings::default()
    });
    let mut first = collector.collect();
    let uptime = first.host.uptime.unwrap();
    shift_times(&mut first, uptime);
    modeler.update(Arc::new(first));
    lay(&kernel_tree(kernel, "after"), root.path());
    let mut second = collector.collect();
    shift_times(&mut second, uptime + interval);
    let live = modeler.update(Arc::new(second.clone()));
    (second, live)
}

fn find_device<'l>(live: &'l Snapshot, name: &str) -> &'l DeviceView {
    live.devices.iter().find(|view| view.name == name).unwrap()
}

#[track_caller]
fn assert_close(found: Option<f64>, expected: f64) {
    let found = found.expect("known");
    assert!(
        (found - expected).abs() <= 1e-6 * expected.abs().max(1e-3),
        "{found}, not {expected}"
    );
}

#[test]
fn raid_on_disks_is_read_from_kernel_4_15() {
    let (sample, live) = sample_and_snapshot("4.15", Duration::from_secs(1));
    let names: Vec<&str> = live.devices.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(
        names,
        ["sda", "sda1", "sdb", "md0", "dm-0"],
        "empty slots are left out"
    );
    let sda = find_device(&live, "sda");
    assert_close(sda.read_ios_per_s, 96.0);
    assert_close(sda.read_bytes_per_s, 204_000.0 * 512.0);
    assert_close(sda.read_await_ns, 1075.0 / 96.0 * 1e6);
    assert_close(sda.read_merged_fraction, 0.04);
    assert_close(sda.write_await_ns, 1972.0 / 41.0 * 1e6);
    assert_close(sda.queue_size, 6.9);
    assert_close(sda.busy, 0.97);
    assert_eq!(sda.in_flight, Some(7));
    assert_eq!((sda.discard_ios_per_s, sda.flush_ios_per_s), (None, None));
    assert!(sda.serves_serially);
    assert_eq!(sda.size_bytes, Some(15_628_053_168 * 512));
    assert_eq!(find_device(&live, "sda1").parent.as_deref(), Some("sda"));
    assert_eq!(find_device(&live, "dm-0").parent.as_deref(), Some("md0"));
    assert_eq!(
        find_device(&live, "md0").parent,
        None,
        "it lies on two devices"
    );
    assert_eq!(find_device(&live, "md0").underlying, ["sda1", "sdb"]);
    let stack = diskscope::snapshot::stack::stack_of(&live.devices, "dm-0");
    let stack: Vec<(&str, usize)> = stack
        .iter()
        .map(|layer| (live.devices[layer.device_index].name.as_str(), layer.depth))
        .collect();
    let halves = [
        ("sda", 0),
        ("sda1", 1),
        ("md0", 2),
        ("dm-0", 3),
        ("sdb", 0),
        ("md0", 1),
        ("dm-0", 2),
    ];
    assert_eq!(stack, halves);
    assert_eq!(
        find_device(&live, "dm-0").mount_point.as_deref(),
        Some("/srv")
    );
    // Two disks are written, and this kernel does not tell which of them the dirty memory is for.
    assert_eq!(live.host.time_to_flush, None);
    assert_close(live.host.cpu_busy, 0.25);
    assert_close(live.host.cpu_iowait, 0.125);
    assert_eq!(
        (live.host.pressure_some, sample.host.pressure),
        (None, None)
    );
    assert!(sample.notices.contains(&ProbeNotice::NoPressure));
    assert!(!sample.notices.contains(&ProbeNotice::DelayAccountingOff));

    let cp = live.processes.iter().find(|view| view.pid == 4711).unwrap();
    assert_eq!(live.processes[0].pid, 4711, "the busiest comes first");
    assert_eq!(cp.user.as_deref(), Some("backup"));
    assert_eq!(cp.command, "cp /srv/a.raw /mnt/b.raw");
    assert_eq!(cp.state, Some('D'));
    assert_close(cp.read_bytes_per_s, (98_u64 << 20) as f64);
    assert_close(cp.write_bytes_per_s, (79_u64 << 20) as f64);
    assert_close(cp.cache_fraction, 0.02);
    assert_close(cp.io_wait, 0.88);
}

#[test]
fn decreasing_counters_and_replaced_devices_of_kernel_5_4() {
    let (_, live) = sample_and_snapshot("5.4", Duration::from_secs(2));
    let wrapped = find_device(&live, "sda");
    assert_eq!(
        (wrapped.read_ios_per_s, wrapped.write_ios_per_s),
        (None, None)
    );
    assert_eq!((wrapped.busy, wrapped.queue_size), (None, None));
    assert_eq!(wrapped.in_flight, Some(1));
    assert_eq!(
        find_device(&live, "sdb").read_bytes_per_s,
        None,
        "it came back"
    );
    assert!(
        live.devices.iter().all(|view| view.name != "sdc"),
        "it is gone"
    );
    assert_close(live.host.pressure_some, 0.12);
    assert_close(live.host.pressure_full, 0.04);
    assert_eq!(live.host.time_to_flush, None, "nothing is dirty");
    assert_eq!(live.host.cpu_busy, None, "no tick went by");
}

#[test]
fn multipath_and_hostile_names_are_read_from_kernel_6_1() {
    let (sample, live) = sample_and_snapshot("6.1", Duration::from_secs(1));
    let nvme = find_device(&live, "nvme0n1");
    assert_close(nvme.read_ios_per_s, 1204.0);
    assert_close(nvme.read_bytes_per_s, 154_112.0 * 512.0);
    assert_close(nvme.discard_bytes_per_s, 8192.0 * 512.0);
    assert_close(nvme.flush_ios_per_s, 10.0);
    assert_close(nvme.flush_await_ns, 500_000.0);
    assert!(!nvme.serves_serially);
    assert_eq!(
        find_device(&live, "nvme0n1p1").parent.as_deref(),
        Some("nvme0n1")
    );
    assert!(live.devices.iter().any(|view| view.name == "nvme0c0n1"));
    assert!(sample.notices.contains(&ProbeNotice::DelayAccountingOff));

    let page = rustix::param::page_size() as u64;
    assert_eq!(live.host.background_threshold_bytes, Some(1000 * page));
    assert_eq!(live.host.throttle_threshold_bytes, Some(1500 * page));

    let evil = live.processes.iter().find(|view| view.pid == 900).unwrap();
    assert_eq!(evil.command, "ev\\x1b]0;x\\x07il --a\\nb \\xff\\xfe");
    assert_eq!(evil.user.as_deref(), Some("1000"));
    assert_eq!(evil.io_wait, None, "unknown is not 0");
    // It began between the samples: all that it has moved belongs to the interval.
    let new = live.processes.iter().find(|view| view.pid == 901).unwrap();
    assert_close(new.read_bytes_per_s, 8192.0);
}

#[test]
fn extra_diskstats_columns_of_kernel_6_18_are_ignored() {
    let (_, live) = sample_and_snapshot("6.18", Duration::from_secs(2));
    let vda = find_device(&live, "vda");
    assert_close(vda.write_ios_per_s, 10.0);
    assert_close(vda.write_merged_fraction, 0.5);
    assert_close(vda.flush_await_ns, 2e6);
    assert_close(vda.discard_ios_per_s, 0.0);
    assert_eq!(vda.discard_await_ns, None);
    let waits = |pid| live.processes.iter().find(|view| view.pid == pid).unwrap();
    assert_close(waits(31).io_wait, 0.5);
    assert_eq!(waits(30).io_wait, None, "no wait was ever counted for it");
    assert_eq!(waits(30).command, "[jbd2/vda1-8]");
    assert!(live.transfers.is_empty());
}

#[test]
fn first_snapshot_of_every_kernel_has_no_rates() {
    for kernel in ["4.15", "5.4", "6.1", "6.18"] {
        let mut collector =
            SampleCollector::new(SysPaths::under_root(&kernel_tree(kernel, "before")));
        let live = ViewBuilder::default().update(Arc::new(collector.collect()));
        assert!(!live.devices.is_empty());
        for view in &live.devices {
            assert_eq!((view.read_ios_per_s, view.busy), (None, None));
        }
        assert!(live.host.load_averages.is_some() && live.host.uptime.is_some());
    }
}
