//! Samples and views from literal `/proc` and `/sys` trees of several kernels.
//!
//! Each tree has two moments: `before` whole, `after` with just the files that changed. The time
//! between them is set by the test.

#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "support/overlay.rs"]
mod overlay;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::model::live::DeviceView;
use diskscope::model::{Live, Modeler, Settings};
use diskscope::probe::sample::Notice;
use diskscope::probe::{Collector, Sample};
use diskscope::roots::Roots;
use overlay::lay;

fn tree(kernel: &str, moment: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(kernel)
        .join(moment)
}

/// Moves a sample to another time.
fn shift(sample: &mut Sample, at: Duration) {
    sample.at = at;
    for process in &mut sample.processes {
        process.read_at = at;
    }
}

/// Two samples of a kernel and the view of the second.
fn watched(kernel: &str, interval: Duration) -> (Sample, Live) {
    let root = tempfile::tempdir().unwrap();
    lay(&tree(kernel, "before"), root.path());
    let mut collector = Collector::new(Roots::below(root.path()));
    collector.show_all(true);
    let mut modeler = Modeler::new(Settings {
        all_processes: true,
        ..Settings::default()
    });
    let mut first = collector.collect();
    let uptime = first.host.uptime.unwrap();
    shift(&mut first, uptime);
    modeler.update(Arc::new(first));
    lay(&tree(kernel, "after"), root.path());
    let mut second = collector.collect();
    shift(&mut second, uptime + interval);
    let live = modeler.update(Arc::new(second.clone()));
    (second, live)
}

fn device<'l>(live: &'l Live, name: &str) -> &'l DeviceView {
    live.devices.iter().find(|view| view.name == name).unwrap()
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("known");
    assert!(
        (found - expected).abs() <= 1e-6 * expected.abs().max(1e-3),
        "{found}, not {expected}"
    );
}

#[test]
fn a_raid_on_disks_under_4_15() {
    let (sample, live) = watched("4.15", Duration::from_secs(1));
    let names: Vec<&str> = live.devices.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(
        names,
        ["sda", "sda1", "sdb", "md0", "dm-0"],
        "empty slots are left out"
    );
    let sda = device(&live, "sda");
    close(sda.read_ios_per_s, 96.0);
    close(sda.read_bytes_per_s, 204_000.0 * 512.0);
    close(sda.read_await_ns, 1075.0 / 96.0 * 1e6);
    close(sda.read_merged, 0.04);
    close(sda.write_await_ns, 1972.0 / 41.0 * 1e6);
    close(sda.queue_size, 6.9);
    close(sda.busy, 0.97);
    assert_eq!(sda.in_flight, Some(7));
    assert_eq!((sda.discard_ios_per_s, sda.flush_ios_per_s), (None, None));
    assert!(sda.serial);
    assert_eq!(sda.size_bytes, Some(15_628_053_168 * 512));
    assert_eq!(device(&live, "sda1").parent.as_deref(), Some("sda"));
    assert_eq!(device(&live, "dm-0").parent.as_deref(), Some("md0"));
    assert_eq!(device(&live, "md0").parent, None, "it lies on two devices");
    assert_eq!(device(&live, "md0").lies_on, ["sda1", "sdb"]);
    let stack = diskscope::model::stack::of(&live.devices, "dm-0");
    let stack: Vec<(&str, usize)> = stack
        .iter()
        .map(|layer| (live.devices[layer.device].name.as_str(), layer.depth))
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
    assert_eq!(device(&live, "dm-0").mounted_at.as_deref(), Some("/srv"));
    // Two mirrored halves: what both disks write counts, the layers above do not.
    let drained = (700_000 + 12_000) as f64 * 1024.0 / (2.0 * 2600.0 * 512.0);
    close(live.host.drain.map(|time| time.as_secs_f64()), drained);
    close(live.host.cpu_busy, 0.25);
    close(live.host.cpu_wait, 0.125);
    assert_eq!(
        (live.host.pressure_some, sample.host.pressure),
        (None, None)
    );
    assert!(sample.notices.contains(&Notice::NoPressure));
    assert!(!sample.notices.contains(&Notice::DelayAccountingOff));

    let cp = live.processes.iter().find(|view| view.pid == 4711).unwrap();
    assert_eq!(live.processes[0].pid, 4711, "the busiest comes first");
    assert_eq!(cp.user.as_deref(), Some("backup"));
    assert_eq!(cp.command, "cp /srv/a.raw /mnt/b.raw");
    assert_eq!(cp.state, Some('D'));
    close(cp.read_bytes_per_s, (98_u64 << 20) as f64);
    close(cp.write_bytes_per_s, (79_u64 << 20) as f64);
    close(cp.cached, 0.02);
    close(cp.io_wait, 0.88);
}

