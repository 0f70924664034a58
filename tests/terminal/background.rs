//! The terminal's answer about its background.

use super::{setsid_is_available, start_diskscope, state_directory};

/// The question of OSC 11.
const QUERY: &[u8] = b"\x1b]11;?\x07";

#[test]
fn answer_about_the_background_is_no_key_and_sets_the_colours() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    let asked = terminal
        .output_bytes()
        .windows(QUERY.len())
        .any(|it| it == QUERY);
    assert!(asked, "the terminal was not asked");
    // As keys, these digits would show the screens 2 and 4.
    terminal.send_keys("\x1b]11;rgb:f2f4/f2f4/f2f4\x07?");
    terminal.wait_for_text("diskscope: keys");
    // The colour of keys is that of reads on a light background.
    terminal.wait_until("a key in the colours of a light theme", |screen| {
        let (rows, _) = screen.size();
        (0..rows).any(|row| {
            screen
                .cell(row, 3)
                .is_some_and(|cell| cell.fgcolor() == vt100::Color::Idx(25))
        })
    });
    let shown = terminal.screen_text();
    let first = shown.lines().nth(2).unwrap_or_default().trim();
    assert!(first.starts_with("Live"), "{shown}");
    terminal.send_keys("q");
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}
