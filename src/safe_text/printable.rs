//! Names made harmless.
//!
//! Anybody may name a file or a process so that printing it moves the cursor, sets the window's
//! title or turns the text around. Every name from outside passes here before it is shown.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// Combining marks that one character may carry; more are escaped. Written languages need three.
const MAX_COMBINING_MARKS: usize = 4;

/// The bytes as text that a terminal shows as it stands: control characters, invalid UTF-8,
/// invisible characters and those that change the direction of writing become escapes of the
/// kind `\n`, `\x1b`, `\u{202e}`; so do combining marks without a character to stand on, and more
/// of them than four on one.
#[must_use]
pub fn printable_bytes(bytes: &[u8]) -> String {
    let mut escaped = EscapedText {
        text: String::with_capacity(bytes.len()),
        marks: CombiningMarks::default(),
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            escaped.push(character);
        }
        for byte in chunk.invalid() {
            escaped.push_byte(*byte);
        }
    }
    escaped.text
}

/// The same for text; borrowed where nothing had to be escaped.
#[must_use]
pub fn printable_str(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(printable_bytes(text.as_bytes()))
}

/// The same for text of several lines, which stay lines.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(printable_str).collect();
    Cow::Owned(lines.join("\n"))
}

/// A command line whose arguments end in zero bytes, with spaces between them; the program's name
/// in brackets where there is none, as for a thread of the kernel.
#[must_use]
pub fn printable_command_line(arguments: &[u8], name: &[u8]) -> String {
    let end = arguments
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    if end == 0 {
        return format!("[{}]", printable_bytes(name));
    }
    let spaced: Vec<u8> = arguments[..end]
        .iter()
        .map(|byte| if *byte == 0 { b' ' } else { *byte })
        .collect();
    printable_bytes(&spaced)
}

/// Combining marks since the last character that they can stand on.
#[derive(Debug)]
pub(crate) struct CombiningMarks(usize);

impl Default for CombiningMarks {
    /// At the beginning of a line there is nothing that a mark could stand on.
    fn default() -> Self {
        Self(MAX_COMBINING_MARKS)
    }
}

impl CombiningMarks {
    /// Whether the next character may stand as it is. Behind an escape marks may stand again, behind
    /// a mark that was escaped none may.
    pub(crate) fn is_allowed(&mut self, character: char) -> bool {
        if matches!(character, ' '..='~') {
            self.0 = 0;
            return true;
        }
        let harmless = is_printable(character);
        if !harmless || character.width() != Some(0) {
            self.0 = 0;
            return harmless;
        }
        let room = self.0 < MAX_COMBINING_MARKS;
        self.0 += usize::from(room);
        room
    }
}

/// Text that is being escaped.
struct EscapedText {
    text: String,
    marks: CombiningMarks,
}

impl EscapedText {
    fn push(&mut self, character: char) {
        if self.marks.is_allowed(character) {
            self.text.push(character);
            return;
        }
        match character {
            '\n' => self.text.push_str("\\n"),
            '\t' => self.text.push_str("\\t"),
            '\r' => self.text.push_str("\\r"),
            _ if character.is_ascii_control() => self.push_byte(character as u8),
            _ => self.text.extend(character.escape_unicode()),
        }
    }

    fn push_byte(&mut self, byte: u8) {
        self.marks = CombiningMarks(0);
        // Writing to a String does not fail.
        let _ = write!(self.text, "\\x{byte:02x}");
    }
}

/// Characters that are not seen or that change the order of others: those with the property
/// Default_Ignorable_Code_Point, the bidirectional controls (Unicode Standard Annex 9) and the
/// separators of lines and paragraphs. Variation selectors are among them: terminals disagree on
/// the width that they give to a character.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a terminal shows the character as it stands, and nothing else happens.
#[must_use]
pub fn is_printable(character: char) -> bool {
    matches!(character, ' '..='~') || !character.is_control() && !is_invisible(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(printable_bytes(b"a\x1b[2Jb\nc\x07"), "a\\x1b[2Jb\\nc\\x07");
        assert_eq!(printable_bytes(b"\xff\xfeok"), "\\xff\\xfeok");
        assert_eq!(
            printable_bytes("x\u{202e}gnp.exe".as_bytes()),
            "x\\u{202e}gnp.exe"
        );
        assert_eq!(printable_bytes("\u{9b}2J".as_bytes()), "\\u{9b}2J");
        assert_eq!(printable_bytes("größe 漢字".as_bytes()), "größe 漢字");
    }

    #[test]
    fn excess_combining_marks_are_escaped() {
        assert_eq!(printable_bytes("e\u{301}".as_bytes()), "e\u{301}");
        let pile = format!("a{}b", "\u{301}".repeat(6));
        let shown = printable_bytes(pile.as_bytes());
        assert_eq!(shown, "a\u{301}\u{301}\u{301}\u{301}\\u{301}\\u{301}b");
        // Nothing is before it that it could stand on: it would change what was drawn before.
        assert_eq!(printable_bytes("\u{301}x".as_bytes()), "\\u{301}x");
    }

    #[test]
    fn command_line_arguments_are_separated_by_spaces() {
        assert_eq!(printable_command_line(b"cp\0a b\0c\0", b"cp"), "cp a b c");
        assert_eq!(printable_command_line(b"", b"kworker/0:1"), "[kworker/0:1]");
        assert_eq!(printable_command_line(b"\0\0", b"odd"), "[odd]");
    }

    proptest! {
        #[test]
        fn printable_text_contains_no_harmful_characters(bytes: Vec<u8>) {
            let text = printable_bytes(&bytes);
            prop_assert!(text.chars().all(|c| !c.is_control() && !is_invisible(c)));
            prop_assert_eq!(printable_bytes(text.as_bytes()), text.clone());
        }

        #[test]
        fn text_and_bytes_are_escaped_identically(text in "(\\PC|[\\x00-\\x20]|[\u{300}-\u{30f}\u{200b}-\u{206f}]){0,20}") {
            let shown = printable_str(&text).into_owned();
            prop_assert_eq!(&shown, &printable_bytes(text.as_bytes()));
            prop_assert!(shown.chars().all(is_printable));
            prop_assert_eq!(printable_str(&shown), shown.as_str());
        }

        #[test]
        fn printable_lines_keep_line_breaks(lines in prop::collection::vec("\\PC{0,9}", 1..4)) {
            let text = lines.join("\n");
            let shown = printable_lines(&text);
            prop_assert_eq!(shown.lines().count(), text.lines().count());
            prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control() && !is_invisible(c)));
        }
    }
}
