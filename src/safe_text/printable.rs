//! Escapes names for display.
//!
//! Any user can choose the name of a file or process so that printing it moves the cursor, sets the
//! window title or reverses the text. Every name from outside is escaped here before it is
//! displayed.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// Maximum number of combining marks on one character; more are escaped. Written languages need
/// three.
const MAX_COMBINING_MARKS: usize = 4;

/// Bytes of a command line that are shown. Its user chooses how long it is.
const MAX_COMMAND_LINE_BYTES: usize = 4096;

/// Escapes the bytes of a name so that a terminal displays them literally: control characters, invalid
/// UTF-8, invisible characters and bidirectional controls become escapes of the form `\n`, `\x1b`,
/// `\u{202e}`; so do combining marks without a base character, and those after the fourth on one
/// character. So does every second blank of a row of blanks: with them a name could place text in a
/// column of its choice, where a terminal folds the line, and imitate a line of this program.
#[must_use]
pub fn printable_bytes(bytes: &[u8]) -> String {
    escaped(bytes, RepeatedBlanks::Escaped)
}

/// As above for text.
#[must_use]
pub fn printable_name(text: &str) -> Cow<'_, str> {
    let is_text = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_text && !text.contains("  ") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(printable_bytes(text.as_bytes()))
}

/// Escapes a line of text in which the names are escaped already, in the same way, except that all
/// blanks are kept; borrowed if nothing had to be escaped.
#[must_use]
pub fn printable_str(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(escaped(text.as_bytes(), RepeatedBlanks::Kept))
}

/// What becomes of a blank that follows a blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepeatedBlanks {
    Escaped,
    Kept,
}

fn escaped(bytes: &[u8], repeated_blanks: RepeatedBlanks) -> String {
    let mut escaped = EscapedText {
        text: String::with_capacity(bytes.len()),
        marks: CombiningMarks::default(),
        repeated_blanks,
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

/// Whether a character looks like nothing, and takes columns. Others of this kind are
/// [invisible](is_invisible) ones, which are always escaped.
#[must_use]
pub fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\u{3000}')
}

/// As above for text of several lines; line breaks are kept.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(printable_str).collect();
    Cow::Owned(lines.join("\n"))
}

/// Text of several lines in ASCII: every other character becomes an escape of the form `\u{e9}`.
#[must_use]
pub fn ascii_lines(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii() {
            true => ascii.push(character),
            false => ascii.extend(character.escape_unicode()),
        }
    }
    Cow::Owned(ascii)
}

/// A command line from NUL-terminated arguments, separated by one blank, also where an argument contains
/// several in succession; a long one is cut and ends in `...`. Without arguments, as for a kernel thread,
/// the program's name in brackets.
#[must_use]
pub fn printable_command_line(arguments: &[u8], name: &[u8]) -> String {
    let end = arguments
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    if end == 0 {
        return format!("[{}]", printable_bytes(name));
    }
    let shown = &arguments[..end.min(MAX_COMMAND_LINE_BYTES)];
    let mut spaced: Vec<u8> = shown
        .iter()
        .map(|byte| if *byte == 0 { b' ' } else { *byte })
        .collect();
    spaced.dedup_by(|next, last| (*next, *last) == (b' ', b' '));
    let rest = if shown.len() < end { "..." } else { "" };
    printable_bytes(&spaced) + rest
}

/// Number of combining marks since the last base character.
#[derive(Debug)]
pub(crate) struct CombiningMarks(usize);

impl Default for CombiningMarks {
    /// At the start of a line there is no base character for a mark.
    fn default() -> Self {
        Self(MAX_COMBINING_MARKS)
    }
}

