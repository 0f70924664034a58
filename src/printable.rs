//! Names made harmless.
//!
//! Anybody may name a file or a process so that printing it moves the cursor, sets the window's
//! title or turns the text around. Every name from outside passes here before it is shown.

use std::fmt::Write;

/// The bytes as text that a terminal shows as it stands: control characters, invalid UTF-8,
/// invisible characters and those that change the direction of writing become escapes of the
/// kind `\n`, `\x1b`, `\u{202e}`.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            push(&mut text, character);
        }
        for byte in chunk.invalid() {
            escape_byte(&mut text, *byte);
        }
    }
    text
}

/// The same for text of several lines, which stay lines.
#[must_use]
pub fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| printable(line.as_bytes()))
        .collect();
    lines.join("\n")
}

/// A command line whose arguments end in zero bytes, with spaces between them; the program's name
/// in brackets where there is none, as for a thread of the kernel.
#[must_use]
pub fn command_line(arguments: &[u8], name: &[u8]) -> String {
    let end = arguments
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    if end == 0 {
        return format!("[{}]", printable(name));
    }
    let spaced: Vec<u8> = arguments[..end]
        .iter()
        .map(|byte| if *byte == 0 { b' ' } else { *byte })
        .collect();
    printable(&spaced)
}

fn push(text: &mut String, character: char) {
    match character {
        '\n' => text.push_str("\\n"),
        '\t' => text.push_str("\\t"),
        '\r' => text.push_str("\\r"),
        _ if character.is_ascii_control() => escape_byte(text, character as u8),
        _ if character.is_control() || is_invisible(character) => {
            text.extend(character.escape_unicode());
        }
        _ => text.push(character),
    }
}

fn escape_byte(text: &mut String, byte: u8) {
    // Writing to a String does not fail.
    let _ = write!(text, "\\x{byte:02x}");
}

/// Characters without a width or with power over the order of others (Unicode Standard Annex 9,
/// and the general category Cf as far as it matters).
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(printable(b"a\x1b[2Jb\nc\x07"), "a\\x1b[2Jb\\nc\\x07");
        assert_eq!(printable(b"\xff\xfeok"), "\\xff\\xfeok");
        assert_eq!(
            printable("x\u{202e}gnp.exe".as_bytes()),
            "x\\u{202e}gnp.exe"
        );
        assert_eq!(printable("\u{9b}2J".as_bytes()), "\\u{9b}2J");
        assert_eq!(printable("größe 漢字".as_bytes()), "größe 漢字");
    }

    #[test]
    fn arguments_are_set_apart_by_spaces() {
        assert_eq!(command_line(b"cp\0a b\0c\0", b"cp"), "cp a b c");
        assert_eq!(command_line(b"", b"kworker/0:1"), "[kworker/0:1]");
        assert_eq!(command_line(b"\0\0", b"odd"), "[odd]");
    }

    proptest! {
        #[test]
        fn nothing_harmful_passes(bytes: Vec<u8>) {
            let text = printable(&bytes);
            prop_assert!(text.chars().all(|c| !c.is_control() && !is_invisible(c)));
            prop_assert_eq!(printable(text.as_bytes()), text.clone());
        }

        #[test]
        fn lines_stay_lines(lines in prop::collection::vec("\\PC{0,9}", 1..4)) {
            let text = lines.join("\n");
            let shown = printable_lines(&text);
            prop_assert_eq!(shown.lines().count(), text.lines().count());
            prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control() && !is_invisible(c)));
        }
    }
}
