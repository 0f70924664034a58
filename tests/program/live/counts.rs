//! Counts of programs that work on several files or write to a pipe, until they end.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use diskscope::snapshot::view::{TransferState, TransferView};

use crate::live::live_sampler::{
    LiveSampler, MIB, RunningChild, WAIT_TIMEOUT, create_file, path_text, program_exists,
};

fn start(directory: &Path, script: &str) -> RunningChild {
    let child = Command::new("sh")
        .args(["-c", script])
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    RunningChild(child.unwrap())
}

/// Files with their final names below a directory of directories.
fn arrived_files(directory: &Path) -> u64 {
    let below = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let names = below(directory).flat_map(|it| below(&it.path()));
    let is_final = |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(b".");
    names.filter(|it| is_final(&it.file_name())).count() as u64
}

#[test]
fn small_files_are_counted_as_they_arrive_although_rsync_restores_the_times_of_directories() {
    if !program_exists("rsync") {
        return;
    }
    const FILES: u64 = 3000;
    let directory = tempfile::tempdir().unwrap();
    for index in 0..FILES {
        let below = directory.path().join(format!("tree/d{:02}", index / 30));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(index.to_string()), vec![7; 20_000]).unwrap();
    }
    let mut sampler = LiveSampler::start();
    let mut rsync = start(directory.path(), "exec rsync -a --bwlimit=15m tree/ copy");
    let mut seen: Vec<(Instant, u64)> = Vec::new();
    let mut compared = 0;
    while rsync.0.try_wait().unwrap().is_none() {
        let true_count = arrived_files(&directory.path().join("copy"));
        seen.push((Instant::now(), true_count));
        let job = sampler.transfer_of(rsync.0.id());
        // The destination is looked at twice a second.
        let earlier = seen
            .iter()
            .rfind(|(at, _)| at.elapsed() > Duration::from_secs(2));
        if let (Some(job), Some((_, least))) = (job, earlier)
            && !job.state.is_over()
        {
            assert!(job.files_done >= Some(*least), "{least} at least: {job:?}");
            compared += 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(compared > 5, "compared {compared} times");
}

#[test]
fn archive_into_a_pipe_is_neither_in_memory_nor_said_to_be_incomplete() {
    if !program_exists("tar") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("tree")).unwrap();
    for index in 0..10 {
        create_file(&directory.path().join("tree"), &index.to_string(), 10);
    }
    let mut sampler = LiveSampler::start();
    // It stands still until it is seen, and is then over within a moment.
    let _shell = start(
        directory.path(),
        "tar cf - tree | (sleep 2; cat > /dev/null)",
    );
    let is_archive = |it: &TransferView| it.command == "tar" && it.files_total == Some(10);
    let view = sampler.find_transfer(|it| is_archive(it) && it.size_bytes >= Some(100 * MIB));
    assert_eq!((view.not_on_disk_bytes, view.destination), (None, None));
    let over = sampler.find_transfer(|it| is_archive(it) && it.state.is_over());
    assert_ne!(over.state, TransferState::Ended, "{over:?}");
    assert_eq!(over.not_on_disk_bytes, None);
}

#[test]
fn files_that_are_read_one_after_the_other_are_one_job() {
    if !program_exists("sha256sum") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d"] {
        // Of holes: they are read at the speed of memory.
        let file = fs::File::create(directory.path().join(name)).unwrap();
        file.set_len(256 * MIB).unwrap();
    }
    let mut sampler = LiveSampler::start();
    let mut child = start(directory.path(), "exec sha256sum a b c d");
    let pid = child.0.id();
    let is_job = |it: &TransferView| it.pid == Some(pid) && it.files_total == Some(4);
    let job = sampler.find_transfer(|it| is_job(it) && it.eta.is_some());
    assert_eq!(job.size_bytes, Some(1024 * MIB));
    let second = sampler.find_transfer(|it| is_job(it) && it.position_bytes > Some(300 * MIB));
    assert_eq!(second.state, TransferState::Moving);
    // As a shell does: until then it is there.
    child.0.wait().unwrap();
    let over = sampler.find_transfer(|it| is_job(it) && it.state.is_over());
    assert_ne!(over.state, TransferState::Ended, "{over:?}");
}

#[test]
fn package_whose_reader_is_forked_is_unpacked_as_one_transfer() {
    if !program_exists("dpkg-deb") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let package = directory.path().join("package");
    fs::create_dir_all(package.join("DEBIAN")).unwrap();
    let control = "Package: big\nVersion: 1\nArchitecture: all\nMaintainer: x <x@y>\n\
                   Description: x\n";
    fs::write(package.join("DEBIAN/control"), control).unwrap();
    create_file(&package, "blob", 200);
    let built = Command::new("dpkg-deb")
        .args(["-Zgzip", "-z1", "--build", "package", "big.deb"])
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .status();
    assert!(built.unwrap().success());
    let archive = path_text(&directory.path().join("big.deb"));
    let mut sampler = LiveSampler::start();
    let mut dpkg = start(directory.path(), "exec dpkg -x big.deb out");
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let mut most = Vec::new();
    while dpkg.0.try_wait().unwrap().is_none() && Instant::now() < deadline {
        let transfers = sampler.next_snapshot().transfers;
        let is_of_archive = |it: &TransferView| it.source.as_deref() == Some(&*archive);
        let found: Vec<TransferView> = transfers.into_iter().filter(is_of_archive).collect();
        if found.len() > most.len() {
            most = found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(most.len(), 1, "{most:#?}");
}
