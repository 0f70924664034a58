//! The pages of a destination that are only in memory, on a file system of the test's own.

use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use diskscope::model::snapshot::TransferView;
use diskscope::probe::sample::PagesUnknown;

use crate::live::eye::{LiveSampler, MIB, RunningChild, WAIT_TIMEOUT};

/// An ext4 file system on a loop device; unmounted before the device is detached.
struct MountedDisk {
    mount_point: PathBuf,
    _device: LoopDevice,
    _directory: tempfile::TempDir,
}

impl MountedDisk {
    fn create() -> Option<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = directory.path().join("image");
        File::create(&image).unwrap().set_len(256 * MIB).unwrap();
        let made = Command::new("mkfs.ext4").arg("-q").arg(&image).status();
        if !made.is_ok_and(|status| status.success()) {
            skip(Requirement::Ext4, "mkfs.ext4 is missing");
            return None;
        }
        let device = LoopDevice::attach(&image, &[])?;
        let mount_point = directory.path().join("mounted");
        std::fs::create_dir(&mount_point).unwrap();
        let mounted = Command::new("mount")
            .arg(device.path())
            .arg(&mount_point)
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            skip(Requirement::Loop, "a loop device cannot be mounted");
            return None;
        }
        Some(Self {
            mount_point,
            _device: device,
            _directory: directory,
        })
    }

    fn unmount(&self) -> bool {
        let status = Command::new("umount").arg(&self.mount_point).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        let mounted = Command::new("mountpoint")
            .arg("-q")
            .arg(&self.mount_point)
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            self.unmount();
        }
    }
}

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
    eye: &mut LiveSampler,
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
        last = transfer_to(eye, destination);
        if let Some(found) = last.as_ref().filter(|found| holds(found)) {
            return found.clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("last: {last:?}");
}

fn transfer_to(eye: &mut LiveSampler, destination: &Path) -> Option<TransferView> {
    let path = destination.to_str();
    let mut transfers = eye.next_snapshot().transfers.into_iter();
    transfers.find(|transfer| transfer.destination.as_deref() == path)
}

fn kernel_has_cachestat() -> bool {
    let file = tempfile::tempfile().unwrap();
    let found = diskscope::drive::page_cache::cached_bytes(&file);
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
    let Some(disk) = MountedDisk::create() else {
        return;
    };
    let destination = disk.mount_point.join("copy");
    let mut eye = LiveSampler::start();
    let mut writer = start_writer(&destination);

    let in_memory =
        |view: &TransferView| view.not_on_disk_exact && view.not_on_disk_bytes >= Some(4 * MIB);
    let view = write_until(&mut eye, &mut writer, &destination, in_memory);
    assert!(view.not_on_disk_bytes <= view.position_bytes.map(|bytes| bytes + MIB));
    assert_eq!(view.not_on_disk_unknown, None);

    let sync = || File::open(&destination).unwrap().sync_all().unwrap();
    sync();
    let view = transfer_to(&mut eye, &destination).unwrap();
    assert_eq!(
        (view.not_on_disk_bytes, view.not_on_disk_exact),
        (Some(0), true)
    );

    write_until(&mut eye, &mut writer, &destination, in_memory);
    drop(writer.0.stdin.take());
    writer.0.wait().unwrap();
    let view = eye.find_transfer(|view| {
        view.destination.as_deref() == destination.to_str() && view.state.is_over()
    });
    assert!(view.not_on_disk_exact, "{view:?}");
    sync();
    let view = transfer_to(&mut eye, &destination).unwrap();
    assert_eq!(view.not_on_disk_bytes, Some(0), "{view:?}");
    assert!(view.not_on_disk_exact && view.state.is_over());

    assert!(disk.unmount(), "no descriptor is left open");
    let view = transfer_to(&mut eye, &destination).unwrap();
    assert_eq!(view.not_on_disk_unknown, Some(PagesUnknown::FileSystem));
    assert!(!view.not_on_disk_exact);
}

#[test]
fn pages_of_tmpfs_are_no_pages_of_a_disk() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let destination = directory.path().join("copy");
    let mut eye = LiveSampler::start();
    let mut writer = start_writer(&destination);
    let seen = |view: &TransferView| view.not_on_disk_unknown == Some(PagesUnknown::FileSystem);
    let view = write_until(&mut eye, &mut writer, &destination, seen);
    assert_eq!(
        (view.not_on_disk_bytes, view.not_on_disk_exact),
        (None, false)
    );
}
