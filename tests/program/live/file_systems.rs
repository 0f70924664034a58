//! Transfers from and to file systems that do more than others: subvolumes that are sent, blocks that
//! are allocated in advance.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use diskscope::snapshot::view::{TransferState, TransferView};

use crate::control_group::TestCgroup;
use crate::file_system::LoopFileSystem;
use crate::live::live_sampler::{LiveSampler, MIB, RunningChild, create_file, program_exists};
use crate::requirement::Requirement;

fn start(directory: &Path, script: &str) -> RunningChild {
    let child = Command::new("sh")
        .args(["-c", script])
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    RunningChild(child.unwrap())
}

#[test]
fn subvolume_that_is_sent_is_one_job_of_its_files() {
    if !program_exists("btrfs") {
        return;
    }
    let Some(disk) = LoopFileSystem::new("btrfs", Requirement::Btrfs) else {
        return;
    };
    let root = disk.mount_point();
    assert!(
        start(root, "btrfs subvolume create data && mkdir to")
            .0
            .wait()
            .unwrap()
            .success()
    );
    for name in ["a", "b", "c"] {
        create_file(&root.join("data"), name, 20);
    }
    let mut snapshot = start(
        root,
        "btrfs subvolume snapshot -r data sent && sync -f data",
    );
    assert!(snapshot.0.wait().unwrap().success());
    let mut sampler = LiveSampler::start();
    // It stands still until it is seen.
    let mut shell = start(
        root,
        "btrfs send -q sent | (sleep 2; exec btrfs receive -q to)",
    );
    let is_job = |it: &TransferView| it.command == "btrfs" && it.files_total == Some(3);
    let job = sampler.find_transfer(|it| is_job(it) && it.size_bytes.is_some());
    assert_eq!(job.size_bytes, Some(60 * MIB));
    assert!(job.position_bytes < Some(60 * MIB), "{job:?}");
    let over = sampler.find_transfer(|it| is_job(it) && it.state.is_over());
    assert_ne!(over.state, TransferState::Ended, "{over:?}");
    assert!(shell.0.wait().unwrap().success());
    assert_eq!(
        fs::metadata(root.join("to/sent/c")).unwrap().len(),
        20 * MIB
    );
}

/// A file of 96 MiB whose every other 8 MiB are a hole.
fn create_sparse_file(path: &Path) {
    let file = File::create(path).unwrap();
    file.set_len(96 * MIB).unwrap();
    let block: Vec<u8> = (0..8 * MIB as u32)
        .map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for index in 0..6 {
        file.write_all_at(&block, index * 16 * MIB).unwrap();
    }
    file.sync_all().unwrap();
}

#[test]
fn sparse_copy_to_xfs_has_the_rate_and_the_time_left_of_its_data() {
    const LIMIT: u64 = 6 * MIB;
    let Some(disk) = LoopFileSystem::new("xfs", Requirement::Xfs) else {
        return;
    };
    create_sparse_file(&disk.file_path("source"));
    // Nothing of it is in memory afterwards.
    disk.unmount().unwrap();
    disk.mount().unwrap();
    let device = disk.device().number();
    let Some(group) = TestCgroup::with_read_limit(device, LIMIT) else {
        return;
    };
    let mut sampler = LiveSampler::start();
    let line = group.command("exec cp --reflink=never --sparse=always source copy");
    let mut cp = start(disk.mount_point(), &line);
    // When it was seen, what was told to be left, and the rate.
    let mut told: Vec<(Instant, Duration, f64)> = Vec::new();
    while cp.0.try_wait().unwrap().is_none() {
        if let Some(view) = sampler.transfer_of(cp.0.id())
            && let (Some(left), Some(rate)) = (view.eta, view.rate_bytes_per_s)
        {
            told.push((Instant::now(), left, rate));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    let end = Instant::now();
    assert!(told.len() > 5, "{told:?}");
    for (at, left, rate) in &told[told.len() / 2..] {
        // XFS has allocated up to twice the length.
        assert!(*rate < 1.5 * LIMIT as f64, "{told:?}");
        let truth = (end - *at).as_secs_f64();
        let error = (left.as_secs_f64() - truth).abs();
        assert!(error < 1.5 + 0.2 * truth, "{truth} left: {told:?}");
    }
}
