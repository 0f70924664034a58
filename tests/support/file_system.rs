//! A file system of the test's own on a loop device. Needs root; says so and passes over where there
//! is none.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// XFS wants at least 300 MiB.
const IMAGE_BYTES: u64 = 400 << 20;

/// A mounted file system, unmounted when it is dropped.
pub struct LoopFileSystem {
    mount_point: PathBuf,
    // Detached after it is unmounted, and removed last.
    device: LoopDevice,
    _directory: TempDir,
}

impl LoopFileSystem {
    /// A new file system of that type, on a sparse file; `None`, and why in one line, where that is
    /// not to be had.
    pub fn new(kind: &str, requirement: Requirement) -> Option<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = directory.path().join("image");
        std::fs::File::create(&image)
            .unwrap()
            .set_len(IMAGE_BYTES)
            .unwrap();
        if !make(kind, &[], &image, requirement) {
            return None;
        }
        let device = LoopDevice::attach(&image, &[])?;
        Self::mount(device, kind, requirement, directory)
    }

    /// A new file system of that type on a device; `options` are those of mkfs.
    pub fn on(
        device: LoopDevice,
        kind: &str,
        options: &[&str],
        requirement: Requirement,
    ) -> Option<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        if !make(kind, options, Path::new(device.path()), requirement) {
            return None;
        }
        Self::mount(device, kind, requirement, directory)
    }

    fn mount(
        device: LoopDevice,
        kind: &str,
        requirement: Requirement,
        directory: TempDir,
    ) -> Option<Self> {
        let mount_point = directory.path().join("mounted");
        std::fs::create_dir(&mount_point).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", kind, device.path()])
            .arg(&mount_point)
            .output()
            .unwrap();
        if !mounted.status.success() {
            let said = String::from_utf8_lossy(&mounted.stderr).trim().to_owned();
            skip(requirement, said);
            return None;
        }
        let file_system = Self {
            mount_point,
            device,
            _directory: directory,
        };
        assert!(file_system.is_mounted(), "nothing is to be written below /");
        Some(file_system)
    }

    /// Where it is mounted.
    pub fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Name of its device, such as `loop3`.
    pub fn device_name(&self) -> &str {
        self.device.path().trim_start_matches("/dev/")
    }

    fn is_mounted(&self) -> bool {
        let status = Command::new("mountpoint")
            .arg("-q")
            .arg(&self.mount_point)
            .status();
        status.is_ok_and(|status| status.success())
    }
}

fn make(kind: &str, options: &[&str], place: &Path, requirement: Requirement) -> bool {
    let made = Command::new(format!("mkfs.{kind}"))
        .arg("-q")
        .args(options)
        .arg(place)
        .output();
    let made = made.is_ok_and(|made| made.status.success());
    if !made {
        skip(requirement, format!("mkfs.{kind} is missing or failed"));
    }
    made
}

impl Drop for LoopFileSystem {
    fn drop(&mut self) {
        if self.is_mounted() {
            let done = Command::new("umount").arg(&self.mount_point).status();
            let done = done.is_ok_and(|status| status.success());
            assert!(done || std::thread::panicking(), "stays mounted");
        }
    }
}
