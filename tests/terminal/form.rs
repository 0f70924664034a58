//! The launcher's fields in a terminal: a value is replaced or edited, a path is typed.

use super::{benchmark_position, setsid_is_available, start_diskscope, state_directory};

#[test]
fn typing_replaces_field_value_and_arrow_key_edits_it() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.see("DEVICES");
    terminal.resize(24, 80);
    terminal.keys("b");
    terminal.see("scratch-size");
    // To the form; the first row is the size of the scratch file.
    let down = "j".repeat(1 + benchmark_position("random-read", "duration"));
    terminal.keys(&format!("\t\t{down}\r"));
    terminal.see("type to replace it");
    terminal.see("Enter take   Esc leave");
    terminal.keys("25s\r");
    terminal.see("duration       25s");
    // The cursor goes before the value, then behind it.
    terminal.keys("\r\x1b[D1\r");
    terminal.see("duration       125s");
    terminal.keys("\r\x1b[F\x7f\x7f\x7fms\r");
    terminal.see("duration       1ms");
    terminal.keys("q");
    assert!(terminal.end().success());
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
    terminal.see("DEVICES");
    terminal.resize(40, 120);
    terminal.keys("b");
    terminal.see("scratch-size");
    terminal.keys("/cncread");
    terminal.see("search: cncread");
    terminal.keys("\r");
    terminal.see("ABOUT CONCURRENCY-READ");
    terminal.keys("//no/such/place\r");
    terminal.see("path: /no/such/place");
    terminal.wait("the reason", |screen| {
        screen.contents().contains("/no/such/place does not exist")
    });
    terminal.keys(&format!("\x15{}\r", file.display()));
    terminal.wait("the file among the targets", |screen| {
        let shown = screen.contents();
        shown.contains("1q2") && !shown.contains("path: ") && !shown.contains("scratch-size")
    });
    terminal.keys("q");
    assert!(terminal.end().success());
    terminal.assert_restored();
}
