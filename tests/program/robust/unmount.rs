//! A file system can be unmounted as soon as the program has ended.

use std::path::PathBuf;
use std::process::Command;

use diskscope::engine::{self, AccessPattern, CancellationToken, EngineChoice, Plan};
use diskscope::roots::SysPaths;
use rustix::mount::UnmountFlags;

use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};
use crate::robust::sandbox::{RunSandbox, stderr};

const ROUNDS: usize = 20;

/// An ext4 on a loop device, mounted.
struct Ext4 {
    at: PathBuf,
    device: LoopDevice,
    mounted: bool,
}

impl Ext4 {
    fn new(sandbox: &RunSandbox) -> Option<Self> {
        let image = sandbox.path().join("image");
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(3 << 30).unwrap();
        let made = Command::new("mkfs.ext4")
            .args(["-q", "-F"])
            .arg(&image)
            .status();
        if !made.is_ok_and(|status| status.success()) {
            skip(Requirement::Ext4, "mkfs.ext4 failed");
            return None;
        }
        let device = LoopDevice::attach(&image, &[])?;
        let at = sandbox.path().join("mount");
        std::fs::create_dir(&at).unwrap();
        Some(Self {
            at,
            device,
            mounted: false,
        })
    }

    fn mount(&mut self) -> bool {
        let mounted = Command::new("mount")
            .arg(self.device.path())
            .arg(&self.at)
            .output();
        self.mounted = mounted.is_ok_and(|output| output.status.success());
        if !self.mounted {
            skip(Requirement::Ext4, "it cannot be mounted");
        }
        self.mounted
    }

    fn unmount(&mut self) -> Result<(), String> {
        let output = Command::new("umount").arg(&self.at).output().unwrap();
        self.mounted = !output.status.success();
        match self.mounted {
            true => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            false => Ok(()),
        }
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        if self.mounted {
            // For the loop device to go, too.
            let _ = Command::new("umount").arg("-l").arg(&self.at).status();
        }
    }
}

#[test]
fn file_system_can_be_unmounted_right_after_a_run() {
    let sandbox = RunSandbox::new();
    let Some(mut file_system) = Ext4::new(&sandbox) else {
        return;
    };
    let options = ["--scratch-size", "1MiB", "--requests", "200"];
    for engine in ["uring", "pread"] {
        let mut busy = Vec::new();
        for round in 0..ROUNDS {
            if !file_system.mount() {
                return;
            }
            let words = [
                &["run", "random-read", "mount", "--engine", engine][..],
                &options,
            ];
            let output = sandbox.command(&words.concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            if let Err(error) = file_system.unmount() {
                busy.push((round, error));
                // Only for the next round to begin; the round counts as failed.
                crate::robust::sandbox::wait_until("the unmount", || file_system.unmount().is_ok());
            }
        }
        assert!(
            busy.is_empty(),
            "{engine}: {} of {ROUNDS} busy: {busy:?}",
            busy.len()
        );
    }
}

/// In a process that goes on, as the interface does after a benchmark: what the kernel releases when
/// a process ends is not released by that.
#[test]
fn file_system_can_be_unmounted_after_execution() {
    let sandbox = RunSandbox::new();
    let Some(mut file_system) = Ext4::new(&sandbox) else {
        return;
    };
    let file = file_system.at.join("file");
    let mut busy = Vec::new();
    for round in 0..ROUNDS {
        if !file_system.mount() {
            return;
        }
        if round == 0 {
            std::fs::write(&file, vec![7; 1 << 20]).unwrap();
        }
        let name = file.to_str().unwrap();
        let opened = engine::open_target(&SysPaths::default(), name, EngineChoice::Uring, None);
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return skip(Requirement::Kernel, error),
        };
        let mut plan = Plan::single_depth_reads(AccessPattern::Random, 4096, 0..1 << 20);
        plan.depth = 8;
        plan.limits.requests = Some(200);
        let outcome = opened
            .engine()
            .execute(&plan, &CancellationToken::default(), &mut |_| {});
        assert_eq!(outcome.unwrap().stats.requests(), 200);
        drop(opened);
        if let Err(error) = rustix::mount::unmount(&file_system.at, UnmountFlags::empty()) {
            busy.push((round, error));
            crate::robust::sandbox::wait_until("the unmount", || file_system.unmount().is_ok());
        }
        file_system.mounted = false;
    }
    // Other tests of this program start programs, which have its descriptors for a moment.
    assert!(busy.len() < 3, "{} of {ROUNDS} busy: {busy:?}", busy.len());
}
