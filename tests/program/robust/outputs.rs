//! The end of the program while its output is written to a disk that is slow or does not respond.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::requirement::Requirement;
use crate::robust::sandbox::{RunSandbox, wait_until};
use crate::slow_disk::{Operation, SlowDisk};

/// A file system whose disk takes five seconds for a flush if it is told to, with an output.
struct SlowOutput {
    // Unmounted before its disk ends.
    file_system: LoopFileSystem,
    disk: SlowDisk,
    output: PathBuf,
}

impl SlowOutput {
    fn mount() -> Option<Self> {
        let disk = SlowDisk::mount()?;
        let device = LoopDevice::attach(&disk.file(), &[])?;
        let file_system = LoopFileSystem::on(device, "ext4", &[], Requirement::Ext4)?;
        let output = file_system.file_path("output.json");
        fs::write(&output, "before").unwrap();
        fs::File::open(&output).unwrap().sync_all().unwrap();
        Some(Self {
            file_system,
            disk,
            output,
        })
    }

    fn freeze(&self, option: &str) -> bool {
        let mut command = Command::new("fsfreeze");
        command.arg(option).arg(self.file_system.mount_point());
        command.stderr(Stdio::null());
        command.status().unwrap().success()
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn signal_while_an_output_is_written_keeps_the_file_that_was_there() {
    let Some(slow) = SlowOutput::mount() else {
        return;
    };
    let sandbox = RunSandbox::new();
    let words = ["devices", "--json", "-o", slow.output.to_str().unwrap()];
    slow.disk.slow_down(Operation::Fsync);
    let mut child = sandbox.command(&words).spawn().unwrap();
    wait_until("the flush of the output", || {
        slow.disk.is_waited_for(Operation::Fsync)
    });
    send(&child, Signal::INT);
    let began = Instant::now();
    child.wait().unwrap();
    let took = began.elapsed();
    slow.disk.be_quick();
    assert!(took < Duration::from_secs(3), "{took:?}");
    let text = fs::read_to_string(&slow.output).unwrap();
    assert_eq!(text, "before");
}

#[test]
fn output_whose_file_system_does_not_respond_does_not_keep_the_prompt() {
    let Some(slow) = SlowOutput::mount() else {
        return;
    };
    let sandbox = RunSandbox::new();
    let path = slow.output.to_str().unwrap();
    // A pipe would stay open as long as a killed process waits for the file system.
    let messages = tempfile::NamedTempFile::new().unwrap();
    let mut command = sandbox.run("random-read", &["--duration", "60s", "--json", path]);
    command.stdout(Stdio::null());
    command.stderr(messages.reopen().unwrap());
    let mut child = command.spawn().unwrap();
    wait_until("the journal", || !sandbox.saved_sessions().is_empty());
    assert!(slow.freeze("--freeze"));
    let began = Instant::now();
    send(&child, Signal::INT);
    let status = child.wait().unwrap();
    let took = began.elapsed();
    assert!(slow.freeze("--unfreeze"));
    let messages = fs::read_to_string(&messages).unwrap();
    assert!(took < Duration::from_secs(3), "{took:?}: {messages}");
    assert_eq!(status.code(), Some(130), "{messages}");
    let saved = sandbox.saved_sessions();
    assert!(
        saved[0].extension().is_some_and(|it| it == "json"),
        "{saved:?}"
    );
}
