//! A pane that was left ends its work: nothing of a mount or of the kernel's tracing stays open.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{setsid_is_available, start_diskscope, state_directory};
use crate::file_system::LoopFileSystem;
use crate::pty::PtyTerminal;
use crate::requirement::Requirement;

/// How soon everything is released. The screen promises one second; a busy machine gets more.
const RELEASED_WITHIN: Duration = Duration::from_secs(3);
/// Directories in which the path of a file that nobody has open is searched.
const DIRECTORIES: usize = 3000;

/// A program that is ended with the test.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the program has open of a mount, or of the kernel's tracing.
fn held(process: u32, mount: &Path) -> Vec<String> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|path| {
            // A mount of tracefs of its own shows its paths without a mount point.
            path.starts_with(mount) || path.to_string_lossy().contains("instances/diskscope")
        })
        .map(|path| path.display().to_string())
        .collect()
}

fn assert_released(terminal: &PtyTerminal, pane: &str, mount: &Path) {
    let deadline = Instant::now() + RELEASED_WITHIN;
    loop {
        let held = held(terminal.worker_id(), mount);
        if held.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{pane} was left: {held:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn panes_that_were_left_release_what_they_had_open() {
    if !setsid_is_available() {
        return;
    }
    for (kind, requirement) in [("ext4", Requirement::Ext4), ("btrfs", Requirement::Btrfs)] {
        if let Some(file_system) = LoopFileSystem::new(kind, requirement) {
            assert_panes_release(&file_system, kind);
        }
    }
}

fn assert_panes_release(file_system: &LoopFileSystem, kind: &str) {
    if kind == "btrfs" {
        let made = Command::new("btrfs")
            .args(["subvolume", "create"])
            .arg(file_system.file_path("subvolume"))
            .status();
        assert!(made.unwrap().success());
    }
    let mount = file_system.mount_point().to_owned();
    for number in 0..DIRECTORIES {
        fs::create_dir_all(mount.join(format!("{}/{number}", number % 50))).unwrap();
    }
    // Each file is written, closed and renamed, so that paths have to be searched.
    let script = format!(
        "cd '{}' && i=0; while :; do i=$(((i + 1) % 40)); dd if=/dev/zero of=new bs=64k count=8 conv=fsync; mv new $i/file; done",
        mount.display()
    );
    let load = Load(
        Command::new("sh")
            .args(["-c", &script])
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("F");
    terminal.wait_for_text("files on all devices");
    assert!(!held(terminal.worker_id(), &mount).is_empty(), "it traces");
    terminal.send_keys("\x1b");
    terminal.wait_for_text("DEVICES");
    assert_released(&terminal, "hot files", &mount);
    terminal.send_keys("3");
    terminal.wait_for_text("LATENCY Q2C");
    assert!(!held(terminal.worker_id(), &mount).is_empty(), "it traces");
    terminal.send_keys("1");
    terminal.wait_for_text("DEVICES");
    assert_released(&terminal, "requests", &mount);
    drop(load);
    // The last dd of the load may still end.
    let deadline = Instant::now() + RELEASED_WITHIN;
    while let Err(busy) = file_system.unmount() {
        assert!(Instant::now() < deadline, "{busy}");
        std::thread::sleep(Duration::from_millis(20));
    }
    terminal.send_keys("q");
    assert_eq!(terminal.wait_for_exit().code(), Some(0));
}
