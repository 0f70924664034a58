//! Tests of the checks of the latency distribution.

use super::*;
use crate::session::document::{DriveSetup, Findings};

fn setup(run: &mut BenchmarkRun) -> &mut DriveSetup {
    run.evidence.drive_setup.get_or_insert_default()
}

/// Durable writes of this latency in microseconds on a disk.
fn set_durable_writes(run: &mut BenchmarkRun, microseconds: u64, rpm: Option<u32>) {
    run.target.rotational = Some(true);
    run.parameters.insert("sync".into(), "dsync".into());
    run.findings.latency.write = latency_of_times([microseconds; 1000]);
    setup(run).rotation_rate = rpm;
}

#[test]
fn durable_writes_faster_than_half_revolution_get_verdict() {
    let code = "sync-too-fast";
    assert_cases(
        || run_with_counts(0, 1000),
        &[
            (
                code,
                |run| set_durable_writes(run, 1990, None),
                &["1.99 ms", "2.00 ms"],
            ),
            (code, |run| set_durable_writes(run, 2010, None), &[]),
            (
                code,
                |run| set_durable_writes(run, 4100, Some(7200)),
                &["4.17 ms"],
            ),
            (code, |run| set_durable_writes(run, 4200, Some(7200)), &[]),
            (
                code,
                |run| {
                    set_durable_writes(run, 100, None);
                    run.parameters.insert("sync".into(), "none".into());
                },
                &[],
            ),
            (
                code,
                |run| {
                    set_durable_writes(run, 100, None);
                    setup(run).virtual_disk = Some("vda is attached by virtio".into());
                },
                &[],
            ),
            (
                code,
                |run| {
                    set_durable_writes(run, 100, None);
                    run.target.rotational = Some(false);
                },
                &[],
            ),
            // It is no disk.
            (
                code,
                |run| {
                    set_durable_writes(run, 100, None);
                    let mut nested = Findings::default();
                    nested.set_check(DOES_NOT_ROTATE.found("seen", "do this", Value::Null));
                    run.findings.merge_nested("rotation", &nested);
                },
                &[],
            ),
        ],
    );
}

/// Random reads of a disk of this size.
fn set_disk_reads(run: &mut BenchmarkRun, microseconds: u64, size_bytes: u64) {
    run.target.rotational = Some(true);
    run.target.size_bytes = size_bytes;
    run.findings.latency.read = latency_of_times([microseconds; 1000]);
}

#[test]
fn rotational_disk_with_flash_latency_gets_verdict() {
    let code = "rotational-flag-doubtful";
    assert_cases(
        || run_with_counts(1000, 0),
        &[
            (
                code,
                |run| set_disk_reads(run, 150, 1 << 40),
                &["rotational=1", "150 us"],
            ),
            // A fast disk; one whose cache may hold that; a virtual one, whose flag says nothing.
            (code, |run| set_disk_reads(run, 2100, 1 << 40), &[]),
            (code, |run| set_disk_reads(run, 150, 1 << 30), &[]),
            (
                code,
                |run| {
                    set_disk_reads(run, 150, 1 << 40);
                    setup(run).virtual_disk = Some("vda".into());
                },
                &[],
            ),
            // Memory answers.
            (
                code,
                |run| {
                    set_disk_reads(run, 150, 1 << 40);
                    run.parameters.insert("cache".into(), "keep".into());
                },
                &[],
            ),
            (
                code,
                |run| {
                    set_disk_reads(run, 150, 1 << 40);
                    setup(run).direct_io = Some(false);
                },
                &[],
            ),
        ],
    );
    let mut sequential = run_with_counts(1000, 0);
    set_disk_reads(&mut sequential, 150, 1 << 40);
    assert_eq!(evidence_for(code, &sequential, Workload::CONSTANT), None);
}

/// Random requests to 1 GiB of a disk of 8 TB.
fn narrow_run() -> BenchmarkRun {
    let mut run = empty_run();
    run.target.rotational = Some(true);
    run.target.size_bytes = 8_000_000_000_000;
    run.evidence.window_bytes = Some(1 << 30);
    run
}

#[test]
fn random_requests_to_a_part_of_a_disk_get_a_note() {
    let code = "narrow-window";
    assert_cases(
        narrow_run,
        &[
            (code, |_| (), &["1.07 GB of the disk's 8.00 TB"]),
            // A tenth.
            (
                code,
                |run| run.evidence.window_bytes = Some(800_000_000_000),
                &[],
            ),
            (code, |run| run.target.rotational = Some(false), &[]),
            // A file on a disk that is not known, and on one that is.
            (code, |run| run.target.size_bytes = 1 << 30, &[]),
            (
                code,
                |run| {
                    run.target.size_bytes = 1 << 30;
                    setup(run).capacity_bytes = Some(8_000_000_000_000);
                },
                &["8.00 TB"],
            ),
            (
                code,
                |run| setup(run).virtual_disk = Some("vda".into()),
                &[],
            ),
        ],
    );
    for workload in [Workload::CONSTANT, Workload::VARYING] {
        assert_eq!(evidence_for(code, &narrow_run(), workload), None);
    }
}