impl CombiningMarks {
    /// Whether the next character may be displayed as is. An escape counts as a base character for
    /// the marks that follow, an escaped mark does not.
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

/// Output buffer of the escaping.
struct EscapedText {
    text: String,
    marks: CombiningMarks,
    repeated_blanks: RepeatedBlanks,
}

impl EscapedText {
    fn push(&mut self, character: char) {
        let is_repeated =
            is_blank(character) && self.text.chars().next_back().is_some_and(is_blank);
        let is_escaped = is_repeated && self.repeated_blanks == RepeatedBlanks::Escaped;
        if self.marks.is_allowed(character) && !is_escaped {
            self.text.push(character);
            return;
        }
        match character {
            ' ' => self.push_byte(b' '),
            '\n' => self.text.push_str("\\n"),
            '\t' => self.text.push_str("\\t"),
            '\r' => self.text.push_str("\\r"),
            _ if character.is_ascii_control() => self.push_byte(character as u8),
            _ => self.text.extend(character.escape_unicode()),
        }
    }

    fn push_byte(&mut self, byte: u8) {
        self.marks = CombiningMarks(0);
        // Writing to a String cannot fail.
        let _ = write!(self.text, "\\x{byte:02x}");
    }
}

/// Invisible characters and those that change the order of others: those with the property
/// Default_Ignorable_Code_Point, the bidirectional controls (Unicode Standard Annex 9) and the line
/// and paragraph separators. They include variation selectors: terminals disagree on the width of a
/// character with one. And the blanks other than those of [`is_blank`], one of which is the Braille
/// pattern without dots.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{1680}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a terminal displays the character literally, without side effects.
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
    fn name_has_no_two_blanks_in_succession() {
        assert_eq!(printable_bytes(b"a b   c"), "a b \\x20 c");
        assert_eq!(printable_name("a b   c"), "a b \\x20 c");
        let ideographic = printable_name("\u{5c71}\u{3000}\u{592a} \u{3000}");
        assert_eq!(ideographic, "\u{5c71}\u{3000}\u{592a} \\u{3000}");
        for blank in ["\u{2800}", "\u{a0}", "\u{2003}"] {
            let shown = printable_name(blank);
            assert!(shown.is_ascii(), "{shown}");
        }
        // The layout of the program's own text.
        assert_eq!(printable_str("  do    \u{e9}"), "  do    \u{e9}");
    }

    #[test]
    fn excess_combining_marks_are_escaped() {
        assert_eq!(printable_bytes("e\u{301}".as_bytes()), "e\u{301}");
        let pile = format!("a{}b", "\u{301}".repeat(6));
        let shown = printable_bytes(pile.as_bytes());
        assert_eq!(shown, "a\u{301}\u{301}\u{301}\u{301}\\u{301}\\u{301}b");
        // It has no base character here: it would combine with text drawn before.
        assert_eq!(printable_bytes("\u{301}x".as_bytes()), "\\u{301}x");
    }

    #[test]
    fn command_line_arguments_are_separated_by_one_blank() {
        assert_eq!(printable_command_line(b"cp\0a b\0c\0", b"cp"), "cp a b c");
        assert_eq!(
            printable_command_line(b"cp\0a   b\0\0c\0", b"cp"),
            "cp a b c"
        );
        assert_eq!(printable_command_line(b"", b"kworker/0:1"), "[kworker/0:1]");
        assert_eq!(printable_command_line(b"\0\0", b"odd"), "[odd]");
        let long = printable_command_line(&[b'x'; 1 << 20], b"odd");
        assert_eq!(long, "x".repeat(MAX_COMMAND_LINE_BYTES) + "...");
    }

    proptest! {
        #[test]
        fn printable_text_contains_no_harmful_characters(bytes: Vec<u8>) {
            let text = printable_bytes(&bytes);
            prop_assert!(text.chars().all(|c| !c.is_control() && !is_invisible(c)));
            prop_assert_eq!(printable_bytes(text.as_bytes()), text.clone());
            let characters: Vec<char> = text.chars().collect();
            let mut pairs = characters.windows(2);
            prop_assert!(!pairs.any(|pair| pair.iter().all(|one| is_blank(*one))));
        }

        #[test]
        fn text_and_bytes_are_escaped_identically(text in "(\\PC|[\\x00-\\x20]|[\u{300}-\u{30f}\u{200b}-\u{206f}]){0,20}") {
            let shown = printable_name(&text).into_owned();
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
