//! Jobs of several files.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use diskscope::snapshot::view::TransferState;

use crate::live::live_sampler::{
    LiveSampler, MIB, RunningChild, create_file, path_text, program_exists,
};

/// rsync of a tree at 8 MiB/s, started in a directory.
fn start_slow_rsync(paths: [impl AsRef<OsStr>; 2], directory: &Path) -> RunningChild {
    RunningChild(
        Command::new("rsync")
            .args(["-a", "--bwlimit=8m"])
            .args(paths)
            .current_dir(directory)
            .env("PWD", directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    )
}

#[test]
fn copied_tree_is_one_job_with_file_counts() {
    if !program_exists("rsync") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    // A name with a control sequence for the terminal.
    for index in 0..30 {
        create_file(&tree, &format!("part\x1b[2J\n{index}"), 1);
    }
    let mut sampler = LiveSampler::start();
    let backup = directory.path().join("backup");
    let rsync = start_slow_rsync([&tree, &backup], directory.path());
    // Tests beside this one run copies too.
    let job = sampler.find_transfer(|it| it.pid == Some(rsync.0.id()) && it.files_done > Some(1));
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
    let mut sampler = LiveSampler::start();
    let rsync = start_slow_rsync(["SRC/", "DST"], directory.path());
    // Tests beside this one run copies too.
    let job = sampler.find_transfer(|it| it.pid == Some(rsync.0.id()) && it.files_done > Some(1));
    assert_eq!(job.files_total, Some(20));
    assert_eq!(job.size_bytes, Some(20 * MIB));
}

#[test]
fn copied_tree_of_small_files_ends_with_all_of_them() {
    const FILES: u64 = 3000;
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    for index in 0..FILES {
        let below = tree.join(format!("d{}", index % 30));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(below.join(index.to_string()), [7; 2000]).unwrap();
    }
    let mut sampler = LiveSampler::start();
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
    let job = sampler.find_transfer(|transfer| {
        transfer.files_total == Some(FILES) && transfer.state == TransferState::Finished
    });
    assert_eq!(
        (job.files_done, job.files_total),
        (Some(FILES), Some(FILES))
    );
    assert_eq!(job.position_bytes, Some(FILES * 2000));
}
