//! Jobs of several files.

use std::process::{Command, Stdio};

use diskscope::model::snapshot::TransferState;

use crate::live::eye::{LiveSampler, MIB, RunningChild, create_file, path_text, program_exists};

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
    // Tests beside this one run copies too.
    let job = eye.find_transfer(|it| it.pid == Some(rsync.0.id()) && it.files_done > Some(1));
    assert_eq!(job.files_total, Some(30));
    assert_eq!(job.size_bytes, Some(30 * MIB));
    assert!(job.position_bytes >= job.files_done.map(|files| files * MIB));
    assert_eq!(job.source.as_deref(), Some(&*path_text(&tree)));
}

#[test]
fn tree_with_relative_paths_is_a_job_although_rsync_changes_its_directory() {
    if !program_exists("rsync") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("SRC");
    std::fs::create_dir(&tree).unwrap();
    for index in 0..20 {
        create_file(&tree, &format!("file{index}"), 1);
    }
    let mut eye = LiveSampler::start();
    let rsync = RunningChild(
        Command::new("rsync")
            .args(["-a", "--bwlimit=8m", "SRC/", "DST"])
            .current_dir(directory.path())
            .env("PWD", directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    // Tests beside this one run copies too.
    let job = eye.find_transfer(|it| it.pid == Some(rsync.0.id()) && it.files_done > Some(1));
    assert_eq!(job.files_total, Some(20));
    assert_eq!(job.size_bytes, Some(20 * MIB));
}

#[test]
fn copied_tree_of_small_files_ends_with_all_of_them() {
    const FILES: u64 = 3000;
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    for place in 0..FILES {
        let below = tree.join(format!("d{}", place % 30));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(below.join(place.to_string()), [7; 2000]).unwrap();
    }
    let mut eye = LiveSampler::start();
    // Stopped in the middle, the job is seen, however fast it is.
    let script = "cp -r tree copy & pid=$!; until [ -d copy/d1 ]; do :; done; \
                  kill -STOP $pid; sleep 2; kill -CONT $pid; wait $pid";
    let _shell = RunningChild(
        Command::new("sh")
            .args(["-c", script])
            .current_dir(directory.path())
            .spawn()
            .unwrap(),
    );
    let job = eye.find_transfer(|transfer| {
        transfer.files_total == Some(FILES) && transfer.state == TransferState::Finished
    });
    assert_eq!(
        (job.files_done, job.files_total),
        (Some(FILES), Some(FILES))
    );
    assert_eq!(job.position_bytes, Some(FILES * 2000));
}
