//! The terminal's answer about its background.

use std::time::Duration;

use super::pty::PtyTerminal;
use super::{setsid_is_available, start_diskscope, state_directory};

/// The question of OSC 11.
const QUERY: &[u8] = b"\x1b]11;?\x07";
/// The colour of reads on a light background.
const LIGHT_READ: vt100::Color = vt100::Color::Idx(25);

/// The interface, after it asked.
fn start_and_await_question(directory: &std::path::Path) -> PtyTerminal {
    let mut terminal = start_diskscope(&[], directory);
    terminal.wait_for_text("DEVICES");
    let asked = terminal
        .output_bytes()
        .windows(QUERY.len())
        .any(|it| it == QUERY);
    assert!(asked, "the terminal was not asked");
    terminal
}

fn shows_colour(screen: &vt100::Screen, colour: vt100::Color) -> bool {
    let (rows, columns) = screen.size();
    (0..rows).any(|row| {
        (0..columns).any(|column| {
            let cell = screen.cell(row, column);
            cell.is_some_and(|cell| cell.fgcolor() == colour)
        })
    })
}

#[test]
fn answer_sets_the_colours_and_is_no_key_in_whatever_pieces_it_arrives() {
    if !setsid_is_available() {
        return;
    }
    let answers: [&[&str]; 4] = [
        &["\x1b]11;rgb:f2f4/f2f4/f2f4\x07"],
        &["\x1b]11;rgb:f2f4/f2f4/f2f4\x1b", "\\"],
        &["\x1b", "]11;rg", "b:f2f4/f2f4/f2", "f4\x1b\\"],
        &["\x1b]", "1", "1", ";", "rgb:f2f4", "/f2f4/f2f4", "\x07"],
    ];
    for answer in answers {
        let directory = state_directory();
        let mut terminal = start_and_await_question(directory.path());
        // As keys, these digits would show the screens 2 and 4.
        for piece in answer {
            terminal.send_keys(piece);
            std::thread::sleep(Duration::from_millis(10));
        }
        terminal.send_keys("?");
        terminal.wait_for_text("diskscope: keys");
        let what = format!("the colours of a light theme after {answer:?}");
        terminal.wait_until(&what, |screen| shows_colour(screen, LIGHT_READ));
        terminal.send_keys("\x1b");
        terminal.wait_for_text("DEVICES");
        assert!(terminal.screen_text().contains("[1 Live]"));
        terminal.send_keys("q");
        assert!(terminal.wait_for_exit().success());
    }
}

#[test]
fn terminal_that_never_answers_delays_no_key_and_no_end() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_and_await_question(directory.path());
    // Escape, too, which is the first byte of an answer.
    terminal.send_keys("?");
    terminal.wait_for_text("diskscope: keys");
    terminal.send_keys("\x1b");
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("4");
    terminal.wait_for_text("[4 Sessions]");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    terminal.assert_restored();
}

#[test]
fn answer_after_the_end_does_not_appear_at_the_prompt() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_and_await_question(directory.path());
    terminal.send_keys("q");
    std::thread::sleep(Duration::from_millis(50));
    terminal.send_keys("\x1b]11;rgb:f2f4/f2f4/f2f4\x07");
    assert!(terminal.wait_for_exit().success());
    assert_eq!(terminal.unread_bytes(), 0, "the shell reads the answer");
    assert!(!terminal.screen_text().contains("rgb"));
}