#[test]
fn counters_that_fall_and_devices_that_change_under_5_4() {
    let (_, live) = watched("5.4", Duration::from_secs(2));
    let wrapped = device(&live, "sda");
    assert_eq!(
        (wrapped.read_ios_per_s, wrapped.write_ios_per_s),
        (None, None)
    );
    assert_eq!((wrapped.busy, wrapped.queue_size), (None, None));
    assert_eq!(wrapped.in_flight, Some(1));
    assert_eq!(device(&live, "sdb").read_bytes_per_s, None, "it came back");
    assert!(
        live.devices.iter().all(|view| view.name != "sdc"),
        "it is gone"
    );
    close(live.host.pressure_some, 0.12);
    close(live.host.pressure_full, 0.04);
    assert_eq!(live.host.drain, None, "nothing is dirty");
    assert_eq!(live.host.cpu_busy, None, "no tick went by");
}

#[test]
fn multipath_and_hostile_names_under_6_1() {
    let (sample, live) = watched("6.1", Duration::from_secs(1));
    let nvme = device(&live, "nvme0n1");
    close(nvme.read_ios_per_s, 1204.0);
    close(nvme.read_bytes_per_s, 154_112.0 * 512.0);
    close(nvme.discard_bytes_per_s, 8192.0 * 512.0);
    close(nvme.flush_ios_per_s, 10.0);
    close(nvme.flush_await_ns, 500_000.0);
    assert!(!nvme.serial);
    assert_eq!(
        device(&live, "nvme0n1p1").parent.as_deref(),
        Some("nvme0n1")
    );
    assert!(live.devices.iter().any(|view| view.name == "nvme0c0n1"));
    assert!(sample.notices.contains(&Notice::DelayAccountingOff));

    let page = rustix::param::page_size() as u64;
    assert_eq!(live.host.background_from_bytes, Some(1000 * page));
    assert_eq!(live.host.throttled_from_bytes, Some(1500 * page));

    let evil = live.processes.iter().find(|view| view.pid == 900).unwrap();
    assert_eq!(evil.command, "ev\\x1b]0;x\\x07il --a\\nb \\xff\\xfe");
    assert_eq!(evil.user.as_deref(), Some("1000"));
    assert_eq!(evil.io_wait, None, "unknown is not 0");
    // It began between the samples: all that it has moved belongs to the interval.
    let new = live.processes.iter().find(|view| view.pid == 901).unwrap();
    close(new.read_bytes_per_s, 8192.0);
}

#[test]
fn more_columns_than_known_under_6_18() {
    let (_, live) = watched("6.18", Duration::from_secs(2));
    let vda = device(&live, "vda");
    close(vda.write_ios_per_s, 10.0);
    close(vda.write_merged, 0.5);
    close(vda.flush_await_ns, 2e6);
    close(vda.discard_ios_per_s, 0.0);
    assert_eq!(vda.discard_await_ns, None);
    let waits = |pid| live.processes.iter().find(|view| view.pid == pid).unwrap();
    close(waits(31).io_wait, 0.5);
    assert_eq!(waits(30).io_wait, None, "no wait was ever counted for it");
    assert_eq!(waits(30).command, "[jbd2/vda1-8]");
    assert!(live.transfers.is_empty());
}

#[test]
fn the_first_view_of_every_kernel_has_no_rates() {
    for kernel in ["4.15", "5.4", "6.1", "6.18"] {
        let mut collector = Collector::new(Roots::below(&tree(kernel, "before")));
        let live = Modeler::default().update(Arc::new(collector.collect()));
        assert!(!live.devices.is_empty());
        for view in &live.devices {
            assert_eq!((view.read_ios_per_s, view.busy), (None, None));
        }
        assert!(live.host.load.is_some() && live.host.uptime.is_some());
    }
}
