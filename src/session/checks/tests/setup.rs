//! Tests of the checks of how the drive is attached and configured.

use super::*;
use crate::session::document::{
    DeviceHistory, DriveSetup, LayerCounts, LayerRelation, Metric, MetricId,
};

fn run_with_setup(change: impl FnOnce(&mut DriveSetup)) -> BenchmarkRun {
    let mut run = empty_run();
    let mut setup = DriveSetup::default();
    change(&mut setup);
    run.evidence.drive_setup = Some(setup);
    run
}

fn set_parameter(run: &mut BenchmarkRun, name: &str, value: impl Into<serde_json::Value>) {
    run.parameters.insert(name.into(), value.into());
}

#[test]
fn buffered_run_gets_page_cache_verdict() {
    let mut run = empty_run();
    set_parameter(&mut run, "cache", "bypass");
    assert_eq!(rule_evidence("buffered", &run), None);
    set_parameter(&mut run, "cache", "drop");
    assert_evidence_contains("buffered", &run, &["--cache drop"]);
}

#[test]
fn loop_device_without_direct_io_gets_verdict() {
    let mut run = run_with_setup(|setup| {
        setup.direct_io = Some(false);
        setup.backing_file = Some("/srv/disk".into());
    });
    assert_evidence_contains("loop-without-direct-io", &run, &["/srv/disk"]);
    run.kernel = run_with_counts(1000, 0).kernel;
    run.evidence.underlying = vec![LayerCounts {
        relation_to_upper: LayerRelation::BackingDevice,
        counts: KernelCounts {
            device: "sda".into(),
            ..KernelCounts::default()
        },
    }];
    assert_evidence_contains(
        "loop-without-direct-io",
        &run,
        &[
            "4.10 MB were transferred on nvme0n1",
            "0 B on the underlying sda",
        ],
    );
    let direct = run_with_setup(|setup| setup.direct_io = Some(true));
    assert_eq!(rule_evidence("loop-without-direct-io", &direct), None);
    assert_eq!(
        rule_evidence("loop-without-direct-io", &run_with_setup(|_| {})),
        None
    );
}

#[test]
fn virtual_disk_faster_than_before_gets_host_cache_verdict() {
    let mut run =
        run_with_setup(|setup| setup.virtual_disk = Some("vda is attached by virtio".into()));
    assert_evidence_contains("virtual-disk", &run, &["virtio"]);
    let history = |earlier_us: u64| DeviceHistory {
        device: "nvme0n1".into(),
        requests: 5000,
        bytes: 5000 * 8192,
        busy_ns: 5000 * earlier_us * 1000,
    };
    run.kernel = run_with_counts(1000, 0).kernel.map(|counts| KernelCounts {
        read_ns: 1000 * 20_000,
        ..counts
    });
    assert_eq!(
        rule_evidence("host-cache-likely", &run),
        None,
        "nothing is known from before"
    );
    run.evidence.device_history = Some(history(100));
    assert_eq!(
        rule_evidence("host-cache-likely", &run),
        None,
        "an NVMe drive"
    );
    run.target.transport = Some("virtio".into());
    assert_evidence_contains(
        "host-cache-likely",
        &run,
        &["20.0 us", "100 us", "5000 requests"],
    );
    run.evidence.device_history = Some(history(70));
    assert_eq!(
        rule_evidence("host-cache-likely", &run),
        None,
        "less than four times as fast"
    );
    run.evidence.device_history = Some(DeviceHistory {
        bytes: 5000 * 65_536,
        ..history(100)
    });
    assert_eq!(
        rule_evidence("host-cache-likely", &run),
        None,
        "larger requests"
    );
    run.evidence.device_history = Some(history(100));
    set_parameter(&mut run, "cache", "keep");
    assert_eq!(
        rule_evidence("host-cache-likely", &run),
        None,
        "the page cache here is nearer"
    );
}

