//! The launcher's fields in a terminal: a value is replaced or edited, a path is typed.

use super::{benchmark_position, setsid_is_available, start_diskscope, state_directory};

#[test]
fn typing_replaces_field_value_and_arrow_key_edits_it() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.resize(24, 80);
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("b");
    terminal.wait_for_text("scratch-size");
    // To the form; the first row is the size of the scratch file.
    let down = "j".repeat(1 + benchmark_position("random-read", "duration"));
    terminal.send_keys(&format!("\t\t{down}\r"));
    terminal.wait_for_text("type to replace");
    terminal.wait_for_text("Enter accept  Esc discard");
    terminal.send_keys("25s\r");
    terminal.wait_for_text("duration       25s");
    // The cursor goes before the value, then behind it.
    terminal.send_keys("\r\x1b[D1\r");
    terminal.wait_for_text("duration       125s");
    terminal.send_keys("\r\x1b[F\x7f\x7f\x7fms\r");
    terminal.wait_for_text("duration       1ms");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    terminal.assert_restored();
}

#[test]
fn slash_key_opens_search_and_path_has_one_slash() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let file = directory.path().join("1q2");
    std::fs::write(&file, vec![7; 1 << 20]).unwrap();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.resize(40, 120);
    terminal.send_keys("b");
    terminal.wait_for_text("scratch-size");
    terminal.send_keys("/cncread");
    terminal.wait_for_text("search: cncread");
    terminal.send_keys("\r");
    terminal.wait_for_text("ABOUT CONCURRENCY-READ");
    terminal.send_keys("//no/such/place\r");
    terminal.wait_for_text("path: /no/such/place");
    terminal.wait_until("the reason", |screen| {
        screen.contents().contains("/no/such/place does not exist")
    });
    terminal.send_keys(&format!("\x15{}\r", file.display()));
    terminal.wait_until("the file among the targets", |screen| {
        let shown = screen.contents();
        shown.contains("1q2") && !shown.contains("path: ") && !shown.contains("scratch-size")
    });
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    terminal.assert_restored();
}
