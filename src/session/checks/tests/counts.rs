//! Tests of the checks that compare issued requests with the kernel's counters.

use super::*;
use crate::session::document::{
    Attribution, FileAllocation, LayerCounts, LayerRelation, OtherUser, SubmittedBytes,
};

fn kernel_counts(run: &mut BenchmarkRun) -> &mut KernelCounts {
    run.kernel.as_mut().unwrap()
}

fn other_user(command: &str, read: u64, written: u64, witness: Attribution) -> OtherUser {
    OtherUser {
        pid: 4711,
        command: command.into(),
        read_bytes: read,
        written_bytes: written,
        attribution: witness,
    }
}

#[test]
fn reads_missing_at_device_are_served_from_cache() {
    let mut run = run_with_counts(10_000, 0);
    assert_eq!(rule_evidence("served-from-cache", &run), None);
    kernel_counts(&mut run).read_bytes = 9_800 * 4096;
    assert_eq!(
        rule_evidence("served-from-cache", &run),
        None,
        "2 % are allowed"
    );
    kernel_counts(&mut run).read_bytes = 9_700 * 4096;
    assert_evidence_contains(
        "served-from-cache",
        &run,
        &["10000 reads", "nvme0n1", "3.0 % came"],
    );
    let mut few = run_with_counts(99, 0);
    kernel_counts(&mut few).read_bytes = 0;
    assert_eq!(
        rule_evidence("served-from-cache", &few),
        None,
        "too little to tell"
    );
}

#[test]
fn served_from_cache_is_detected_despite_other_reads() {
    let mut run = run_with_counts(10_000, 0);
    run.evidence.submitted_to_block_layer = Some(SubmittedBytes {
        read_bytes: 1000 * 4096,
        written_bytes: 0,
    });
    assert_evidence_contains("served-from-cache", &run, &["90 % came"]);
}

#[test]
fn holes_and_compression_do_not_count_as_cache_hits() {
    let mut run = run_with_counts(10_000, 0);
    kernel_counts(&mut run).read_bytes /= 4;
    let mut extents = FileAllocation {
        file: "f".into(),
        bytes: 100,
        hole_bytes: 50,
        unwritten_bytes: 25,
        encoded_bytes: 0,
    };
    run.evidence.extents = Some(extents.clone());
    assert_eq!(rule_evidence("served-from-cache", &run), None);
    extents.unwritten_bytes = 0;
    run.evidence.extents = Some(extents.clone());
    assert_evidence_contains("served-from-cache", &run, &["50 % came"]);
    extents.encoded_bytes = 50;
    run.evidence.extents = Some(extents);
    assert_eq!(rule_evidence("served-from-cache", &run), None);
}

#[test]
fn writes_missing_at_device_are_still_in_memory() {
    let mut run = run_with_counts(0, 10_000);
    kernel_counts(&mut run).written_bytes = 9_000 * 4096;
    assert_eq!(
        rule_evidence("still-in-memory", &run),
        None,
        "10 % are allowed"
    );
    kernel_counts(&mut run).written_bytes = 5_000 * 4096;
    assert_evidence_contains("still-in-memory", &run, &["41.0 MB", "20.5 MB"]);
    let mut little = run_with_counts(0, 200);
    kernel_counts(&mut little).written_bytes = 0;
    assert_eq!(
        rule_evidence("still-in-memory", &little),
        None,
        "less than 1 MiB"
    );
}

/// A run whose device read `more` bytes beyond those of the run.
fn run_with_other_reads(more: u64) -> BenchmarkRun {
    let mut run = run_with_counts(100_000, 0);
    run.evidence.submitted_to_block_layer = Some(SubmittedBytes {
        read_bytes: 100_000 * 4096,
        written_bytes: 0,
    });
    kernel_counts(&mut run).read_bytes += more;
    run
}

#[test]
fn device_traffic_beyond_benchmark_is_attributed_to_others() {
    let mut run = run_with_other_reads(100 * MIB);
    assert_evidence_contains(
        "other-users",
        &run,
        &["105 MB of reads for other processes", "have ended"],
    );
    run.evidence.other_users = vec![other_user(
        "backup",
        100 * MIB,
        0,
        Attribution::HasOpenDescriptor,
    )];
    assert_evidence_contains("other-users", &run, &["backup (4711: 105 MB, has it open)"]);
    assert_eq!(
        rule_evidence("other-users", &run_with_other_reads(MIB)),
        None,
        "less than 1 %"
    );
    assert_eq!(rule_evidence("other-users", &run_with_other_reads(0)), None);
}

#[test]
fn traced_other_requests_count_without_excess_traffic() {
    let mut run = run_with_other_reads(0);
    run.evidence.other_users = vec![other_user("dd", 0, 50 * MIB, Attribution::TracedRequests)];
    assert_evidence_contains(
        "other-users",
        &run,
        &["52.4 MB of writes", "dd (4711: 52.4 MB)"],
    );
}

#[test]
fn file_system_metadata_writes_are_not_other_users() {
    let mut run = run_with_counts(0, 100_000);
    run.target.kind = "file".into();
    run.evidence.submitted_to_block_layer = Some(SubmittedBytes::default());
    kernel_counts(&mut run).written_bytes *= 2;
    assert_eq!(rule_evidence("other-users", &run), None, "its journal");
    run.evidence.other_users = vec![other_user("rsync", 0, 30 * MIB, Attribution::AnyDrive)];
    assert_evidence_contains(
        "other-users",
        &run,
        &["31.5 MB of writes", "rsync (4711: 31.5 MB, on some drive)"],
    );
}

#[test]
fn traffic_on_other_partitions_counts_as_other_users() {
    let mut run = run_with_other_reads(0);
    let mut whole = run.kernel.clone().unwrap();
    whole.device = "nvme0".into();
    whole.read_bytes += 200 * MIB;
    run.evidence.underlying = vec![LayerCounts {
        relation_to_upper: LayerRelation::WholeDisk,
        counts: whole,
    }];
    assert_evidence_contains("other-users", &run, &["nvme0 served 210 MB of reads"]);
}

#[test]
fn more_smaller_device_requests_count_as_split() {
    let mut run = run_with_counts(10_000, 0);
    kernel_counts(&mut run).reads = 10_500;
    assert_eq!(
        rule_evidence("requests-split", &run),
        None,
        "5 % are allowed"
    );
    kernel_counts(&mut run).reads = 20_000;
    assert_evidence_contains(
        "requests-split",
        &run,
        &["10000 requests", "20000", "2 KiB"],
    );
    kernel_counts(&mut run).read_bytes *= 2;
    assert_eq!(
        rule_evidence("requests-split", &run),
        None,
        "others did as much"
    );
}

#[test]
fn merged_direct_requests_get_verdict() {
    let mut run = run_with_counts(10_000, 0);
    kernel_counts(&mut run).reads_merged = 500;
    assert_eq!(
        rule_evidence("requests-merged", &run),
        None,
        "5 % are allowed"
    );
    kernel_counts(&mut run).reads_merged = 600;
    assert_evidence_contains("requests-merged", &run, &["600 of 10000 requests"]);
    run.parameters.insert("cache".into(), "keep".into());
    assert_eq!(
        rule_evidence("requests-merged", &run),
        None,
        "the page cache merges by itself"
    );
}
