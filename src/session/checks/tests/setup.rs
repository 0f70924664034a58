//! Tests of the checks of how the drive is attached and configured.

use super::*;
use crate::session::document::{
    DeviceHistory, DriveSetup, LayerCounts, LayerRelation, Metric, MetricId,
};

fn setup(run: &mut BenchmarkRun) -> &mut DriveSetup {
    run.evidence.drive_setup.get_or_insert_default()
}

fn set_parameter(run: &mut BenchmarkRun, name: &str, value: impl Into<Value>) {
    run.parameters.insert(name.into(), value.into());
}

/// Throughput on a link of 300 MB/s.
fn set_rate(run: &mut BenchmarkRun, rate: f64) {
    setup(run).link = Some("SATA 3.0 Gbps".into());
    setup(run).link_max_bytes_per_s = Some(300_000_000);
    let rate = Metric::new(MetricId::THROUGHPUT, rate);
    run.findings.set_metric(rate);
}

fn set_backing_file(run: &mut BenchmarkRun, direct_io: bool) {
    setup(run).direct_io = Some(direct_io);
    setup(run).backing_file = Some("/srv/disk".into());
}

fn add_backing_device(run: &mut BenchmarkRun) {
    run.kernel = run_with_counts(1000, 0).kernel;
    run.evidence.underlying = vec![LayerCounts {
        relation_to_upper: LayerRelation::BackingDevice,
        counts: KernelCounts {
            device: "sda".into(),
            ..KernelCounts::default()
        },
    }];
}

#[test]
fn setup_of_the_drive_is_told() {
    let [block, physical] = ["below-physical-block", "misaligned-partition"];
    let [scheduler, deeper] = ["scheduler-unsuited", "deeper-than-drive"];
    assert_cases(
        || {
            let mut run = empty_run();
            run.evidence.drive_setup = Some(DriveSetup::default());
            run
        },
        &[
            ("buffered", |run| set_parameter(run, "cache", "bypass"), &[]),
            (
                "buffered",
                |run| set_parameter(run, "cache", "drop"),
                &["--cache drop"],
            ),
            ("loop-without-direct-io", |_| (), &[]),
            (
                "loop-without-direct-io",
                |run| set_backing_file(run, true),
                &[],
            ),
            (
                "loop-without-direct-io",
                |run| set_backing_file(run, false),
                &["/srv/disk"],
            ),
            (
                "loop-without-direct-io",
                |run| {
                    set_backing_file(run, false);
                    add_backing_device(run);
                },
                &[
                    "4.10 MB were transferred on nvme0n1",
                    "0 B on the underlying sda",
                ],
            ),
            (
                "virtual-disk",
                |run| setup(run).virtual_disk = Some("vda is attached by virtio".into()),
                &["virtio"],
            ),
            (
                physical,
                |run| setup(run).aligned = Some(false),
                &["nvme0n1", "4 KiB"],
            ),
            (physical, |run| setup(run).aligned = Some(true), &[]),
            (block, |_| (), &[]),
            (
                block,
                |run| set_parameter(run, "block-size", 512),
                &["--block-size 512", "4 KiB"],
            ),
            (
                block,
                |run| set_parameter(run, "block-size", 6144),
                &["6KiB"],
            ),
            (
                block,
                |run| set_parameter(run, "block-size", "512B-8KiB"),
                &["512"],
            ),
            (
                block,
                |run| set_parameter(run, "align", 1024),
                &["--align 1KiB"],
            ),
            (scheduler, |_| (), &[]),
            (
                scheduler,
                |run| setup(run).scheduler_advice = Some("sda: because".into()),
                &["sda: because"],
            ),
            // 32 are just right.
            (deeper, |run| setup(run).max_queue_depth = Some(32), &[]),
            (
                deeper,
                |run| {
                    setup(run).max_queue_depth = Some(32);
                    set_parameter(run, "workers", 2);
                },
                &["64 requests", "accepts 32"],
            ),
            // The benchmark chooses its own.
            (
                deeper,
                |run| {
                    setup(run).max_queue_depth = Some(1);
                    run.parameters.remove("depth");
                },
                &[],
            ),
            ("link-bound", |run| set_rate(run, 254e6), &[]),
            (
                "link-bound",
                |run| set_rate(run, 280e6),
                &["280 MB/s", "93 %", "SATA 3.0 Gbps"],
            ),
            ("link-bound", |run| set_rate(run, 316e6), &[]),
            ("faster-than-link", |run| set_rate(run, 314e6), &[]),
            (
                "faster-than-link",
                |run| set_rate(run, 316e6),
                &["300 MB/s"],
            ),
        ],
    );
}

/// A virtual disk whose reads take 20 us, and what each request took before the run.
fn set_history(run: &mut BenchmarkRun, earlier_us: u64, request_bytes: u64) {
    setup(run).virtual_disk = Some("vda is attached by virtio".into());
    run.target.transport = Some("virtio".into());
    run.kernel = run_with_counts(1000, 0).kernel;
    run.kernel.as_mut().unwrap().read_ns = 1000 * 20_000;
    run.evidence.device_history = Some(DeviceHistory {
        device: "nvme0n1".into(),
        requests: 5000,
        bytes: 5000 * request_bytes,
        busy_ns: 5000 * earlier_us * 1000,
    });
}

#[test]
fn virtual_disk_faster_than_before_gets_host_cache_verdict() {
    let code = "host-cache-likely";
    assert_cases(
        empty_run,
        &[
            (
                code,
                |run| set_history(run, 100, 8192),
                &["20.0 us", "100 us", "5000 requests"],
            ),
            // Less than four times as fast; larger requests.
            (code, |run| set_history(run, 70, 8192), &[]),
            (code, |run| set_history(run, 100, 65_536), &[]),
            (
                code,
                |run| {
                    set_history(run, 100, 8192);
                    run.evidence.device_history = None;
                },
                &[],
            ),
            (
                code,
                |run| {
                    set_history(run, 100, 8192);
                    run.target.transport = Some("nvme".into());
                },
                &[],
            ),
            // The page cache here is nearer.
            (
                code,
                |run| {
                    set_history(run, 100, 8192);
                    set_parameter(run, "cache", "keep");
                },
                &[],
            ),
        ],
    );
}

#[test]
fn virtual_disk_with_write_back_cache_gets_verdict() {
    let code = "host-cache-likely";
    let mut run = empty_run();
    setup(&mut run).virtual_disk = Some("vda".into());
    setup(&mut run).write_cache = Some("write back".into());
    assert_eq!(rule_evidence(code, &run), None, "no write");
    run.evidence.issued = run_with_counts(0, 1000).evidence.issued;
    for workload in [Workload::CONSTANT, Workload::RANDOM, Workload::VARYING] {
        let found = evidence_for(code, &run, workload);
        assert!(found.unwrap().contains("write-back"), "{workload:?}");
    }
    assert_eq!(evidence_for(code, &run, Workload::DURABLE_WRITES), None);
    set_parameter(&mut run, "sync", "dsync");
    assert_eq!(rule_evidence(code, &run), None);
}
