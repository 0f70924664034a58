//! The mount of a server that does not answer.

use std::time::Duration;

use serde_json::Value;

use super::{Load, diagnosis};
use crate::slow_disk::SlowDisk;

#[test]
fn server_that_does_not_answer_is_the_one_whose_file_is_read() {
    let (Some(healthy), Some(slow)) = (SlowDisk::mount(), SlowDisk::mount()) else {
        return;
    };
    slow.serve_in_parallel(Duration::from_secs(15));
    let load = Load::shell([format!(
        "exec dd if={} of=/dev/null bs=4k 3<{}",
        slow.file().display(),
        healthy.file().display()
    )]);
    let document = diagnosis("7s");
    let pid = load.pids()[0];
    let causes = document["causes"].as_array().unwrap();
    let is_stalled = |cause: &&Value| cause["code"] == "fuse-or-network-stalled";
    let stalled = causes.iter().find(is_stalled).unwrap();
    let sentence = stalled["sentence"].as_str().unwrap();
    let names = |disk: &SlowDisk| sentence.contains(disk.directory().to_str().unwrap());
    // The servers of other tests may be slow at the same time.
    let victims = stalled["victims"].as_array().unwrap();
    let is_alone = victims.iter().all(|victim| victim["pid"] == pid);
    slow.be_quick();
    drop(load);
    assert!(!names(&healthy), "{document:#}");
    assert!(!is_alone || names(&slow), "{document:#}");
}
