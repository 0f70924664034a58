//! Holes, zeros, compressible data, memory.

use super::*;
use crate::session::document::{BlockSample, Extents, Setup};

fn with_holes(mut run: Run, holes: u64, unwritten: u64) -> Run {
    run.evidence.extents = Some(Extents {
        file: "/srv/disk".into(),
        bytes: 100 * MIB,
        hole_bytes: holes,
        unwritten_bytes: unwritten,
        encoded_bytes: 0,
    });
    run
}

#[test]
fn holes_spoil_reading_and_slow_writing() {
    let read = with_holes(counted(1000, 0), 20 * MIB, 30 * MIB);
    assert_found(
        "file-has-holes",
        &read,
        &["/srv/disk", "21.0 MB are holes", "50 %"],
    );
    assert_eq!(found("blocks-not-allocated", &read), None);
    let written = with_holes(counted(0, 1000), 0, 30 * MIB);
    assert_found(
        "blocks-not-allocated",
        &written,
        &["31.5 MB were never written"],
    );
    assert_eq!(found("file-has-holes", &written), None);
    let tail = with_holes(counted(1000, 0), MIB, 0);
    assert_eq!(found("file-has-holes", &tail), None, "1 % is allowed");
}

#[test]
fn zeros_say_that_nothing_was_ever_written() {
    let with = |blocks, zero_blocks, run: Run| {
        let mut run = run;
        run.evidence.sample = Some(BlockSample {
            blocks,
            zero_blocks,
        });
        found("never-written", &run)
    };
    assert!(with(32, 16, counted(1000, 0)).unwrap().contains("16 of 32"));
    assert_eq!(with(32, 15, counted(1000, 0)), None);
    assert_eq!(with(8, 8, counted(1000, 0)), None, "no sample");
    assert_eq!(with(32, 32, counted(0, 1000)), None, "it is being written");
}

#[test]
fn data_that_is_not_random_is_told() {
    let mut run = counted(0, 1000);
    run.parameters.insert("data".into(), "zero".into());
    assert_found("compressible-data", &run, &["4.10 MB", "--data zero"]);
    run.parameters.insert("data".into(), "random".into());
    assert_eq!(found("compressible-data", &run), None);
    let mut read = counted(1000, 0);
    read.parameters.insert("data".into(), "zero".into());
    assert_eq!(found("compressible-data", &read), None);
}

#[test]
fn memory_is_told() {
    let mut run = run();
    run.evidence.setup = Some(Setup::default());
    assert_eq!(found("lies-in-memory", &run), None);
    run.evidence.setup = Some(Setup {
        memory: Some("its file system is tmpfs".into()),
        ..Setup::default()
    });
    assert_found("lies-in-memory", &run, &["/dev/nvme0n1", "tmpfs"]);
}
