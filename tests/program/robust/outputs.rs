//! Signals while an output is written to a slow disk: no file is left half written.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

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

fn assert_output_survives_stop(signal: Signal) {
    let Some(command) = WritingCommand::start(&["devices", "--json", "-o"]) else {
        return;
    };
    command.send(Signal::INT);
    // Until the supervisor waits for the output only.
    sleep(Duration::from_millis(1500));
    command.send(signal);
    // The worker stops when the disk has responded.
    sleep(Duration::from_millis(500));
    command.disk.be_quick();
    // Longer than the output may take.
    sleep(Duration::from_secs(11));
    command.send(Signal::CONT);
    let (ended, _) = command.finish();
    assert_eq!(ended.status.signal(), Some(Signal::INT.as_raw()));
}

#[test]
fn time_in_which_the_program_is_stopped_is_not_that_of_its_output() {
    thread::scope(|scope| {
        for signal in [Signal::STOP, Signal::TSTP] {
            scope.spawn(move || assert_output_survives_stop(signal));
        }
    });
}

/// A run whose output is on a file system that is frozen: nothing is written to it, and nothing is opened
/// for writing.
struct FrozenOutput {
    sandbox: RunSandbox,
    output: PathBuf,
    file_system: LoopFileSystem,
    child: Child,
    // A pipe would stay open as long as a killed process waits for the file system.
    messages: tempfile::NamedTempFile,
    _disk: SlowDisk,
}

impl FrozenOutput {
    /// Starts a run, freezes the file system of its output, and interrupts the run.
    fn interrupt() -> Option<Self> {
        let disk = SlowDisk::mount()?;
        let device = LoopDevice::attach(&disk.file(), &[])?;
        let file_system = LoopFileSystem::on(device, "ext4", &[], Requirement::Ext4)?;
        let output = file_system.file_path("output.json");
        fs::write(&output, "{}").unwrap();
        let sandbox = RunSandbox::new();
        let path = output.to_str().unwrap();
        let run = ["--duration", "60s", "--json", path];
        let messages = tempfile::NamedTempFile::new().unwrap();
        let mut command = sandbox.run("random-read", &run);
        command.stdout(Stdio::null());
        command.stderr(messages.reopen().unwrap());
        let child = command.spawn().unwrap();
        wait_until("the journal", || !sandbox.saved_sessions().is_empty());
        let frozen = Self {
            sandbox,
            output,
            file_system,
            child,
            messages,
            _disk: disk,
        };
        assert!(frozen.freeze("--freeze"));
        kill_process(Pid::from_child(&frozen.child), Signal::INT).unwrap();
        Some(frozen)
    }

    fn freeze(&self, option: &str) -> bool {
        let mut command = Command::new("fsfreeze");
        command.arg(option).arg(self.file_system.mount_point());
        command.stderr(Stdio::null());
        command.status().unwrap().success()
    }

    /// Waits for the end; what the program said.
    fn wait(&mut self) -> String {
        let status = self.child.wait().unwrap();
        let messages = fs::read_to_string(&self.messages).unwrap();
        assert_eq!(status.code(), Some(130), "{messages}");
        messages
    }
}

impl Drop for FrozenOutput {
    fn drop(&mut self) {
        self.freeze("--unfreeze");
    }
}

#[test]
fn signal_before_an_existing_output_is_opened_does_not_lose_the_result() {
    let Some(mut frozen) = FrozenOutput::interrupt() else {
        return;
    };
    sleep(Duration::from_millis(2500));
    assert!(frozen.freeze("--unfreeze"));
    frozen.wait();
    let written = fs::read(&frozen.output).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(document["schema"], "diskscope-session");
}

#[test]
fn output_whose_file_system_never_responds_is_left_after_ten_seconds() {
    let Some(mut frozen) = FrozenOutput::interrupt() else {
        return;
    };
    let began = Instant::now();
    let message = frozen.wait();
    let took = began.elapsed();
    assert!(took > Duration::from_secs(9), "{took:?}: {message}");
    assert!(took < Duration::from_secs(20), "{took:?}: {message}");
    assert!(message.contains("not complete after 10 s"), "{message}");
    assert_eq!(frozen.sandbox.saved_sessions().len(), 1);
}
