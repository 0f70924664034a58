//! Tests of the checks for holes, zeros, compressible data and memory-backed drives.

use super::*;
use crate::session::document::{BlockSample, DriveSetup, FileAllocation};

fn run_with_holes(mut run: BenchmarkRun, holes: u64, unwritten: u64) -> BenchmarkRun {
    run.evidence.extents = Some(FileAllocation {
        file: "/srv/disk".into(),
        bytes: 100 * MIB,
        hole_bytes: holes,
        unwritten_bytes: unwritten,
        encoded_bytes: 0,
    });
    run
}

#[test]
fn holes_invalidate_reads_and_warn_writes() {
    let read = run_with_holes(run_with_counts(1000, 0), 20 * MIB, 30 * MIB);
    assert_evidence_contains(
        "file-has-holes",
        &read,
        &["/srv/disk", "21.0 MB are holes", "50 %"],
    );
    assert_eq!(rule_evidence("blocks-not-allocated", &read), None);
    let written = run_with_holes(run_with_counts(0, 1000), 0, 30 * MIB);
    assert_evidence_contains(
        "blocks-not-allocated",
        &written,
        &["31.5 MB were never written"],
    );
    assert_eq!(rule_evidence("file-has-holes", &written), None);
    let tail = run_with_holes(run_with_counts(1000, 0), MIB, 0);
    assert_eq!(
        rule_evidence("file-has-holes", &tail),
        None,
        "1 % is allowed"
    );
}

#[test]
fn zero_blocks_give_never_written_verdict() {
    let with = |blocks, zero_blocks, run: BenchmarkRun| {
        let mut run = run;
        run.evidence.block_sample = Some(BlockSample {
            blocks,
            zero_blocks,
        });
        rule_evidence("never-written", &run)
    };
    assert!(
        with(32, 16, run_with_counts(1000, 0))
            .unwrap()
            .contains("16 of 32")
    );
    assert_eq!(with(32, 15, run_with_counts(1000, 0)), None);
    assert_eq!(with(8, 8, run_with_counts(1000, 0)), None, "no sample");
    assert_eq!(
        with(32, 32, run_with_counts(0, 1000)),
        None,
        "it is being written"
    );
}

#[test]
fn compressible_data_gets_verdict() {
    let mut run = run_with_counts(0, 1000);
    run.parameters.insert("data".into(), "zero".into());
    assert_evidence_contains("compressible-data", &run, &["4.10 MB", "--data zero"]);
    run.parameters.insert("data".into(), "random".into());
    assert_eq!(rule_evidence("compressible-data", &run), None);
    let mut read = run_with_counts(1000, 0);
    read.parameters.insert("data".into(), "zero".into());
    assert_eq!(rule_evidence("compressible-data", &read), None);
}

#[test]
fn memory_backed_target_gets_verdict() {
    let mut run = empty_run();
    run.evidence.drive_setup = Some(DriveSetup::default());
    assert_eq!(rule_evidence("memory-backed", &run), None);
    run.evidence.drive_setup = Some(DriveSetup {
        memory_backing: Some("its file system is tmpfs".into()),
        ..DriveSetup::default()
    });
    assert_evidence_contains("memory-backed", &run, &["/dev/nvme0n1", "tmpfs"]);
}
