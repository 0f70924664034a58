//! Single files: whatever the program, they are found and followed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use diskscope::snapshot::view::TransferState;

use crate::live::live_sampler::{
    LiveSampler, MIB, RunningChild, WAIT_TIMEOUT, create_file, path_text, program_exists,
};

/// dd that reads a file and hands it to a pipe.
fn dd_into_a_pipe(source: &Path) -> RunningChild {
    let dd = Command::new("dd")
        .args([&format!("if={}", source.display()), "bs=64K", "status=none"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    RunningChild(dd.unwrap())
}

#[test]
fn dd_into_pipe_is_followed_by_position() {
    if !program_exists("dd") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 64);
    let mut sampler = LiveSampler::start();
    let mut dd = dd_into_a_pipe(&source);
    let mut pipe = dd.0.stdout.take().unwrap();
    let mut taken = 0;
    let mut block = vec![0; MIB as usize];
    let mut last = None;
    // The reader decides how fast it goes: nothing here depends on the machine's speed.
    for _ in 0..6 {
        pipe.read_exact(&mut block).unwrap();
        taken += MIB;
        last = sampler.transfer_of(dd.0.id());
    }
    let transfer = last.expect("it is found");
    assert_eq!(transfer.source.as_deref(), Some(&*path_text(&source)));
    assert_eq!(transfer.command, "dd");
    assert_eq!(transfer.size_bytes, Some(64 * MIB));
    let position = transfer.position_bytes.unwrap();
    assert!(
        (taken..=taken + MIB).contains(&position),
        "{position} for {taken}"
    );
    assert_eq!(transfer.state, TransferState::Moving);
    let (low, likely, high) = (
        transfer.eta_low.unwrap(),
        transfer.eta.unwrap(),
        transfer.eta_high.unwrap(),
    );
    assert!(low <= likely && likely <= high);
    let expected = (64 * MIB - position) as f64 / transfer.rate_bytes_per_s.unwrap();
    assert!((likely.as_secs_f64() / expected - 1.0).abs() < 1e-6);

    let pid = dd.0.id();
    drop(pipe);
    drop(dd);
    let ended = sampler
        .transfer_of(pid)
        .expect("it stays visible for a while");
    // It was killed far from the end.
    assert!(
        matches!(ended.state, TransferState::Ended | TransferState::Closed),
        "{ended:?}"
    );
    assert_eq!(ended.eta, None);
}

#[test]
fn dd_from_pipe_has_size_from_arguments() {
    if !program_exists("dd") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let destination = directory.path().join("destination");
    let mut sampler = LiveSampler::start();
    let mut dd = RunningChild(
        Command::new("dd")
            .arg(format!("of={}", destination.display()))
            .args(["bs=64K", "count=1024", "iflag=fullblock", "status=none"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut pipe = dd.0.stdin.take().unwrap();
    let block = vec![7; 4 * MIB as usize];
    let mut last = None;
    for _ in 0..6 {
        pipe.write_all(&block).unwrap();
        last = sampler.transfer_of(dd.0.id()).or(last);
    }
    let transfer = last.expect("it is found");
    assert_eq!(transfer.source, None);
    assert_eq!(
        transfer.destination.as_deref(),
        Some(&*path_text(&destination))
    );
    assert_eq!(transfer.size_bytes, Some(64 * MIB));
    assert!(transfer.eta.is_some());
}

#[test]
fn cp_without_moving_position_is_found() {
    if !program_exists("cp") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 200);
    let mut sampler = LiveSampler::start();
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let mut round = 0;
    while Instant::now() < deadline {
        round += 1;
        let destination = directory.path().join(format!("copy-{}", round % 2));
        let _ = std::fs::remove_file(&destination);
        // Without a reflink, which is over at once.
        let mut cp = RunningChild(
            Command::new("cp")
                .arg("--reflink=never")
                .args([&source, &destination])
                .spawn()
                .unwrap(),
        );
        while cp.0.try_wait().unwrap().is_none() {
            let Some(transfer) = sampler.transfer_of(cp.0.id()) else {
                continue;
            };
            if transfer.state != TransferState::Moving || transfer.eta.is_none() {
                continue;
            }
            assert_eq!(transfer.source.as_deref(), Some(&*path_text(&source)));
            assert_eq!(
                transfer.destination.as_deref(),
                Some(&*path_text(&destination))
            );
            assert_eq!(transfer.size_bytes, Some(200 * MIB));
            assert!(transfer.position_bytes.unwrap() > 0);
            return;
        }
    }
    panic!("cp was never seen copying in {round} rounds");
}

#[test]
fn rsync_sender_and_receiver_are_one_transfer() {
    if !program_exists("rsync") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 64);
    std::fs::create_dir(directory.path().join("backup")).unwrap();
    let mut sampler = LiveSampler::start();
    let rsync = RunningChild(
        Command::new("rsync")
            .arg("--bwlimit=8m")
            .arg(&source)
            .arg(directory.path().join("backup/"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let wanted = path_text(&directory.path().join("backup/source"));
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let mut seen = Vec::new();
    while Instant::now() < deadline {
        seen = sampler.next_snapshot().transfers;
        let found = seen.iter().find(|transfer| {
            transfer.source.as_deref() == Some(&*path_text(&source))
                && transfer.destination.as_deref() == Some(&*wanted)
        });
        if let Some(transfer) = found {
            assert_eq!(transfer.size_bytes, Some(64 * MIB));
            let halves = seen
                .iter()
                .filter(|other| other.destination.as_deref() == Some(&*wanted))
                .count();
            assert_eq!(halves, 1, "{seen:?}");
            drop(rsync);
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("not found, only {seen:?}");
}

#[test]
fn pipeline_is_one_transfer() {
    if !program_exists("dd") || !program_exists("gzip") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 200);
    let mut sampler = LiveSampler::start();
    let mut dd = dd_into_a_pipe(&source);
    let archive = File::create(directory.path().join("archive.gz")).unwrap();
    let mut gzip = RunningChild(
        Command::new("gzip")
            .arg("-9")
            .stdin(dd.0.stdout.take().unwrap())
            .stdout(archive)
            .spawn()
            .unwrap(),
    );
    let wanted = path_text(&directory.path().join("archive.gz"));
    let mut last = None;
    while gzip.0.try_wait().unwrap().is_none() {
        if let Some(transfer) = sampler.transfer_of(dd.0.id()) {
            if transfer.destination.as_deref() == Some(&*wanted) {
                assert_eq!(transfer.source.as_deref(), Some(&*path_text(&source)));
                return;
            }
            last = Some(transfer);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("not found, only {last:?}");
}

/// A pipeline of three processes with a limited rate, in a process group of its own.
fn limited_pipeline(directory: &Path, rate: &str) -> RunningChild {
    RunningChild(
        Command::new("sh")
            .args(["-c", &format!("cat source | pv -q -L {rate} | cat > copy")])
            .current_dir(directory)
            .process_group(0)
            .spawn()
            .unwrap(),
    )
}

#[test]
fn pipeline_with_splice_is_paired_and_ends_where_it_was_killed() {
    if !program_exists("pv") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 64);
    let mut sampler = LiveSampler::start();
    let shell = limited_pipeline(directory.path(), "16m");
    let paired = sampler.find_transfer(|transfer| {
        transfer.source.as_deref() == Some(&*path_text(&source)) && transfer.destination.is_some()
    });
    let copy = directory.path().join("copy");
    assert_eq!(paired.destination.as_deref(), Some(&*path_text(&copy)));
    let group = i32::try_from(shell.0.id()).unwrap();
    rustix::process::kill_process_group(
        rustix::process::Pid::from_raw(group).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let ended = sampler.find_transfer(|transfer| {
        transfer.destination == paired.destination && transfer.state == TransferState::Ended
    });
    let length = std::fs::metadata(&copy).unwrap().len();
    assert!(length < 64 * MIB);
    assert_eq!(ended.position_bytes, Some(length));
}
