//! Recordings of machines on which no rule was written.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The diagnosis of the recording that the demo shows, at a time of it: a database that writes with
/// O_DSYNC to a hard disk, and from 02:10:56 on a nightly copy onto the same disk, whose writeback comes
/// in bursts (`tests/pictures/stage.sh`).
fn demo_at(time: &str) -> Value {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo/recording.rec");
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["why", "--json", "--from", recording, "--at", time])
        .args(["--duration", "10s"])
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn database_alone_is_no_problem() {
    for time in ["02:10:52", "02:10:55", "02:10:58"] {
        let document = demo_at(time);
        assert_eq!(document["problem"], false, "{time} {document:#}");
    }
}

#[test]
fn copy_whose_writeback_delays_a_database_is_named_in_all_its_bursts() {
    // In the first of these the disk is saturated for two seconds of ten, in the last for most of them.
    for time in ["02:11:07", "02:11:16", "02:11:25", "02:11:37", "02:11:46"] {
        let document = demo_at(time);
        let cause = &document["causes"][0];
        assert_eq!(cause["code"], "device-saturated", "{time} {document:#}");
        assert_eq!(cause["device"], "sda", "{time}");
        let party = |key: &str| cause[key][0]["command"].as_str().unwrap().to_owned();
        assert!(party("who").contains("/bin/cp "), "{time} {document:#}");
        assert!(party("victims").contains("/bin/dd "), "{time}");
    }
}

/// What `tests/guest/fault_recordings.sh` has recorded, and what is to be named first; `None`: nothing
/// is wrong.
const FAULT_RECORDINGS: [(&str, Option<&str>); 12] = [
    ("cgroup-throttled-bytes", Some("cgroup-throttled")),
    ("cgroup-throttled-requests", Some("cgroup-throttled")),
    ("device-saturated-readers", Some("device-saturated")),
    ("device-slow-delay", Some("device-slow")),
    ("drive-errors-flakey", Some("drive-errors")),
    ("hung-io-suspended", Some("hung-io")),
    ("not-io-processors", Some("not-io")),
    ("nothing-buffered-write", None),
    ("nothing-idle", None),
    ("nothing-sequential-read", None),
    ("raid-resync-read", Some("raid-resync")),
    ("sync-storm-dsync", Some("sync-storm")),
];

#[test]
fn faults_in_recordings_are_named_first() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fault_recordings");
    let mut wrong = Vec::new();
    for (name, expected) in FAULT_RECORDINGS {
        let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args(["why", "--json", "--duration", "15s", "--from"])
            .arg(directory.join(name).with_extension("rec"))
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {message}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cause = &document["causes"][0];
        // Busy processors harm nobody's I/O, but are the answer.
        let is_answer = cause["severity"] != "note" || cause["code"] == "not-io";
        let found = cause["code"].as_str().filter(|_| is_answer);
        if found != expected {
            wrong.push(format!("{name}: {found:?} {}", cause["sentence"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let files = std::fs::read_dir(directory).unwrap();
    assert_eq!(files.count(), FAULT_RECORDINGS.len(), "one is not listed");
}
