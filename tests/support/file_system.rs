//! A file system of the test's own on a loop device. Needs root; the test is skipped without.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// XFS wants at least 300 MiB.
const IMAGE_BYTES: u64 = 400 << 20;
/// Of ext4: without a lazy initialisation, whose thread writes later.
const EXT4_OPTIONS: [&str; 2] = ["-E", "lazy_itable_init=0,lazy_journal_init=0"];

/// A mounted file system, unmounted when it is dropped.
pub struct LoopFileSystem {
    mount_point: PathBuf,
    // Detached after it is unmounted, and removed last.
    device: LoopDevice,
    _directory: TempDir,
}

impl LoopFileSystem {
    /// A new file system of that type on a sparse file; `None`, and why in one line, where that is
    /// not to be had.
    pub fn new(kind: &str, requirement: Requirement) -> Option<Self> {
        Self::on(LoopDevice::sparse(IMAGE_BYTES)?, kind, &[], requirement)
    }

    /// A new ext4 on a sparse file of that many bytes.
    pub fn ext4(bytes: u64) -> Option<Self> {
        Self::on(LoopDevice::sparse(bytes)?, "ext4", &[], Requirement::Ext4)
    }

    /// A new file system of that type on a device; `options` are those of mkfs.
    pub fn on(
        device: LoopDevice,
        kind: &str,
        options: &[&str],
        requirement: Requirement,
    ) -> Option<Self> {
        if !make_file_system(&device, kind, options, requirement) {
            return None;
        }
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mount_point = directory.path().join("mounted");
        std::fs::create_dir(&mount_point).unwrap();
        let file_system = Self {
            mount_point,
            device,
            _directory: directory,
        };
        if let Err(error) = file_system.mount() {
            skip(requirement, error);
            return None;
        }
        Some(file_system)
    }

    /// Mounts it again after [`Self::unmount`].
    pub fn mount(&self) -> Result<(), String> {
        call("mount", &[self.device.path().as_ref(), &self.mount_point])?;
        assert!(self.is_mounted(), "nothing is to be written below /");
        Ok(())
    }

    /// Unmounts it, unless it is busy.
    pub fn unmount(&self) -> Result<(), String> {
        call("umount", &[&self.mount_point])
    }

    /// Where it is mounted.
    pub fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Path of a file on it.
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.mount_point.join(name)
    }

    /// Its device.
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// Name of its device, such as `loop3`.
    pub fn device_name(&self) -> &str {
        self.device.name()
    }

    fn is_mounted(&self) -> bool {
        call("mountpoint", &["-q".as_ref(), &self.mount_point]).is_ok()
    }
}

impl Drop for LoopFileSystem {
    fn drop(&mut self) {
        if self.is_mounted() {
            // A program of another test may look at all mounts just now.
            let mut tries = (0..50).map(|_| {
                let done = self.unmount().is_ok();
                if !done {
                    std::thread::sleep(std::time::Duration::from_millis(100));
                }
                done
            });
            let done = tries.any(|done| done);
            assert!(done || std::thread::panicking(), "stays mounted");
        }
    }
}

/// Makes a file system on a device, with further options of mkfs; `false`, and why in one line, where
/// that fails.
pub fn make_file_system(
    device: &LoopDevice,
    kind: &str,
    options: &[&str],
    requirement: Requirement,
) -> bool {
    let program = format!("mkfs.{kind}");
    let usual = match kind {
        "ext4" => &EXT4_OPTIONS[..],
        _ => &[],
    };
    let mut words = vec![Path::new("-q")];
    words.extend(usual.iter().chain(options).map(Path::new));
    words.push(Path::new(device.path()));
    let made = call(&program, &words);
    if let Err(error) = &made {
        skip(requirement, error);
    }
    made.is_ok()
}

/// Runs a program to its end; what it printed, where it failed.
fn call(program: &str, words: &[&Path]) -> Result<(), String> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {}", message.trim())),
    }
}
