//! Own counts against the kernel's.

use super::*;
use crate::session::document::{Extents, Layer, OtherUser, Relation, Submitted, Witness};

fn kernel(run: &mut Run) -> &mut KernelCounts {
    run.kernel.as_mut().unwrap()
}

fn other(command: &str, read: u64, written: u64, witness: Witness) -> OtherUser {
    OtherUser {
        pid: 4711,
        command: command.into(),
        read_bytes: read,
        written_bytes: written,
        witness,
    }
}

#[test]
fn reads_that_do_not_arrive_came_from_a_cache() {
    let mut run = counted(10_000, 0);
    assert_eq!(found("served-from-cache", &run), None);
    kernel(&mut run).read_bytes = 9_800 * 4096;
    assert_eq!(found("served-from-cache", &run), None, "2 % are allowed");
    kernel(&mut run).read_bytes = 9_700 * 4096;
    assert_found(
        "served-from-cache",
        &run,
        &["10000 reads", "nvme0n1", "3.0 % came"],
    );
    let mut few = counted(99, 0);
    kernel(&mut few).read_bytes = 0;
    assert_eq!(found("served-from-cache", &few), None, "too little to tell");
}

#[test]
fn reads_of_others_do_not_hide_a_cache() {
    let mut run = counted(10_000, 0);
    run.evidence.submitted = Some(Submitted {
        read_bytes: 1000 * 4096,
        written_bytes: 0,
    });
    assert_found("served-from-cache", &run, &["90 % came"]);
}

#[test]
fn holes_and_compressed_files_are_no_cache() {
    let mut run = counted(10_000, 0);
    kernel(&mut run).read_bytes /= 4;
    let mut extents = Extents {
        file: "f".into(),
        bytes: 100,
        hole_bytes: 50,
        unwritten_bytes: 25,
        encoded_bytes: 0,
    };
    run.evidence.extents = Some(extents.clone());
    assert_eq!(found("served-from-cache", &run), None);
    extents.unwritten_bytes = 0;
    run.evidence.extents = Some(extents.clone());
    assert_found("served-from-cache", &run, &["50 % came"]);
    extents.encoded_bytes = 50;
    run.evidence.extents = Some(extents);
    assert_eq!(found("served-from-cache", &run), None);
}

#[test]
fn writes_that_are_missing_are_in_memory() {
    let mut run = counted(0, 10_000);
    kernel(&mut run).written_bytes = 9_000 * 4096;
    assert_eq!(found("still-in-memory", &run), None, "10 % are allowed");
    kernel(&mut run).written_bytes = 5_000 * 4096;
    assert_found("still-in-memory", &run, &["41.0 MB", "20.5 MB"]);
    let mut little = counted(0, 200);
    kernel(&mut little).written_bytes = 0;
    assert_eq!(found("still-in-memory", &little), None, "less than 1 MiB");
}

/// A device that did `more` bytes of reads beyond those of the run.
fn disturbed(more: u64) -> Run {
    let mut run = counted(100_000, 0);
    run.evidence.submitted = Some(Submitted {
        read_bytes: 100_000 * 4096,
        written_bytes: 0,
    });
    kernel(&mut run).read_bytes += more;
    run
}

#[test]
fn what_a_device_did_beyond_the_test_was_for_others() {
    let mut run = disturbed(100 * MIB);
    assert_found(
        "other-users",
        &run,
        &["105 MB of reads for others", "nobody is left"],
    );
    run.evidence.others = vec![other("backup", 100 * MIB, 0, Witness::HasItOpen)];
    assert_found("other-users", &run, &["backup (4711: 105 MB, has it open)"]);
    assert_eq!(found("other-users", &disturbed(MIB)), None, "less than 1 %");
    assert_eq!(found("other-users", &disturbed(0)), None);
}

#[test]
fn requests_that_were_seen_count_even_where_the_sums_do_not_show_them() {
    let mut run = disturbed(0);
    run.evidence.others = vec![other("dd", 0, 50 * MIB, Witness::Traced)];
    assert_found(
        "other-users",
        &run,
        &["52.4 MB of writes", "dd (4711: 52.4 MB)"],
    );
}

#[test]
fn a_file_system_writes_on_its_own_account() {
    let mut run = counted(0, 100_000);
    run.target.kind = "file".into();
    run.evidence.submitted = Some(Submitted::default());
    kernel(&mut run).written_bytes *= 2;
    assert_eq!(found("other-users", &run), None, "its journal");
    run.evidence.others = vec![other("rsync", 0, 30 * MIB, Witness::SomeDrive)];
    assert_found(
        "other-users",
        &run,
        &["31.5 MB of writes", "rsync (4711: 31.5 MB, on some drive)"],
    );
}

#[test]
fn users_of_other_partitions_use_the_drive_as_well() {
    let mut run = disturbed(0);
    let mut whole = run.kernel.clone().unwrap();
    whole.device = "nvme0".into();
    whole.read_bytes += 200 * MIB;
    run.evidence.beneath = vec![Layer {
        relation: Relation::Whole,
        counts: whole,
    }];
    assert_found("other-users", &run, &["nvme0 did 210 MB of reads"]);
}

#[test]
fn more_and_smaller_requests_were_split() {
    let mut run = counted(10_000, 0);
    kernel(&mut run).reads = 10_500;
    assert_eq!(found("requests-split", &run), None, "5 % are allowed");
    kernel(&mut run).reads = 20_000;
    assert_found(
        "requests-split",
        &run,
        &["10000 requests", "20000", "2 KiB"],
    );
    kernel(&mut run).read_bytes *= 2;
    assert_eq!(found("requests-split", &run), None, "others did as much");
}

#[test]
fn merged_requests_are_told_past_the_page_cache() {
    let mut run = counted(10_000, 0);
    kernel(&mut run).reads_merged = 500;
    assert_eq!(found("requests-merged", &run), None, "5 % are allowed");
    kernel(&mut run).reads_merged = 600;
    assert_found("requests-merged", &run, &["10000", "600"]);
    run.parameters.insert("cache".into(), "keep".into());
    assert_eq!(
        found("requests-merged", &run),
        None,
        "the page cache merges by itself"
    );
}
