//! The program in a pseudo-terminal: every way out gives the terminal back, and a benchmark is run
//! with the keyboard alone.

#![allow(clippy::unwrap_used)]

mod ascii_commands;
mod demo;
mod few_keys;
#[path = "../support/file_attributes.rs"]
mod file_attributes;
#[path = "../support/file_system.rs"]
mod file_system;
mod form;
mod frozen_threads;
mod hang;
mod left_panes;
#[path = "../support/loop_device.rs"]
mod loop_device;
mod new_user;
mod overwrite;
#[path = "../support/pty.rs"]
mod pty;
mod questions;
#[path = "../support/requirement.rs"]
mod requirement;
mod scroll;
mod session;
#[path = "../support/slow_disk.rs"]
mod slow_disk;
mod slow_line;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use diskscope::session::document::{MetricId, RunState, SeriesId};
use diskscope::session::store;
use rustix::process::Signal;

use frozen_threads::FrozenThreads;
use pty::{PtyTerminal, setsid_is_available};
use session::{
    benchmark_position, exported_file, start_benchmark, start_diskscope, state_directory,
};

/// The interface with services that fail in a given way.
fn start_failing_interface(way: &str, directory: &Path) -> PtyTerminal {
    let tests = std::env::current_exe().unwrap();
    let program: PathBuf = tests.ancestors().nth(2).unwrap().join("examples/mishaps");
    assert!(
        program.exists(),
        "{} is built by `cargo test`",
        program.display()
    );
    PtyTerminal::start(&program, &[way], directory)
}

#[test]
fn quit_restores_the_terminal() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&["--mouse"], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("q");
    assert_eq!(terminal.wait_for_exit().code(), Some(0));
    terminal.assert_restored();
}

#[test]
fn signals_restore_the_terminal() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut terminal = start_diskscope(&[], directory.path());
        terminal.wait_for_text("DEVICES");
        terminal.send_signal(signal);
        assert_eq!(terminal.wait_for_exit().code(), Some(130), "{signal:?}");
        terminal.assert_restored();
    }
}

/// As the kernel does when the memory runs out: the supervisor restores the terminal.
#[test]
fn killed_worker_leaves_the_terminal_restored() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    for signal in [Signal::KILL, Signal::ABORT] {
        let mut terminal = start_diskscope(&["--mouse"], directory.path());
        terminal.wait_for_text("DEVICES");
        let worker = i32::try_from(terminal.worker_id()).unwrap();
        let worker = rustix::process::Pid::from_raw(worker).unwrap();
        rustix::process::kill_process(worker, signal).unwrap();
        let end = terminal.wait_for_exit();
        assert_eq!(end.signal(), Some(signal.as_raw()), "{end:?}");
        terminal.assert_restored();
    }
}

/// Another program has set the terminal since the start: only what the interface has set is put back.
#[test]
fn killed_worker_without_interface_leaves_the_terminal_alone() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let run = concat!(
        env!("CARGO_BIN_EXE_diskscope"),
        " watch --json > lines & sleep 1; stty -icanon; kill -9 $(cat /proc/$!/task/$!/children); wait $!; ",
        "stty -a | grep -o -e -icanon; echo ended"
    );
    let mut terminal = PtyTerminal::start(Path::new("/bin/sh"), &["-c", run], directory.path());
    terminal.wait_for_text("ended");
    let screen = terminal.screen_text();
    assert!(screen.contains("-icanon"), "{screen}");
    assert!(!terminal.output_bytes().contains(&0x18), "{screen}");
}

#[test]
fn closed_terminal_ends_the_program() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.hang_up();
    assert!(!terminal.wait_for_exit().success());
}

#[test]
fn panic_on_any_thread_restores_the_terminal_and_is_reported() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    for way in ["thread", "loop"] {
        let mut terminal = start_failing_interface(way, directory.path());
        terminal.wait_for_text("[1 Live]");
        terminal.send_keys("4");
        let signal = terminal.wait_for_exit().signal();
        assert_eq!(signal, Some(Signal::ABORT.as_raw()), "{way}");
        terminal.assert_restored();
        let screen = terminal.screen_text();
        assert!(screen.contains("made to panic"), "{screen}");
        assert!(screen.contains("panicked at"), "{screen}");
        let title = b"\x1b]0;title";
        let mut output = terminal.output_bytes().windows(title.len());
        assert!(!output.any(|bytes| bytes == title), "{screen}");
        assert!(screen.contains("this is a defect of diskscope"), "{screen}");
    }
}

#[test]
fn error_restores_the_terminal_and_is_reported() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_failing_interface("error", directory.path());
    assert!(!terminal.wait_for_exit().success());
    terminal.assert_restored();
    assert!(
        terminal.screen_text().contains("made to fail"),
        "{}",
        terminal.screen_text()
    );
}

#[test]
fn suspend_restores_the_terminal_and_fg_redraws() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    for way in ["key", "signal"] {
        let mut terminal = PtyTerminal::start(Path::new("/bin/sh"), &["-i"], directory.path());
        terminal.send_keys("PS1='ready> '; set -m\n");
        terminal.wait_for_text("ready> ");
        terminal.send_keys(concat!(env!("CARGO_BIN_EXE_diskscope"), "\n"));
        terminal.wait_for_text("DEVICES");
        if way == "key" {
            terminal.send_keys("\x1a");
        } else {
            suspend_child(&terminal);
        }
        // Only a program that has stopped leaves what is typed to the shell.
        terminal.wait_for_text("Stopped");
        terminal.wait_until("the shell", |screen| !screen.alternate_screen());
        terminal.send_keys("stty -a | tr ' ' '\\n' | grep -x icanon; echo its \"$?\"\n");
        terminal.wait_for_text("its 0");
        terminal.send_keys("fg\n");
        terminal.wait_until("the interface", vt100::Screen::alternate_screen);
        terminal.wait_for_text("DEVICES");
        terminal.send_keys("q");
        terminal.wait_until("the shell", |screen| !screen.alternate_screen());
        terminal.send_keys("exit\n");
        terminal.wait_for_exit();
    }
}

