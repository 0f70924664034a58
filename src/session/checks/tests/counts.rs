//! Tests of the checks that compare issued requests with the kernel's counters.

use super::*;
use crate::session::document::{
    Attribution, DriveSetup, FileAllocation, LayerCounts, LayerRelation, OtherUser, SubmittedBytes,
};

fn kernel_counts(run: &mut BenchmarkRun) -> &mut KernelCounts {
    run.kernel.as_mut().unwrap()
}

fn set_extents(run: &mut BenchmarkRun, hole_bytes: u64, unwritten_bytes: u64, encoded_bytes: u64) {
    run.evidence.extents = Some(FileAllocation {
        file: "f".into(),
        bytes: 100,
        hole_bytes,
        unwritten_bytes,
        encoded_bytes,
    });
}

fn set_submitted(run: &mut BenchmarkRun, read_bytes: u64) {
    let written_bytes = 0;
    run.evidence.submitted_to_block_layer = Some(SubmittedBytes {
        read_bytes,
        written_bytes,
    });
}

/// A device of the target's file system that completed these bytes.
fn add_member(run: &mut BenchmarkRun, device: &str, read_bytes: u64, written_bytes: u64) {
    run.kernel = None;
    run.evidence.underlying.push(LayerCounts {
        relation_to_upper: LayerRelation::FileSystem,
        counts: KernelCounts {
            device: device.into(),
            read_bytes,
            written_bytes,
            ..KernelCounts::default()
        },
    });
}

/// A file on a file system without a device that is known, of which this much was submitted.
fn hide_device(run: &mut BenchmarkRun, file_system: &str, submitted: u64) {
    run.kernel = None;
    run.target.kind = "file".into();
    run.target.file_system = Some(file_system.into());
    set_submitted(run, submitted);
}

#[test]
fn reads_missing_at_device_are_served_from_cache() {
    let code = "served-from-cache";
    assert_cases(
        || run_with_counts(10_000, 0),
        &[
            (code, |_| (), &[]),
            // 2 % are allowed.
            (
                code,
                |run| kernel_counts(run).read_bytes = 9_800 * 4096,
                &[],
            ),
            (
                code,
                |run| kernel_counts(run).read_bytes = 9_700 * 4096,
                &["10000 reads", "nvme0n1", "3.0 % came"],
            ),
            // Too little to tell.
            (
                code,
                |run| {
                    *run = run_with_counts(99, 0);
                    kernel_counts(run).read_bytes = 0;
                },
                &[],
            ),
            // Other processes read as well.
            (code, |run| set_submitted(run, 1000 * 4096), &["90 % came"]),
            // Holes do not count.
            (
                code,
                |run| {
                    kernel_counts(run).read_bytes /= 4;
                    set_extents(run, 50, 25, 0);
                },
                &[],
            ),
            (
                code,
                |run| {
                    kernel_counts(run).read_bytes /= 4;
                    set_extents(run, 50, 0, 0);
                },
                &["50 % came"],
            ),
            // Compression is named.
            (
                code,
                |run| {
                    kernel_counts(run).read_bytes /= 4;
                    set_extents(run, 0, 0, 60);
                },
                &["75 % came", "60 B of f are stored compressed"],
            ),
            (
                code,
                |run| {
                    add_member(run, "sda", 5_000 * 4096, 0);
                    add_member(run, "sdb", 5_000 * 4096, 0);
                },
                &[],
            ),
            (
                code,
                |run| {
                    add_member(run, "sda", 1_000 * 4096, 0);
                    add_member(run, "sdb", 1_000 * 4096, 0);
                },
                &["reached sda and sdb", "80 % came"],
            ),
            (
                code,
                |run| hide_device(run, "overlay", 1_000 * 4096),
                &["reached the block layer", "90 % came"],
            ),
            // Not counted by the kernel.
            (code, |run| hide_device(run, "fuse.sshfs", 0), &[]),
        ],
    );
}

#[test]
fn target_without_counters_is_named_where_nothing_else_tells() {
    let code = "device-unknown";
    assert_cases(
        || {
            let mut run = run_with_counts(10_000, 0);
            run.evidence.drive_setup = Some(DriveSetup::default());
            run.target.device = None;
            run
        },
        &[
            (code, |run| hide_device(run, "btrfs", 10_000 * 4096), &[]),
            (
                code,
                |run| hide_device(run, "fuse.sshfs", 0),
                &["no block device is known", "fuse.sshfs"],
            ),
        ],
    );
}

