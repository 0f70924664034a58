//! A new user gets from the README's first command to a result with the keys that the README names.

use std::path::Path;

use super::{setsid_is_available, start_diskscope, state_directory};

/// The keys in the order of the README, each with its name there, its code, and what it must show.
const KEYS: [(&str, &str, &str); 6] = [
    ("`2`", "2", "in flight"),
    ("End", "\x1b[F", "of sim:ssd"),
    ("`s`", "s", "export JSON"),
    ("`1`", "1", "DEVICES"),
    ("`?`", "?", "diskscope: keys"),
    ("`q`", "q", ""),
];

/// The paragraph below the first command.
fn first_steps() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (_, after) = readme
        .split_once("```\ncargo run --release\n```")
        .expect("the README's first command");
    after.split("\n```").next().unwrap().replace('\n', " ")
}

#[test]
fn readme_leads_to_a_result() {
    let text = first_steps();
    let mut rest = text.as_str();
    for (name, ..) in KEYS {
        let at = rest.find(name);
        let at = at.unwrap_or_else(|| panic!("{name} is not named in order: {text}"));
        rest = &rest[at + name.len()..];
    }
    assert_eq!(
        text.matches('`').count(),
        2 * 5,
        "keys that this test does not press: {text}"
    );
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    // `cargo run --release` runs this program without arguments.
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.resize(24, 80);
    terminal.wait_for_text("DEVICES");
    for (name, code, shown) in KEYS {
        if name == "`q`" {
            // The help is closed first, as its last line says.
            terminal.send_keys("\x1b");
            terminal.wait_for_text("DEVICES");
        }
        terminal.send_keys(code);
        if !shown.is_empty() {
            terminal.wait_for_text(shown);
        }
    }
    assert!(terminal.wait_for_exit().success());
}
