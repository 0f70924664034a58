//! How the drive is attached and set.

use super::*;
use crate::session::document::{Figure, Layer, Relation, Setup, Unit};

fn with(change: impl FnOnce(&mut Setup)) -> Run {
    let mut run = run();
    let mut setup = Setup::default();
    change(&mut setup);
    run.evidence.setup = Some(setup);
    run
}

fn set(run: &mut Run, name: &str, value: impl Into<serde_json::Value>) {
    run.parameters.insert(name.into(), value.into());
}

#[test]
fn the_page_cache_is_told() {
    let mut run = run();
    set(&mut run, "cache", "bypass");
    assert_eq!(found("buffered", &run), None);
    set(&mut run, "cache", "drop");
    assert_found("buffered", &run, &["--cache drop"]);
}

#[test]
fn a_loop_device_should_go_past_the_cache() {
    let mut run = with(|setup| {
        setup.direct_io = Some(false);
        setup.backing_file = Some("/srv/disk".into());
    });
    assert_found("loop-without-direct-io", &run, &["/srv/disk"]);
    run.kernel = counted(1000, 0).kernel;
    run.evidence.beneath = vec![Layer {
        relation: Relation::Backing,
        counts: KernelCounts {
            device: "sda".into(),
            ..KernelCounts::default()
        },
    }];
    assert_found(
        "loop-without-direct-io",
        &run,
        &["4.10 MB went through nvme0n1", "0 B through sda"],
    );
    let direct = with(|setup| setup.direct_io = Some(true));
    assert_eq!(found("loop-without-direct-io", &direct), None);
    assert_eq!(found("loop-without-direct-io", &with(|_| {})), None);
}

#[test]
fn a_virtual_disk_faster_than_flash_has_its_host_s_cache() {
    let mut run = with(|setup| setup.virtual_disk = Some("vda is attached by virtio".into()));
    assert_found("virtual-disk", &run, &["virtio"]);
    run.findings.latency.read = times([59; 1000]);
    assert_found("host-cache-likely", &run, &["less than 59"]);
    run.findings.latency.read = times([61; 1000]);
    assert_eq!(found("host-cache-likely", &run), None);
    run.findings.latency.read = times([10; 1000]);
    set(&mut run, "cache", "keep");
    assert_eq!(
        found("host-cache-likely", &run),
        None,
        "the page cache here is nearer"
    );
    let mut real = with(|_| {});
    real.findings.latency.read = times([10; 1000]);
    assert_eq!(found("host-cache-likely", &real), None, "no virtual disk");
}

#[test]
fn a_host_that_writes_back_takes_writes_for_done() {
    let mut run = with(|setup| {
        setup.virtual_disk = Some("vda".into());
        setup.write_cache = Some("write back".into());
    });
    run.findings.latency.write = times([500; 1000]);
    assert_found("host-cache-likely", &run, &["write back"]);
    set(&mut run, "sync", "dsync");
    assert_eq!(found("host-cache-likely", &run), None);
}

#[test]
fn alignment_is_judged_by_the_physical_block() {
    assert_found(
        "misaligned-partition",
        &with(|it| it.aligned = Some(false)),
        &["nvme0n1", "4 KiB"],
    );
    assert_eq!(
        found("misaligned-partition", &with(|it| it.aligned = Some(true))),
        None
    );
    let mut run = run();
    assert_eq!(found("below-physical-block", &run), None);
    set(&mut run, "block-size", 512);
    assert_found("below-physical-block", &run, &["--block-size 512", "4 KiB"]);
    set(&mut run, "block-size", 6144);
    assert!(
        found("below-physical-block", &run).is_some(),
        "one and a half"
    );
    set(&mut run, "block-size", "512B-8KiB");
    assert_found("below-physical-block", &run, &["512"]);
    set(&mut run, "block-size", 8192);
    set(&mut run, "align", 1024);
    assert_found("below-physical-block", &run, &["--align 1KiB"]);
}

#[test]
fn advice_on_the_scheduler_is_passed_on() {
    let run = with(|it| it.scheduler_advice = Some("sda: because".into()));
    assert_found("scheduler-unsuited", &run, &["sda: because"]);
    assert_eq!(found("scheduler-unsuited", &with(|_| {})), None);
}

#[test]
fn a_queue_may_be_deeper_than_the_drive_s() {
    let mut run = with(|it| it.parallel_requests = Some(32));
    assert_eq!(found("deeper-than-drive", &run), None, "32 are just right");
    set(&mut run, "workers", 2);
    assert_found("deeper-than-drive", &run, &["64 requests", "takes 32"]);
    run.parameters.remove("depth");
    assert_eq!(
        found("deeper-than-drive", &run),
        None,
        "the test chooses its own"
    );
}

#[test]
fn throughput_is_held_against_the_link() {
    let with_rate = |rate: f64| {
        let mut run = with(|it| {
            it.link = Some("SATA 3.0 Gbps".into());
            it.link_bytes_per_s = Some(300_000_000);
        });
        run.findings
            .put_figure(Figure::new("throughput", rate, Unit::BytesPerSecond));
        run
    };
    assert_eq!(found("link-bound", &with_rate(254e6)), None);
    assert_found(
        "link-bound",
        &with_rate(280e6),
        &["280 MB/s", "93 %", "SATA 3.0 Gbps"],
    );
    assert_eq!(found("faster-than-link", &with_rate(314e6)), None);
    assert_found("faster-than-link", &with_rate(316e6), &["300 MB/s"]);
    assert_eq!(found("link-bound", &with_rate(316e6)), None);
}
