//! The clean-up at the start of every command, where the file system that it looks at does not answer.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::requirement::{Requirement, skip};
use crate::robust::sandbox::{RunSandbox, stderr, stdout, wait_until, worker};
use crate::slow_disk::{Operation, SlowDisk};

/// A second for the clean-up, and what the commands themselves and a busy machine need. The file
/// system answers after five seconds only.
const MAX_COMMAND_TIME: Duration = Duration::from_millis(4000);

/// A second after the signal, and what a busy machine needs.
const MAX_CANCEL_TIME: Duration = Duration::from_millis(1500);

/// Starts the command in a mount namespace in which that directory is `/run`.
fn with_run_directory(command: &mut Command, run: &Path) {
    let run = run.to_owned();
    let change = move || {
        // SAFETY: the process has one thread, and its memory is its own.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )?;
        mount_bind(&run, "/run")?;
        Ok(())
    };
    // SAFETY: system calls only, and no memory is allocated but for paths on the stack.
    unsafe { command.pre_exec(change) };
}

/// A `/run` that takes five seconds for a lookup; `None` where that is not to be had.
fn slow_run_directory() -> Option<SlowDisk> {
    if !rustix::process::geteuid().is_root() {
        skip(Requirement::Root, "a /run of its own needs root");
        return None;
    }
    let disk = SlowDisk::mount()?;
    let mut probe = Command::new("true");
    with_run_directory(&mut probe, &disk.directory());
    if !probe.status().is_ok_and(|status| status.success()) {
        skip(Requirement::Namespaces, "no /run of its own");
        return None;
    }
    disk.slow_down(Operation::Lookup);
    Some(disk)
}

#[test]
fn hanging_run_directory_delays_commands_at_most_one_second() {
    let Some(disk) = slow_run_directory() else {
        return;
    };
    let sandbox = RunSandbox::new();
    for words in [&["tests"][..], &["completions", "bash"], &["manual"]] {
        let mut command = sandbox.command(words);
        with_run_directory(&mut command, &disk.directory());
        let began = Instant::now();
        // Until nobody has its output open any more.
        let output = command.output().unwrap();
        let took = began.elapsed();
        let message = stderr(&output);
        assert!(took < MAX_COMMAND_TIME, "{words:?}: {took:?}\n{message}");
        assert!(message.contains("does not respond"), "{words:?}: {message}");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {message}");
        assert!(!stdout(&output).is_empty(), "{words:?}");
        assert!(disk.is_waited_for(Operation::Lookup), "{words:?}");
    }
    disk.be_quick();
    wait_until("all answers", || !disk.is_waited_for(Operation::Lookup));
}

/// It reads what udev knows of the devices below `/run`.
#[test]
fn command_with_hanging_run_directory_can_be_cancelled() {
    let Some(disk) = slow_run_directory() else {
        return;
    };
    let sandbox = RunSandbox::new();
    let mut command = sandbox.command(&["watch", "--count", "1"]);
    with_run_directory(&mut command, &disk.directory());
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    let mut message = BufReader::new(child.stderr.take().unwrap());
    message.read_line(&mut first).unwrap();
    assert!(first.contains("does not respond"), "{first}");
    wait_until("its worker waits for /run", || {
        worker(&child).is_some_and(|worker| {
            let stat = std::fs::read_to_string(worker.join("stat"));
            stat.is_ok_and(|stat| stat.contains(") D "))
        })
    });
    let began = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait().unwrap();
    let took = began.elapsed();
    assert!(took < MAX_CANCEL_TIME, "{took:?}");
    assert_eq!(status.code(), Some(130));
    // The process that stays has the output open, too: its end is not waited for.
    let is_named = message
        .lines()
        .any(|line| line.unwrap().contains("continues to run"));
    assert!(is_named);
    disk.be_quick();
    wait_until("all answers", || !disk.is_waited_for(Operation::Lookup));
}
