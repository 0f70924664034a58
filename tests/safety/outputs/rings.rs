//! Rings whose space is not reserved, or no longer: they take no more of it than other outputs.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::stderr;
use crate::process::wait_until;
use crate::requirement::Requirement;

const RING_BYTES: u64 = 4 << 20;
/// Unit of `st_blocks` (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;
/// How long a ring may take to end: it takes a snapshot ten times a second.
const END_TIMEOUT: Duration = Duration::from_secs(30);

fn start_recorder(ring: &Path, duration: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .arg("record")
        .arg(ring)
        .args(["--ring", "4MB", "--interval", "0.1", "--duration", duration])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Records for a second.
fn record(ring: &Path) -> Output {
    start_recorder(ring, "1s").wait_with_output().unwrap()
}

fn assert_recorded(ring: &Path) {
    let output = record(ring);
    assert!(output.status.success(), "{}", stderr(&output));
}

fn assert_without_room(output: &Output) {
    let message = stderr(output);
    assert!(message.contains("almost full"), "{message}");
    assert_eq!(output.status.code(), Some(1), "{message}");
}

/// Takes the space of others, half of the reserve excepted.
fn fill_beyond_reserve(mounted: &LoopFileSystem) -> PathBuf {
    let facts = rustix::fs::statvfs(mounted.mount_point()).unwrap();
    let reserve = facts.f_blocks * facts.f_frsize / 20;
    let free = facts.f_bavail * facts.f_frsize;
    let path = mounted.file_path("others");
    let others = File::create(&path).unwrap();
    let keep = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(&others, keep, 0, free - reserve / 2).unwrap();
    others.sync_all().unwrap();
    path
}

/// Waits until a recorder in progress has appended to its ring.
fn wait_for_snapshot(ring: &Path) {
    let modified = || fs::metadata(ring).unwrap().modified().unwrap();
    let before = modified();
    wait_until("a snapshot", || modified() > before);
}

fn assert_ends_without_room(recorder: Child) {
    let began = Instant::now();
    assert_without_room(&recorder.wait_with_output().unwrap());
    assert!(began.elapsed() < END_TIMEOUT);
}

/// Writes what is in the file over itself: a copy shares no blocks with those that are only reserved.
fn write_again(path: &Path) {
    let content = fs::read(path).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&content, 0).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn ring_that_shares_its_blocks_with_a_copy_leaves_the_reserve() {
    let Some(mounted) = LoopFileSystem::new("xfs", Requirement::Xfs) else {
        return;
    };
    let ring = mounted.file_path("day.ring");
    assert_recorded(&ring);
    write_again(&ring);
    fill_beyond_reserve(&mounted);
    assert_recorded(&ring);
    let recorder = start_recorder(&ring, "120s");
    wait_for_snapshot(&ring);
    let copied = Command::new("cp")
        .arg("--reflink=always")
        .args([&ring, &mounted.file_path("incident.ring")])
        .output()
        .unwrap();
    assert!(copied.status.success(), "{}", stderr(&copied));
    assert_ends_without_room(recorder);
    assert_without_room(&record(&ring));
}

#[test]
fn ring_on_a_copy_on_write_file_system_leaves_the_reserve() {
    let Some(device) = LoopDevice::sparse(400 << 20) else {
        return;
    };
    let Some(mounted) = LoopFileSystem::on(device, "btrfs", &["--mixed"], Requirement::Btrfs)
    else {
        return;
    };
    let ring = mounted.file_path("day.ring");
    assert_recorded(&ring);
    let recorder = start_recorder(&ring, "120s");
    wait_for_snapshot(&ring);
    let others = fill_beyond_reserve(&mounted);
    assert_ends_without_room(recorder);
    assert_without_room(&record(&ring));
    fs::remove_file(others).unwrap();
    rustix::fs::syncfs(File::open(mounted.mount_point()).unwrap()).unwrap();
    assert_recorded(&ring);
}

#[test]
fn holes_of_a_ring_are_reserved_before_it_is_continued() {
    let Some(mounted) = LoopFileSystem::ext4(64 << 20) else {
        return;
    };
    let (ring, backup) = (mounted.file_path("day.ring"), mounted.file_path("backup"));
    let allocated = || fs::metadata(&ring).unwrap().blocks() * STAT_BLOCK_BYTES;
    assert_recorded(&ring);
    let copied = Command::new("cp")
        .arg("--sparse=always")
        .args([&ring, &backup])
        .status();
    assert!(copied.unwrap().success());
    fs::rename(&backup, &ring).unwrap();
    let before = allocated();
    assert!(before < RING_BYTES / 2, "{before} bytes");
    let others = fill_beyond_reserve(&mounted);
    assert_without_room(&record(&ring));
    assert_eq!(allocated(), before);
    fs::remove_file(others).unwrap();
    assert_recorded(&ring);
    assert!(allocated() >= RING_BYTES / 16 * 15, "{} bytes", allocated());
    // Once it has its space, it takes none from others.
    fill_beyond_reserve(&mounted);
    assert_recorded(&ring);
}