#[test]
fn stopped_interface_is_ended_by_the_shell_and_leaves_the_terminal_alone() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal =
        PtyTerminal::start(Path::new("/bin/bash"), &["--norc", "-i"], directory.path());
    terminal.send_keys("PS1='ready> '; set -m\n");
    terminal.wait_for_text("ready> ");
    terminal.send_keys(concat!(env!("CARGO_BIN_EXE_diskscope"), "\n"));
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("\x1a");
    terminal.wait_for_text("Stopped");
    // In the background it stops again, and does not draw.
    terminal.send_keys("bg\n");
    // What is typed is shown too: it does not contain what is waited for.
    terminal.send_keys("sleep 1; jobs -s | grep Stopped | sed 's/.*/is st'opped/\n");
    terminal.wait_for_text("is stopped");
    assert!(
        !terminal.screen_text().contains("DEVICES"),
        "{}",
        terminal.screen_text()
    );
    // The shell sends SIGTERM and SIGCONT.
    terminal.send_keys("P=$(jobs -p %1); kill %1\n");
    terminal.send_keys("while kill -0 $P; do sleep 0.1; done 2> /dev/null; echo it is g''one\n");
    terminal.wait_for_text("it is gone");
    terminal.send_keys("stty -a | tr ' ' '\\n' | grep -x icanon; echo its \"$?\"\n");
    terminal.wait_for_text("its 0");
    terminal.send_keys("exit\n");
    terminal.wait_for_exit();
}

/// Sends SIGTSTP to the program that the shell has started.
fn suspend_child(shell: &PtyTerminal) {
    let children = format!("/proc/{0}/task/{0}/children", shell.id());
    let child = std::fs::read_to_string(children).unwrap();
    let id = child.split_whitespace().next().unwrap().parse().unwrap();
    let child = rustix::process::Pid::from_raw(id).unwrap();
    rustix::process::kill_process(child, Signal::TSTP).unwrap();
}

#[test]
fn resize_redraws_down_to_too_small_terminal() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.resize(10, 40);
    terminal.wait_for_text("40x10 is too small");
    terminal.resize(24, 80);
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn key_pressed_right_after_a_resize_takes_effect() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    // The thread that reads the terminal is late, as on a busy machine: it finds both at once.
    let frozen = FrozenThreads::all_but_main(terminal.worker_id());
    terminal.resize(40, 120);
    terminal.wait_for_handled_resize();
    terminal.send_keys("b");
    terminal.wait_for_unread_keys();
    drop(frozen);
    terminal.wait_for_text("scratch-size");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn benchmark_is_run_from_the_keyboard() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    start_benchmark(&mut terminal, "1s");
    terminal.wait_for_text("JSON saved in");
    terminal.send_keys("e");
    terminal.wait_for_text("exported to");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    terminal.assert_restored();

    let exported = exported_file(directory.path());
    let session = store::load_session(&exported).unwrap();
    let run = &session.runs[0];
    assert_eq!(
        (run.test.as_str(), run.state),
        ("random-read", RunState::Finished)
    );
    assert_eq!(run.target.size_bytes, 64 << 20);
    assert!(run.findings.metric(&MetricId::IOPS).unwrap().value > 0.0);
    assert!(
        !run.findings
            .series(&SeriesId::IOPS_OVER_TIME)
            .unwrap()
            .points
            .is_empty()
    );
}

#[test]
fn quit_during_benchmark_saves_partial_result() {
    if !setsid_is_available() {
        return;
    }
    for way in ["keys", "signal"] {
        let directory = state_directory();
        let mut terminal = start_diskscope(&[], directory.path());
        start_benchmark(&mut terminal, "50s");
        terminal.wait_for_text("IOPS   ");
        if way == "keys" {
            terminal.send_keys("qy");
        } else {
            terminal.send_signal(Signal::HUP);
        }
        terminal.wait_for_exit();
        terminal.assert_restored();
        let saved =
            store::list_sessions(&directory.path().join("state/diskscope/sessions")).unwrap();
        let session = store::load_session(&saved[0]).unwrap();
        assert_eq!(session.runs[0].state, RunState::Interrupted, "{way}");
        assert!(
            session.runs[0].findings.metric(&MetricId::IOPS).is_some(),
            "{way}"
        );
    }
}

#[test]
fn closed_terminal_during_benchmark_saves_partial_result() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let words = ["run", "random-read", ".", "--duration", "50s"];
    let size = ["--scratch-size", "16MiB"];
    let mut terminal = start_diskscope(&[words.as_slice(), &size].concat(), directory.path());
    terminal.wait_until("a rate", |screen| {
        let shown = screen.contents();
        shown.contains(" IOPS") && !shown.contains(" 0 IOPS")
    });
    terminal.hang_up();
    assert!(!terminal.wait_for_exit().success());
    let saved = store::list_sessions(&directory.path().join("state/diskscope/sessions")).unwrap();
    let session = store::load_session(&saved[0]).unwrap();
    assert_eq!(session.runs[0].state, RunState::Interrupted);
    assert!(session.runs[0].findings.metric(&MetricId::IOPS).is_some());
    assert_eq!(saved[0].extension().unwrap(), "json");
}
