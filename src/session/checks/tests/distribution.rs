//! Tests of the checks of the latency distribution.

use super::*;
use crate::session::document::{DriveSetup, Findings};

#[test]
fn too_few_samples_verdict_ends_at_thousand_requests() {
    let mut run = empty_run();
    run.findings.latency.read = latency_of_times([100; 999]);
    assert_evidence_contains("too-few-samples", &run, &["999 reads"]);
    run.findings.latency.read = latency_of_times([100; 1000]);
    assert_eq!(rule_evidence("too-few-samples", &run), None);
}

#[test]
fn bimodal_latency_gets_verdict_with_both_modes() {
    let mut run = empty_run();
    let fast = (0..700).map(|index| 80 + index % 40);
    run.findings.latency.write = latency_of_times(fast.chain((0..300).map(|index| 8000 + index)));
    assert_evidence_contains(
        "bimodal-latency",
        &run,
        &["70 % of the writes", "others about 7.69 ms"],
    );
    run.findings.latency.write = latency_of_times((0..1000).map(|index| 80 + index % 40));
    assert_eq!(rule_evidence("bimodal-latency", &run), None);
}

/// A run with durable writes of this latency in microseconds on a disk.
fn run_with_durable_writes(microseconds: u64, rpm: Option<u32>) -> BenchmarkRun {
    let mut run = run_with_counts(0, 1000);
    run.target.rotational = Some(true);
    run.parameters.insert("sync".into(), "dsync".into());
    run.findings.latency.write = latency_of_times([microseconds; 1000]);
    run.evidence.drive_setup = Some(DriveSetup {
        rotation_rate: rpm,
        ..DriveSetup::default()
    });
    run
}

#[test]
fn durable_writes_faster_than_half_revolution_get_verdict() {
    assert_evidence_contains(
        "sync-too-fast",
        &run_with_durable_writes(1990, None),
        &["1.99 ms", "2.00 ms"],
    );
    assert_eq!(
        rule_evidence("sync-too-fast", &run_with_durable_writes(2010, None)),
        None
    );
    assert_evidence_contains(
        "sync-too-fast",
        &run_with_durable_writes(4100, Some(7200)),
        &["4.17 ms"],
    );
    assert_eq!(
        rule_evidence("sync-too-fast", &run_with_durable_writes(4200, Some(7200))),
        None
    );
    let mut unsynced = run_with_durable_writes(100, None);
    unsynced.parameters.insert("sync".into(), "none".into());
    assert_eq!(rule_evidence("sync-too-fast", &unsynced), None);
    let mut hosted = run_with_durable_writes(100, None);
    let setup = hosted.evidence.drive_setup.as_mut().unwrap();
    setup.virtual_disk = Some("vda is attached by virtio".into());
    assert_eq!(rule_evidence("sync-too-fast", &hosted), None);
    let mut flash = run_with_durable_writes(100, None);
    flash.target.rotational = Some(false);
    assert_eq!(rule_evidence("sync-too-fast", &flash), None);
    let mut known = run_with_durable_writes(100, None);
    let clock = DOES_NOT_ROTATE.found("seen", "do this", serde_json::Value::Null);
    let mut nested = Findings::default();
    nested.set_check(clock);
    known.findings.merge_nested("rotation", &nested);
    assert_eq!(
        rule_evidence("sync-too-fast", &known),
        None,
        "it is no disk"
    );
}

#[test]
fn rotational_disk_with_flash_latency_gets_verdict() {
    let with = |microseconds: u64, size: u64, virtual_disk: bool| {
        let mut run = run_with_counts(1000, 0);
        run.target.rotational = Some(true);
        run.target.size_bytes = size;
        run.findings.latency.read = latency_of_times([microseconds; 1000]);
        run.evidence.drive_setup = Some(DriveSetup {
            virtual_disk: virtual_disk.then(|| "vda".to_owned()).map(Into::into),
            ..DriveSetup::default()
        });
        run
    };
    let code = "rotational-flag-doubtful";
    assert_evidence_contains(
        code,
        &with(150, 1 << 40, false),
        &["rotational=1", "150 us"],
    );
    assert_eq!(
        rule_evidence(code, &with(2100, 1 << 40, false)),
        None,
        "a fast disk"
    );
    assert_eq!(
        rule_evidence(code, &with(150, 1 << 30, false)),
        None,
        "its cache may hold that"
    );
    assert_eq!(
        rule_evidence(code, &with(150, 1 << 40, true)),
        None,
        "the flag of a virtual disk says nothing"
    );
    let mut buffered = with(150, 1 << 40, false);
    buffered.parameters.insert("cache".into(), "keep".into());
    assert_eq!(rule_evidence(code, &buffered), None);
    let mut cached = with(150, 1 << 40, false);
    cached.evidence.drive_setup.as_mut().unwrap().direct_io = Some(false);
    assert_eq!(rule_evidence(code, &cached), None, "memory answered");
    let sequential = with(150, 1 << 40, false);
    assert_eq!(evidence_for(code, &sequential, Workload::CONSTANT), None);
}

#[test]
fn run_of_less_than_a_second_is_too_short() {
    let mut run = empty_run();
    run.elapsed_ns = 999_000_000;
    assert_evidence_contains("too-short", &run, &["999 ms"]);
    run.state = RunState::Interrupted;
    assert_eq!(rule_evidence("too-short", &run), None, "that says more");
    run.state = RunState::Finished;
    run.target.kind = "simulated".into();
    assert_eq!(
        rule_evidence("too-short", &run),
        None,
        "its clock may be virtual"
    );
    run.target.kind = "block-device".into();
    run.elapsed_ns = 1_000_000_000;
    assert_eq!(rule_evidence("too-short", &run), None);
}

#[test]
fn random_requests_to_a_part_of_a_disk_get_a_note() {
    let code = "narrow-window";
    let mut run = empty_run();
    run.target.rotational = Some(true);
    run.target.size_bytes = 8_000_000_000_000;
    run.evidence.window_bytes = Some(1 << 30);
    assert_evidence_contains(code, &run, &["1.07 GB of the disk's 8.00 TB"]);
    for workload in [Workload::CONSTANT, Workload::VARYING] {
        assert_eq!(evidence_for(code, &run, workload), None);
    }
    run.evidence.window_bytes = Some(800_000_000_000);
    assert_eq!(rule_evidence(code, &run), None, "a tenth");
    // A file on a disk.
    run.target.size_bytes = 1 << 30;
    run.evidence.window_bytes = Some(1 << 30);
    assert_eq!(rule_evidence(code, &run), None, "the disk is not known");
    let mut setup = DriveSetup {
        capacity_bytes: Some(8_000_000_000_000),
        ..DriveSetup::default()
    };
    run.evidence.drive_setup = Some(setup.clone());
    assert_evidence_contains(code, &run, &["8.00 TB"]);
    setup.virtual_disk = Some("vda".into());
    run.evidence.drive_setup = Some(setup);
    assert_eq!(rule_evidence(code, &run), None);
    run.evidence.drive_setup = None;
    run.target.size_bytes = 1 << 40;
    run.target.rotational = Some(false);
    assert_eq!(rule_evidence(code, &run), None, "an SSD");
}
