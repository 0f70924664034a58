//! `diskscope demo`: every screen on the recording inside the program, without rights, measurements or files.

use std::path::Path;

use super::{PtyTerminal, setsid_is_available, start_diskscope, state_directory};

/// The demo at 120x40 and its state directory; `None` without setsid(1).
fn start_demo() -> Option<(PtyTerminal, tempfile::TempDir)> {
    if !setsid_is_available() {
        return None;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&["demo"], directory.path());
    terminal.resize(40, 120);
    terminal.wait_for_text("demo: recorded");
    Some((terminal, directory))
}

#[test]
fn demo_shows_every_screen_and_writes_nothing() {
    let Some((mut terminal, directory)) = start_demo() else {
        return;
    };
    // Live: the machine that was recorded, its copy and the database.
    terminal.wait_for_text("web-07");
    terminal.wait_for_text("cp /srv/images");
    // Requests.
    terminal.send_keys(" 3");
    terminal.wait_for_text("OPERATIONS");
    terminal.wait_for_text("demo: recorded");
    // Why: the causes in the recording.
    terminal.send_keys("5");
    terminal.wait_for_text("[5 Why]");
    // Bench: the result of the recorded run, then the launcher with the recorded targets.
    terminal.send_keys("2");
    terminal.wait_for_text("other-users");
    terminal.send_keys("\x1b");
    terminal.wait_for_text("s start");
    terminal.wait_for_text("/dev/sda");
    terminal.send_keys("s");
    terminal.wait_for_text("other-users");
    // Sessions: two are compared, one is opened.
    terminal.send_keys("4");
    terminal.wait_for_text("main metric");
    // A mark moves on to the next session.
    terminal.send_keys("\x1b[B  c");
    terminal.wait_for_text("the parameters differ");
    terminal.send_keys("i");
    terminal.wait_for_text("95 % CI");
    terminal.send_keys("\x1b");
    terminal.wait_for_text("main metric");
    terminal.send_keys("h");
    terminal.wait_for_text("the demo writes nothing");
    terminal.send_keys("1q");
    assert!(terminal.wait_for_exit().success());
    terminal.assert_restored();
    assert!(is_empty(directory.path()), "the demo left files");
}

/// Whether a directory contains no file, however deep.
fn is_empty(directory: &Path) -> bool {
    let mut entries = std::fs::read_dir(directory).unwrap();
    entries.all(|entry| {
        let path = entry.unwrap().path();
        path.is_dir() && is_empty(&path)
    })
}

#[test]
fn demo_refuses_what_is_not_recorded() {
    let Some((mut terminal, _directory)) = start_demo() else {
        return;
    };
    // The signal of a process of the recording would reach one of this machine.
    terminal.send_keys("x");
    terminal.wait_for_text("not available in a recording");
    terminal.send_keys("b");
    terminal.wait_for_text("s start");
    terminal.send_keys("/concurrency-read\rs");
    terminal.wait_for_text("the demo measures nothing");
    terminal.send_keys("//etc\r");
    terminal.wait_for_text("not part of the demo");
    terminal.send_keys("\x1b");
    terminal.wait_for_text("s start");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}
