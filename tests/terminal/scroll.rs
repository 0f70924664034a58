//! A saved session with many checks in a terminal of 80 columns and 24 rows: scrolled to its end,
//! and written as a report.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use serde_json::{Value, json};

use super::{setsid_is_available, start_diskscope, state_directory};

/// Saves the sample session with six checks where the program looks for sessions.
fn save_six_checks(directory: &Path) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/nvme-random.json");
    let mut session: Value = serde_json::from_str(&fs::read_to_string(sample).unwrap()).unwrap();
    let check = |number: usize| {
        json!({
            "code": format!("check-{number}"),
            "severity": "warning",
            "evidence": "a long sentence on what was seen ".repeat(3),
            "advice": format!("advice {number} ends here"),
        })
    };
    session["runs"][0]["verdicts"] = (1..=6).map(check).collect();
    let sessions = directory.join("state/diskscope/sessions");
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(&sessions)
        .unwrap();
    let path = sessions.join("20260203-140506-random-read.json");
    fs::write(path, session.to_string()).unwrap();
}

#[test]
fn result_at_80x24_scrolls_to_last_check_and_writes_report() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    save_six_checks(directory.path());
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.resize(24, 80);
    terminal.send_keys("4");
    terminal.wait_for_text("random-read of");
    terminal.send_keys("\r");
    terminal.wait_for_text(" more");
    terminal.send_keys(&"\x1b[B".repeat(80));
    let at_end = |screen: &vt100::Screen| {
        let shown = screen.contents();
        shown.contains("advice 6 ends here") && !shown.contains(" more")
    };
    terminal.wait_until("the last check after 80 times Down", at_end);
    // Home, End, PageUp, PageDown.
    terminal.send_keys("\x1b[H");
    terminal.wait_for_text("goal iops");
    terminal.send_keys("\x1b[F");
    terminal.wait_until("the last check after End", at_end);
    terminal.send_keys("\x1b[5~");
    terminal.wait_for_text(" more");
    terminal.send_keys("\x1b[6~");
    terminal.wait_until("the last check after PageDown", at_end);

    terminal.send_keys("h");
    terminal.wait_for_text("wrote diskscope-20260203-140506-random-read.html in ");
    // The result is still shown.
    terminal.wait_for_text("advice 6 ends here");
    let path = directory
        .path()
        .join("diskscope-20260203-140506-random-read.html");
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("check-6"));
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    terminal.assert_restored();
}
