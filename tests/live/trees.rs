//! Jobs of several files.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::eye::{Eye, MIB, PATIENCE, Running, file_of, has, text};

#[test]
fn a_tree_is_one_job_with_its_files_counted() {
    if !has("rsync") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    // A name that a terminal would obey.
    for index in 0..30 {
        file_of(&tree, &format!("part\x1b[2J\n{index}"), 1);
    }
    let mut eye = Eye::open();
    let rsync = Running(
        Command::new("rsync")
            .args(["-a", "--bwlimit=8m"])
            .arg(&tree)
            .arg(directory.path().join("backup"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let seen = eye.look().transfers;
        let job = seen.iter().find(|transfer| transfer.files_done > Some(1));
        if let Some(job) = job {
            assert_eq!(job.pid, rsync.0.id());
            assert_eq!(job.files_total, Some(30));
            assert_eq!(job.size_bytes, Some(30 * MIB));
            assert!(job.position_bytes >= job.files_done.map(|files| files * MIB));
            assert_eq!(job.source.as_deref(), Some(&*text(&tree)));
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the job was never seen");
}
