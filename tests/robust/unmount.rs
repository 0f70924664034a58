//! A file system can be unmounted as soon as the program has ended.

use std::path::PathBuf;
use std::process::Command;

use crate::loop_device::LoopDevice;
use crate::place::{Place, stderr};
use crate::requirement::{Requirement, skip};

const ROUNDS: usize = 20;

/// An ext4 on a loop device, mounted.
struct Ext4 {
    at: PathBuf,
    device: LoopDevice,
    mounted: bool,
}

impl Ext4 {
    fn new(place: &Place) -> Option<Self> {
        let image = place.path().join("image");
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
        let at = place.path().join("mount");
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
    let place = Place::new();
    let Some(mut file_system) = Ext4::new(&place) else {
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
            let output = place.command(&words.concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            if let Err(error) = file_system.unmount() {
                busy.push((round, error));
                // Only for the next round to begin; the round counts as failed.
                crate::place::wait_until("the unmount", || file_system.unmount().is_ok());
            }
        }
        assert!(
            busy.is_empty(),
            "{engine}: {} of {ROUNDS} busy: {busy:?}",
            busy.len()
        );
    }
}
