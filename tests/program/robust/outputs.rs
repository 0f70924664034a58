//! Signals while an output is written to a slow disk: no file is left half written.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::requirement::Requirement;
use crate::robust::sandbox::{RunSandbox, stderr, wait_until};
use crate::slow_disk::{Operation, SlowDisk};

/// Longer than the new content: its end would stay behind that.
const OLD_BYTES: usize = 4 << 20;

/// A command that writes over an existing file in place, because that has two names. The disk takes five
/// seconds for its flush.
struct WritingCommand {
    sandbox: RunSandbox,
    output: PathBuf,
    child: Child,
    // Unmounted before its disk ends.
    _file_system: LoopFileSystem,
    disk: SlowDisk,
}

impl WritingCommand {
    /// Starts it; returns when it waits for the disk.
    fn start(words: &[&str]) -> Option<Self> {
        let disk = SlowDisk::mount()?;
        let device = LoopDevice::attach(&disk.file(), &[])?;
        let file_system = LoopFileSystem::on(device, "ext4", &[], Requirement::Ext4)?;
        let output = file_system.file_path("output.json");
        fs::write(&output, vec![b'x'; OLD_BYTES]).unwrap();
        fs::hard_link(&output, file_system.file_path("other-name")).unwrap();
        fs::File::open(&output).unwrap().sync_all().unwrap();
        let sandbox = RunSandbox::new();
        disk.slow_down(Operation::Fsync);
        let words = [words, &[output.to_str().unwrap()]].concat();
        let child = sandbox.command(&words).spawn().unwrap();
        wait_until("the flush of the output", || {
            disk.is_waited_for(Operation::Fsync)
        });
        Some(Self {
            sandbox,
            output,
            child,
            _file_system: file_system,
            disk,
        })
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the end; the output has to be whole.
    fn finish(self) -> (std::process::Output, RunSandbox) {
        self.disk.be_quick();
        let ended = self.child.wait_with_output().unwrap();
        let written = fs::read(&self.output).unwrap();
        let message = stderr(&ended);
        assert!(written.len() < OLD_BYTES, "{}: {message}", written.len());
        serde_json::from_slice::<serde_json::Value>(&written).unwrap();
        (ended, self.sandbox)
    }
}

#[test]
fn ending_signal_takes_effect_when_the_output_is_complete() {
    for signal in [Signal::INT, Signal::HUP, Signal::TERM] {
        let Some(mut command) = WritingCommand::start(&["devices", "--json", "-o"]) else {
            return;
        };
        command.send(signal);
        sleep(Duration::from_millis(500));
        assert!(command.is_running(), "{signal:?}");
        let (ended, _) = command.finish();
        assert_eq!(ended.status.signal(), Some(signal.as_raw()));
    }
}

#[test]
fn run_that_is_interrupted_twice_completes_its_output() {
    let run = [
        "run",
        "random-read",
        "sim:constant,latency=100us,size=1GB",
        "--requests",
        "100",
        "--json",
    ];
    let Some(mut command) = WritingCommand::start(&run) else {
        return;
    };
    command.send(Signal::INT);
    // Longer than the supervisor waits for a worker that hangs.
    sleep(Duration::from_millis(1500));
    assert!(command.is_running());
    command.send(Signal::INT);
    sleep(Duration::from_millis(500));
    assert!(command.is_running());
    let (ended, sandbox) = command.finish();
    let message = stderr(&ended);
    // The run had ended by itself: which of both ends the program first is open.
    assert!(matches!(ended.status.code(), Some(0 | 130)), "{message}");
    assert!(message.contains("an output is being written"), "{message}");
    assert_eq!(sandbox.saved_sessions().len(), 1);
}

#[test]
fn signal_before_an_existing_output_is_opened_does_not_lose_the_result() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = LoopDevice::attach(&disk.file(), &[]) else {
        return;
    };
    let Some(file_system) = LoopFileSystem::on(device, "ext4", &[], Requirement::Ext4) else {
        return;
    };
    let output = file_system.file_path("output.json");
    fs::write(&output, "{}").unwrap();
    let sandbox = RunSandbox::new();
    let path = output.to_str().unwrap();
    let run = ["--duration", "60s", "--json", path];
    let child = sandbox.run("random-read", &run).spawn().unwrap();
    wait_until("the journal", || !sandbox.saved_sessions().is_empty());
    // Nothing is written to a frozen file system, and nothing is opened for writing.
    let freeze = |option: &str| {
        let mut command = std::process::Command::new("fsfreeze");
        command.arg(option).arg(file_system.mount_point());
        assert!(command.status().unwrap().success(), "{option}");
    };
    freeze("--freeze");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    sleep(Duration::from_millis(2500));
    freeze("--unfreeze");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", stderr(&ended));
    let written = fs::read(&output).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(document["schema"], "diskscope-session");
}
