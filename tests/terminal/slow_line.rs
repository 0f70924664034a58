//! A terminal over a slow or stalled line: nothing waits for it.

use std::path::Path;
use std::time::{Duration, Instant};

use diskscope::session::document::RunState;
use diskscope::session::store;
use rustix::process::Signal;

use super::pty::PtyTerminal;
use super::session::{start_benchmark, start_diskscope, state_directory};
use super::setsid_is_available;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes 300 bytes per second until `until` says that it is enough.
fn read_slowly(terminal: &mut PtyTerminal, until: impl Fn(&mut PtyTerminal, Duration) -> bool) {
    let start = Instant::now();
    while !until(terminal, start.elapsed()) {
        assert!(start.elapsed() < PATIENCE);
        terminal.take_output(6);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits without reading.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The states of the saved sessions' first runs.
fn saved_states(directory: &Path) -> Vec<RunState> {
    let sessions = directory.join("state/diskscope/sessions");
    let saved = store::list_sessions(&sessions).unwrap_or_default();
    let complete = saved
        .iter()
        .filter(|path| path.extension().is_some_and(|it| it == "json"));
    complete
        .map(|path| store::load_session(path).unwrap().runs[0].state)
        .collect()
}

#[test]
fn quit_over_a_line_of_300_bytes_per_second_takes_less_than_two_seconds() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    // Whole screens, more than the line takes in minutes.
    for _ in 0..10 {
        terminal.send_keys("\x0c");
        read_slowly(&mut terminal, |_, elapsed| {
            elapsed > Duration::from_millis(300)
        });
    }
    // The drawn screen would take many times as long as these 3 s.
    assert!(terminal.take_output(64) > 0, "the line is idle");
    terminal.send_keys("q");
    let pressed = Instant::now();
    read_slowly(&mut terminal, |terminal, _| terminal.try_wait().is_some());
    let took = pressed.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(terminal.wait_for_exit().code(), Some(0));
    terminal.assert_restored();
}

#[test]
fn stalled_terminal_delays_neither_run_nor_end() {
    if !setsid_is_available() {
        return;
    }
    for way in ["key", "signal"] {
        let directory = state_directory();
        let mut terminal = start_diskscope(&[], directory.path());
        start_benchmark(&mut terminal, "2s");
        terminal.wait_for_text("IOPS   ");
        // From here on nobody reads.
        terminal.fill_output();
        wait_for("the saved session", || {
            saved_states(directory.path()) == [RunState::Finished]
        });
        let pressed = Instant::now();
        match way {
            // The result may not have reached the screen: then `q` asks.
            "key" => terminal.send_keys("qy"),
            _ => terminal.send_signal(Signal::TERM),
        }
        wait_for("the end", || terminal.try_wait().is_some());
        let took = pressed.elapsed();
        assert!(took < Duration::from_secs(2), "{way}: {took:?}");
        assert!(terminal.has_initial_modes(), "{way}");
        // What restores the screen was accepted, behind what the terminal had taken before.
        terminal.wait_for_exit();
        terminal.assert_restored();
    }
}

#[test]
fn stalled_terminal_does_not_delay_a_run_without_interface() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let words = ["run", "random-read", ".", "--duration", "3s"];
    let size = ["--scratch-size", "16MiB"];
    let mut terminal = start_diskscope(&[words.as_slice(), &size].concat(), directory.path());
    terminal.wait_until("a rate", |screen| {
        let shown = screen.contents();
        shown.contains(" IOPS") && !shown.contains(" 0 IOPS")
    });
    terminal.fill_output();
    wait_for("the saved session", || {
        saved_states(directory.path()) == [RunState::Finished]
    });
    assert_eq!(terminal.wait_for_exit().code(), Some(0));
    let printed = String::from_utf8_lossy(terminal.output_bytes()).into_owned();
    assert!(
        printed.contains("random-read of a scratch file"),
        "{printed}"
    );
}

#[test]
fn nothing_is_sent_when_nothing_changes() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("4");
    terminal.wait_for_text("[4 Sessions]");
    terminal.send_keys("1 ");
    terminal.wait_for_text("paused");
    // Until the last frame is through.
    wait_for("a quiet terminal", || {
        std::thread::sleep(Duration::from_millis(500));
        terminal.take_output(100_000) == 0
    });
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(
        terminal.take_output(100_000),
        0,
        "{}",
        terminal.screen_text()
    );
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn flags_of_the_shared_terminal_are_not_changed() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    let flags =
        std::fs::read_to_string(format!("/proc/{}/fdinfo/0", terminal.worker_id())).unwrap();
    let flags = flags
        .lines()
        .find_map(|line| line.strip_prefix("flags:"))
        .unwrap();
    let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
    assert_eq!(flags & rustix::fs::OFlags::NONBLOCK.bits(), 0, "{flags:o}");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}