#[test]
fn writes_missing_at_device_are_still_in_memory() {
    let code = "still-in-memory";
    assert_cases(
        || run_with_counts(0, 10_000),
        &[
            // 10 % are allowed.
            (
                code,
                |run| kernel_counts(run).written_bytes = 9_000 * 4096,
                &[],
            ),
            (
                code,
                |run| kernel_counts(run).written_bytes = 5_000 * 4096,
                &["41.0 MB", "20.5 MB"],
            ),
            // Less than 1 MiB.
            (
                code,
                |run| {
                    *run = run_with_counts(0, 200);
                    kernel_counts(run).written_bytes = 0;
                },
                &[],
            ),
            (
                code,
                |run| {
                    kernel_counts(run).written_bytes = 0;
                    set_extents(run, 0, 0, 60);
                },
                &["0 B had reached nvme0n1", "stored compressed"],
            ),
            (
                code,
                |run| add_member(run, "sda", 0, 4096),
                &["had reached sda"],
            ),
        ],
    );
}

fn set_user(run: &mut BenchmarkRun, command: &str, read_bytes: u64, attribution: Attribution) {
    run.evidence.other_users = vec![OtherUser {
        pid: 4711,
        command: command.into(),
        read_bytes,
        written_bytes: 0,
        attribution,
    }];
}

#[test]
fn device_traffic_beyond_benchmark_is_attributed_to_others() {
    let code = "other-users";
    assert_cases(
        || {
            let mut run = run_with_counts(100_000, 0);
            set_submitted(&mut run, 100_000 * 4096);
            run
        },
        &[
            (code, |_| (), &[]),
            // Less than 1 %.
            (code, |run| kernel_counts(run).read_bytes += MIB, &[]),
            (
                code,
                |run| kernel_counts(run).read_bytes += 100 * MIB,
                &["105 MB of reads for other processes", "have ended"],
            ),
            (
                code,
                |run| {
                    kernel_counts(run).read_bytes += 100 * MIB;
                    set_user(run, "backup", 100 * MIB, Attribution::HasOpenDescriptor);
                },
                &["backup (4711: 105 MB, has it open)"],
            ),
            (
                code,
                |run| {
                    kernel_counts(run).read_bytes += 100 * MIB;
                    set_user(run, "bash", 100 * MIB, Attribution::EndedChildren);
                },
                &["bash (4711: 105 MB, or its ended children"],
            ),
            // Traced requests count without excess traffic.
            (
                code,
                |run| set_user(run, "dd", 50 * MIB, Attribution::TracedRequests),
                &["52.4 MB of reads", "dd (4711: 52.4 MB)"],
            ),
            // A file system reads metadata: only what processes did counts.
            (
                code,
                |run| {
                    run.target.kind = "file".into();
                    kernel_counts(run).read_bytes *= 2;
                },
                &[],
            ),
            (
                code,
                |run| {
                    run.target.kind = "file".into();
                    kernel_counts(run).read_bytes *= 2;
                    set_user(run, "rsync", 30 * MIB, Attribution::AnyDrive);
                },
                &["31.5 MB of reads", "rsync (4711: 31.5 MB, on some drive)"],
            ),
            (
                code,
                |run| {
                    run.target.kind = "file".into();
                    add_member(run, "sda", 200_000 * 4096, 0);
                    set_user(run, "rsync", 30 * MIB, Attribution::HasOpenDescriptor);
                },
                &["sda served 31.5 MB"],
            ),
            // Another partition of the disk.
            (
                code,
                |run| {
                    let mut counts = run.kernel.clone().unwrap();
                    counts.device = "nvme0".into();
                    counts.read_bytes += 200 * MIB;
                    run.evidence.underlying = vec![LayerCounts {
                        relation_to_upper: LayerRelation::WholeDisk,
                        counts,
                    }];
                },
                &["nvme0 served 210 MB of reads"],
            ),
        ],
    );
}

#[test]
fn split_and_merged_requests_are_told() {
    assert_cases(
        || run_with_counts(10_000, 0),
        &[
            // 5 % are allowed.
            (
                "requests-split",
                |run| kernel_counts(run).reads = 10_500,
                &[],
            ),
            (
                "requests-split",
                |run| kernel_counts(run).reads = 20_000,
                &["10000 requests", "20000", "2 KiB"],
            ),
            // Others did as much.
            (
                "requests-split",
                |run| {
                    kernel_counts(run).reads = 20_000;
                    kernel_counts(run).read_bytes *= 2;
                },
                &[],
            ),
            (
                "requests-merged",
                |run| kernel_counts(run).reads_merged = 500,
                &[],
            ),
            (
                "requests-merged",
                |run| kernel_counts(run).reads_merged = 600,
                &["600 of 10000 requests"],
            ),
            // The page cache merges by itself.
            (
                "requests-merged",
                |run| {
                    kernel_counts(run).reads_merged = 600;
                    run.parameters.insert("cache".into(), "keep".into());
                },
                &[],
            ),
        ],
    );
}