#[test]
fn virtual_disk_with_write_back_cache_gets_verdict() {
    let mut run = run_with_setup(|setup| {
        setup.virtual_disk = Some("vda".into());
        setup.write_cache = Some("write back".into());
    });
    assert_eq!(rule_evidence("host-cache-likely", &run), None, "no write");
    run.evidence.issued = run_with_counts(0, 1000).evidence.issued;
    for workload in [Workload::CONSTANT, Workload::RANDOM, Workload::VARYING] {
        let found = evidence_for("host-cache-likely", &run, workload);
        assert!(found.unwrap().contains("write-back"), "{workload:?}");
    }
    let durable = evidence_for("host-cache-likely", &run, Workload::DURABLE_WRITES);
    assert_eq!(durable, None);
    set_parameter(&mut run, "sync", "dsync");
    assert_eq!(rule_evidence("host-cache-likely", &run), None);
}

#[test]
fn alignment_verdict_uses_physical_block_size() {
    assert_evidence_contains(
        "misaligned-partition",
        &run_with_setup(|it| it.aligned = Some(false)),
        &["nvme0n1", "4 KiB"],
    );
    assert_eq!(
        rule_evidence(
            "misaligned-partition",
            &run_with_setup(|it| it.aligned = Some(true))
        ),
        None
    );
    let mut run = empty_run();
    assert_eq!(rule_evidence("below-physical-block", &run), None);
    set_parameter(&mut run, "block-size", 512);
    assert_evidence_contains("below-physical-block", &run, &["--block-size 512", "4 KiB"]);
    set_parameter(&mut run, "block-size", 6144);
    assert!(
        rule_evidence("below-physical-block", &run).is_some(),
        "one and a half"
    );
    set_parameter(&mut run, "block-size", "512B-8KiB");
    assert_evidence_contains("below-physical-block", &run, &["512"]);
    set_parameter(&mut run, "block-size", 8192);
    set_parameter(&mut run, "align", 1024);
    assert_evidence_contains("below-physical-block", &run, &["--align 1KiB"]);
}

#[test]
fn scheduler_advice_becomes_verdict() {
    let run = run_with_setup(|it| it.scheduler_advice = Some("sda: because".into()));
    assert_evidence_contains("scheduler-unsuited", &run, &["sda: because"]);
    assert_eq!(
        rule_evidence("scheduler-unsuited", &run_with_setup(|_| {})),
        None
    );
}

#[test]
fn depth_above_device_queue_gets_verdict() {
    let mut run = run_with_setup(|it| it.max_queue_depth = Some(32));
    assert_eq!(
        rule_evidence("deeper-than-drive", &run),
        None,
        "32 are just right"
    );
    set_parameter(&mut run, "workers", 2);
    assert_evidence_contains("deeper-than-drive", &run, &["64 requests", "accepts 32"]);
    run.parameters.remove("depth");
    assert_eq!(
        rule_evidence("deeper-than-drive", &run),
        None,
        "the test chooses its own"
    );
}

#[test]
fn throughput_is_compared_with_link_maximum() {
    let with_rate = |rate: f64| {
        let mut run = run_with_setup(|it| {
            it.link = Some("SATA 3.0 Gbps".into());
            it.link_max_bytes_per_s = Some(300_000_000);
        });
        run.findings
            .set_metric(Metric::new(MetricId::THROUGHPUT, rate));
        run
    };
    assert_eq!(rule_evidence("link-bound", &with_rate(254e6)), None);
    assert_evidence_contains(
        "link-bound",
        &with_rate(280e6),
        &["280 MB/s", "93 %", "SATA 3.0 Gbps"],
    );
    assert_eq!(rule_evidence("faster-than-link", &with_rate(314e6)), None);
    assert_evidence_contains("faster-than-link", &with_rate(316e6), &["300 MB/s"]);
    assert_eq!(rule_evidence("link-bound", &with_rate(316e6)), None);
}
