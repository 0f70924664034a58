//! Jobs of several files.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::live::eye::{
    LiveSampler, MIB, RunningChild, WAIT_TIMEOUT, create_file, path_text, program_exists,
};

#[test]
fn copied_tree_is_one_job_with_file_counts() {
    if !program_exists("rsync") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    // A name that a terminal would obey.
    for index in 0..30 {
        create_file(&tree, &format!("part\x1b[2J\n{index}"), 1);
    }
    let mut eye = LiveSampler::start();
    let rsync = RunningChild(
        Command::new("rsync")
            .args(["-a", "--bwlimit=8m"])
            .arg(&tree)
            .arg(directory.path().join("backup"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while Instant::now() < deadline {
        let seen = eye.next_snapshot().transfers;
        let job = seen.iter().find(|transfer| transfer.files_done > Some(1));
        if let Some(job) = job {
            assert_eq!(job.pid, rsync.0.id());
            assert_eq!(job.files_total, Some(30));
            assert_eq!(job.size_bytes, Some(30 * MIB));
            assert!(job.position_bytes >= job.files_done.map(|files| files * MIB));
            assert_eq!(job.source.as_deref(), Some(&*path_text(&tree)));
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the job was never seen");
}
