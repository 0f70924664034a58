//! A drive that takes five seconds for each request, measured from the interface: the result is
//! shown, and the terminal is given back, within a second.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use diskscope::session::document::{MetricId, RunState};
use diskscope::session::store;

use crate::pty::PtyTerminal;
use crate::slow_disk::{Operation, SlowDisk};
use crate::{benchmark_position, setsid_is_available, start_diskscope, state_directory};

/// A second, and what a machine busy with other tests may add.
const MAX_RESPONSE_TIME: Duration = Duration::from_millis(1500);

/// Random reads of the slow disk's file that hang.
fn start_hanging_benchmark(terminal: &mut PtyTerminal, disk: &SlowDisk) {
    let file = disk.file();
    let path = file.to_str().unwrap();
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("b");
    terminal.wait_for_text("scratch-size");
    // A slash opens the search; a text that begins with one is a path.
    terminal.send_keys(&format!("/{path}\r"));
    terminal.wait_until("the typed path alone", |screen| {
        let shown = screen.contents();
        shown.contains(path) && !shown.contains("path: ") && !shown.contains("scratch-size")
    });
    terminal.send_keys("\t\t");
    let down = "j".repeat(benchmark_position("random-read", "duration"));
    terminal.send_keys(&format!("{down}\r\x1550s\r"));
    terminal.wait_for_text("50 s");
    terminal.send_keys("s");
    terminal.wait_until("a measured read", |screen| {
        let shown = screen.contents();
        shown.contains("IOPS   ") && !shown.contains(" 0 IOPS   ")
    });
    disk.slow_down(Operation::Read);
    terminal.wait_until("a slow read", |_| disk.is_waited_for(Operation::Read));
}

fn assert_session_saved(directory: &std::path::Path) {
    let saved = store::list_sessions(&directory.join("state/diskscope/sessions")).unwrap();
    assert_eq!(saved[0].extension().unwrap(), "json");
    let session = store::load_session(&saved[0]).unwrap();
    assert_eq!(session.runs[0].state, RunState::Interrupted);
    assert!(session.runs[0].findings.metric(&MetricId::IOPS).is_some());
}

#[test]
fn hung_benchmark_is_stopped_and_its_result_shown() {
    if !setsid_is_available() {
        return;
    }
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    start_hanging_benchmark(&mut terminal, &disk);
    let began = Instant::now();
    terminal.send_keys("\x1b");
    terminal.wait_for_text("JSON saved in");
    let took = began.elapsed();
    assert!(took < MAX_RESPONSE_TIME, "{took:?}");
    assert_session_saved(directory.path());
    terminal.send_keys("q");
    let began = Instant::now();
    terminal.wait_for_exit();
    let took = began.elapsed();
    assert!(took < MAX_RESPONSE_TIME, "{took:?}");
    terminal.assert_restored();
}

#[test]
fn interface_quits_while_benchmark_hangs() {
    if !setsid_is_available() {
        return;
    }
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    start_hanging_benchmark(&mut terminal, &disk);
    let began = Instant::now();
    terminal.send_keys("qy");
    terminal.wait_for_exit();
    let took = began.elapsed();
    assert!(took < MAX_RESPONSE_TIME, "{took:?}");
    terminal.assert_restored();
    assert!(
        terminal.screen_text().contains("continues to run"),
        "{}",
        terminal.screen_text()
    );
    assert_session_saved(directory.path());
}

/// The supervisor prints it: the program itself waits for the file. Its name has a letter whose second byte begins a
/// control sequence on a terminal of eight bits.
#[test]
fn message_about_a_process_that_stays_is_ascii_on_a_terminal_without_utf8() {
    if !setsid_is_available() {
        return;
    }
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let directory = state_directory();
    let name = "disk\u{11b}2J";
    symlink(disk.file(), directory.path().join(name)).unwrap();
    disk.slow_down(Operation::Open);
    let program = env!("CARGO_BIN_EXE_diskscope");
    let arguments = ["LC_ALL=C", program, "run", "random-read", name];
    let mut terminal = PtyTerminal::start(Path::new("/usr/bin/env"), &arguments, directory.path());
    terminal.wait_until("an open", |_| disk.is_waited_for(Operation::Open));
    terminal.send_keys("\x03");
    terminal.wait_for_text("continues to run");
    assert_eq!(terminal.wait_for_exit().code(), Some(130));
    disk.be_quick();
    let screen = terminal.screen_text();
    assert!(screen.contains(r"disk\u{11b}2J"), "{screen}");
    assert!(screen.is_ascii(), "{screen}");
}
