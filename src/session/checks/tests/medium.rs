//! Tests of the checks for holes, zeros, compressible data and memory-backed drives.

use super::*;
use crate::session::document::{BlockSample, DriveSetup, FileAllocation};

fn set_holes(run: &mut BenchmarkRun, hole_mib: u64, unwritten_mib: u64) {
    run.evidence.extents = Some(FileAllocation {
        file: "/srv/disk".into(),
        bytes: 100 * MIB,
        hole_bytes: hole_mib * MIB,
        unwritten_bytes: unwritten_mib * MIB,
        encoded_bytes: 0,
    });
}

fn set_sample(run: &mut BenchmarkRun, blocks: u32, zero_blocks: u32) {
    run.evidence.block_sample = Some(BlockSample {
        blocks,
        zero_blocks,
    });
}

fn set_data(run: &mut BenchmarkRun, data: &str) {
    run.parameters.insert("data".into(), data.into());
}

#[test]
fn what_is_read_may_not_be_on_the_medium() {
    assert_cases(
        || run_with_counts(1000, 0),
        &[
            (
                "file-has-holes",
                |run| set_holes(run, 20, 30),
                &["/srv/disk", "21.0 MB are holes", "50 %"],
            ),
            ("blocks-not-allocated", |run| set_holes(run, 20, 30), &[]),
            // 1 % is allowed.
            ("file-has-holes", |run| set_holes(run, 1, 0), &[]),
            (
                "never-written",
                |run| set_sample(run, 32, 16),
                &["16 of 32"],
            ),
            ("never-written", |run| set_sample(run, 32, 15), &[]),
            ("never-written", |run| set_sample(run, 8, 8), &[]),
            ("compressible-data", |run| set_data(run, "zero"), &[]),
            (
                "memory-backed",
                |run| run.evidence.drive_setup = Some(DriveSetup::default()),
                &[],
            ),
            (
                "memory-backed",
                |run| {
                    let setup = run.evidence.drive_setup.get_or_insert_default();
                    setup.memory_backing = Some("its file system is tmpfs".into());
                },
                &["/dev/nvme0n1", "tmpfs"],
            ),
        ],
    );
}

#[test]
fn what_is_written_may_not_be_measured() {
    assert_cases(
        || run_with_counts(0, 1000),
        &[
            (
                "blocks-not-allocated",
                |run| set_holes(run, 0, 30),
                &["31.5 MB were never written"],
            ),
            ("file-has-holes", |run| set_holes(run, 0, 30), &[]),
            ("never-written", |run| set_sample(run, 32, 32), &[]),
            (
                "compressible-data",
                |run| set_data(run, "zero"),
                &["4.10 MB", "--data zero"],
            ),
            ("compressible-data", |run| set_data(run, "random"), &[]),
        ],
    );
}
