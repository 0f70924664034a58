//! The mount of a server that does not answer, and the command for it.

use std::path::Path;
use std::process::Command;
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
    let mut remedies = stalled["remedies"].as_array().unwrap().iter();
    let command =
        remedies.find_map(|it| it["command"].as_str()?.split_once(" && umount -f -l -- "));
    let is_met = || {
        let (condition, _) = command.unwrap();
        let shell = Command::new("sh").args(["-c", condition]).status();
        shell.unwrap().success()
    };
    let unmounts = |disk: &SlowDisk| {
        let directory = disk.directory();
        command.is_some_and(|(_, place)| Path::new(place) == directory)
    };
    // The servers of other tests may be slow at the same time.
    let victims = stalled["victims"].as_array().unwrap();
    let is_alone = victims.iter().all(|victim| victim["pid"] == pid);
    let while_waiting = is_alone && unmounts(&slow) && is_met();
    slow.be_quick();
    drop(load);
    assert!(!unmounts(&healthy), "{document:#}");
    assert_eq!(while_waiting, is_alone, "{document:#}");
    assert!(!is_alone || !is_met(), "{document:#}");
}
