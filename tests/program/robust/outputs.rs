//! Signals while an output is being written to a slow file system: nothing of it stays half written.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::robust::sandbox::{RunSandbox, stderr, wait_until};
use crate::slow_disk::{Operation, SlowDisk};

/// A run that takes no time, and then writes its result.
const RUN: [&str; 6] = [
    "run",
    "random-read",
    "sim:constant,latency=100us,size=1GB",
    "--requests",
    "100",
    "--json",
];
/// A command that does not handle signals.
const DEVICES: [&str; 3] = ["devices", "--json", "-o"];
/// Longer than the supervisor waits for a worker that hangs.
const LONG_ENOUGH: Duration = Duration::from_millis(1500);

/// Where the output goes on the slow disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A new file, which has another name until it is complete.
    New,
    /// The file that is there: it has no name for the program, so it is written in place.
    Existing,
}

/// A command that writes its output, whose synchronization takes long.
struct WritingCommand {
    disk: SlowDisk,
    child: Child,
    place: Place,
    _sandbox: RunSandbox,
    /// Opened for the program, which names it through procfs.
    _file: File,
}

impl WritingCommand {
    fn start(words: &[&str], place: Place) -> Option<Self> {
        let disk = SlowDisk::mount()?;
        let file = File::options().write(true).open(disk.file()).unwrap();
        let path = match place {
            Place::New => disk.directory().join("new").display().to_string(),
            Place::Existing => format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()),
        };
        disk.slow_down(Operation::Fsync);
        disk.be_endless();
        let words = [words, &[path.as_str()]].concat();
        let sandbox = RunSandbox::new();
        let child = sandbox.command(&words).spawn().unwrap();
        wait_until("the synchronization", || {
            disk.is_waited_for(Operation::Fsync)
        });
        Some(Self {
            disk,
            child,
            place,
            _sandbox: sandbox,
            _file: file,
        })
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn assert_complete(&self, what: &str) {
        match self.place {
            Place::New => assert_eq!(self.disk.names(), ["new"], "{what}"),
            Place::Existing => assert!(self.disk.shortened_to().is_some(), "{what}"),
        }
    }
}

#[test]
fn ending_signal_takes_effect_when_the_output_is_complete() {
    for place in [Place::New, Place::Existing] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            let what = format!("{place:?}, {signal:?}");
            let Some(mut command) = WritingCommand::start(&DEVICES, place) else {
                return;
            };
            command.send(signal);
            sleep(LONG_ENOUGH);
            assert!(command.child.try_wait().unwrap().is_none(), "{what}");
            command.disk.be_quick();
            let status = command.child.wait().unwrap();
            assert_eq!(status.signal(), Some(signal.as_raw()), "{what}");
            command.assert_complete(&what);
        }
    }
}

#[test]
fn run_that_is_interrupted_once_or_twice_completes_its_output() {
    for place in [Place::New, Place::Existing] {
        for count in [1, 2] {
            let what = format!("{place:?}, {count} signals");
            let Some(mut command) = WritingCommand::start(&RUN, place) else {
                return;
            };
            for _ in 0..count {
                command.send(Signal::INT);
                sleep(LONG_ENOUGH / 2);
            }
            assert!(command.child.try_wait().unwrap().is_none(), "{what}");
            command.disk.be_quick();
            let status = command.child.wait().unwrap();
            assert!(matches!(status.code(), Some(0 | 130)), "{what}: {status}");
            command.assert_complete(&what);
        }
    }
}

#[test]
fn output_whose_file_system_never_responds_is_left_after_ten_seconds() {
    let Some(command) = WritingCommand::start(&DEVICES, Place::New) else {
        return;
    };
    command.send(Signal::INT);
    let began = Instant::now();
    let mut child = command.child;
    let status = child.wait().unwrap();
    let took = began.elapsed().as_secs_f64();
    command.disk.be_quick();
    let message = stderr(&child.wait_with_output().unwrap());
    assert!((10.0..12.5).contains(&took), "{took} s\n{message}");
    assert_eq!(status.code(), Some(130), "{message}");
    assert!(message.contains("is being written"), "{message}");
    assert!(message.contains("not complete after 10 s"), "{message}");
}
