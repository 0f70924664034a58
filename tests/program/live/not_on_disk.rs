//! The pages of a destination that are only in memory, on a file system of the test's own.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use diskscope::probe::sample::PagesUnknown;
use diskscope::snapshot::view::TransferView;

use crate::file_system::LoopFileSystem;
use crate::live::live_sampler::{LiveSampler, MIB, RunningChild, WAIT_TIMEOUT};
use crate::requirement::{Requirement, skip};

/// `cat > destination`, which receives what the test writes.
fn start_writer(destination: &Path) -> RunningChild {
    let output = File::create(destination).unwrap();
    let child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(output)
        .spawn();
    RunningChild(child.unwrap())
}

/// Writes until the transfer to `destination` has these properties: somebody else may call sync(2)
/// at any time.
fn write_until(
    sampler: &mut LiveSampler,
    writer: &mut RunningChild,
    destination: &Path,
    holds: impl Fn(&TransferView) -> bool,
) -> TransferView {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let block = vec![7; 4 * MIB as usize];
    let mut last = None;
    while Instant::now() < deadline {
        // The file system holds half of it.
        if std::fs::metadata(destination).unwrap().len() < 128 * MIB {
            writer.0.stdin.as_mut().unwrap().write_all(&block).unwrap();
        }
        last = transfer_to(sampler, destination);
        if let Some(found) = last.as_ref().filter(|found| holds(found)) {
            return found.clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("last: {last:?}");
}

fn transfer_to(sampler: &mut LiveSampler, destination: &Path) -> Option<TransferView> {
    let path = destination.to_str();
    let mut transfers = sampler.next_snapshot().transfers.into_iter();
    transfers.find(|transfer| transfer.destination.as_deref() == path)
}

fn kernel_has_cachestat() -> bool {
    let file = tempfile::tempfile().unwrap();
    let found = diskscope::probe::process::file_pages::unwritten_bytes(&file);
    if let Err(error) = &found {
        skip(Requirement::Kernel, format!("cachestat(2): {error}"));
    }
    found.is_ok()
}

#[test]
fn bytes_in_memory_are_counted_until_sync_also_after_the_end_and_do_not_hold_the_mount() {
    if !kernel_has_cachestat() {
        return;
    }
    let Some(disk) = LoopFileSystem::ext4(256 * MIB) else {
        return;
    };
    let destination = disk.file_path("copy");
    let mut sampler = LiveSampler::start();
    let mut writer = start_writer(&destination);

    let in_memory =
        |view: &TransferView| view.not_on_disk_exact && view.not_on_disk_bytes >= Some(4 * MIB);
    let view = write_until(&mut sampler, &mut writer, &destination, in_memory);
    assert!(view.not_on_disk_bytes <= view.position_bytes.map(|bytes| bytes + MIB));
    assert_eq!(view.not_on_disk_unknown, None);

    let sync = || File::open(&destination).unwrap().sync_all().unwrap();
    // The writer may not have read all of its input yet.
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let is_on_disk =
        |view: &TransferView| (view.not_on_disk_bytes, view.not_on_disk_exact) == (Some(0), true);
    sync();
    while !transfer_to(&mut sampler, &destination).is_some_and(|view| is_on_disk(&view)) {
        assert!(Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(50));
        sync();
    }

    write_until(&mut sampler, &mut writer, &destination, in_memory);
    drop(writer.0.stdin.take());
    writer.0.wait().unwrap();
    let view = sampler.find_transfer(|view| {
        view.destination.as_deref() == destination.to_str() && view.state.is_over()
    });
    assert!(view.not_on_disk_exact, "{view:?}");
    sync();
    // The last look is kept for a while where looks take long.
    let view = sampler.find_transfer(|view| {
        view.destination.as_deref() == destination.to_str() && is_on_disk(view)
    });
    assert!(view.state.is_over());

    assert_eq!(disk.unmount(), Ok(()), "a descriptor is left open");
    let view = sampler.find_transfer(|view| {
        view.destination.as_deref() == destination.to_str()
            && view.not_on_disk_unknown == Some(PagesUnknown::FileSystem)
    });
    assert!(!view.not_on_disk_exact);
}

#[test]
fn pages_of_tmpfs_are_no_pages_of_a_disk() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let destination = directory.path().join("copy");
    let mut sampler = LiveSampler::start();
    let mut writer = start_writer(&destination);
    let seen = |view: &TransferView| view.not_on_disk_unknown == Some(PagesUnknown::FileSystem);
    let view = write_until(&mut sampler, &mut writer, &destination, seen);
    assert_eq!(
        (view.not_on_disk_bytes, view.not_on_disk_exact),
        (None, false)
    );
}
