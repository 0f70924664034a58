//! Escapes text from outside for display.
//!
//! Any user can choose the name of a file or process so that printing it moves the cursor, sets the
//! window title or reverses the text. Every name from outside is escaped by one of these functions before
//! it is displayed; escaping again changes nothing.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// Combining marks that one character may have; more are escaped. Written languages need three.
const MAX_COMBINING_MARKS: usize = 4;
/// Bytes of a command line that are shown. Its user chooses how long it is.
const MAX_COMMAND_LINE_BYTES: usize = 4096;

/// One line: control characters, invisible characters and bidirectional controls become escapes of the
/// form `\n`, `\x1b`, `\u{202e}`. So do combining marks without a base character, and those after the
/// fourth on one character.
#[must_use]
pub fn printable_str(text: &str) -> Cow<'_, str> {
    escape_unprintable(text, false, push_escape)
}

/// As [`printable_str`] for text of several lines; line breaks are kept.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escape_unprintable(text, true, push_escape)
}

/// As [`printable_str`] for bytes from the kernel: invalid UTF-8 becomes escapes of the form `\xff`.
#[must_use]
pub fn printable_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&printable_str(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// A command line from NUL-terminated arguments, separated by one blank; a long one is cut and ends in `...`.
/// Without arguments, as for a kernel thread, the program's name in brackets.
#[must_use]
pub fn printable_command_line(arguments: &[u8], name: &[u8]) -> String {
    let words = arguments.split(|byte| matches!(byte, 0 | b' '));
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return format!("[{}]", printable_bytes(name));
    }
    let mut line = words.join(&b' ');
    let rest = if line.len() > MAX_COMMAND_LINE_BYTES {
        "..."
    } else {
        ""
    };
    line.truncate(MAX_COMMAND_LINE_BYTES);
    printable_bytes(&line) + rest
}

/// Text of several lines in ASCII: every other character becomes an escape of the form `\u{e9}`.
#[must_use]
pub fn ascii_lines(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            ascii.extend(character.escape_unicode());
        }
    }
    Cow::Owned(ascii)
}

/// Whether a terminal displays the character literally, without side effects.
#[must_use]
pub fn is_printable(character: char) -> bool {
    matches!(character, ' '..='~') || !character.is_control() && !is_invisible(character)
}

/// Invisible characters and those that change the order of others: those with the property
/// Default_Ignorable_Code_Point, the bidirectional controls (Unicode Standard Annex 9) and the line
/// and paragraph separators. They include variation selectors: terminals disagree on the width of a
/// character with one. And all blanks but the ASCII and the ideographic one.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{1680}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Passes every character that a terminal would not display literally to `push_escape`; borrowed if there is none.
pub(super) fn escape_unprintable(
    text: &str,
    keeps_line_breaks: bool,
    push_escape: fn(&mut String, char),
) -> Cow<'_, str> {
    let is_kept = |byte: u8| matches!(byte, b' '..=b'~') || keeps_line_breaks && byte == b'\n';
    if text.bytes().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    // At the start of a line there is no character that a mark could belong to.
    let mut marks = MAX_COMBINING_MARKS;
    for character in text.chars() {
        if keeps_line_breaks && character == '\n' {
            marks = MAX_COMBINING_MARKS;
            shown.push(character);
            continue;
        }
        let is_mark = is_printable(character) && character.width() == Some(0);
        if !is_mark {
            marks = 0;
        }
        if is_printable(character) && !(is_mark && marks == MAX_COMBINING_MARKS) {
            marks += usize::from(is_mark);
            shown.push(character);
        } else {
            push_escape(&mut shown, character);
        }
    }
    Cow::Owned(shown)
}

fn push_escape(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        '\r' => shown.push_str("\\r"),
        _ if character.is_ascii_control() => {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\x{:02x}", u32::from(character));
        }
        _ => shown.extend(character.escape_unicode()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_from_outside_is_escaped() {
        let five_marks = format!("a{}b", "\u{301}".repeat(5));
        for (bytes, expected) in [
            (&b"a\x1b[2Jb\nc\x07\t\r"[..], "a\\x1b[2Jb\\nc\\x07\\t\\r"),
            (b"\xff\xfeok", "\\xff\\xfeok"),
            ("x\u{202e}gnp.exe".as_bytes(), "x\\u{202e}gnp.exe"),
            ("\u{9b}2J".as_bytes(), "\\u{9b}2J"),
            ("a\u{2028}\u{2800}".as_bytes(), "a\\u{2028}\\u{2800}"),
            ("größe 漢字".as_bytes(), "größe 漢字"),
            ("e\u{301}".as_bytes(), "e\u{301}"),
            (
                five_marks.as_bytes(),
                "a\u{301}\u{301}\u{301}\u{301}\\u{301}b",
            ),
            // It would combine with text drawn before.
            ("\u{301}x".as_bytes(), "\\u{301}x"),
        ] {
            assert_eq!(printable_bytes(bytes), expected);
        }
        assert_eq!(ascii_lines("é\n"), "\\u{e9}\n");
    }

    #[test]
    fn command_line_arguments_are_separated_by_one_blank() {
        for (arguments, expected) in [
            (&b"cp\0a b\0c\0"[..], "cp a b c"),
            (b"cp\0a   b\0\0c\0", "cp a b c"),
            (b"", "[kworker/0:1]"),
            (b"\0\0", "[kworker/0:1]"),
        ] {
            assert_eq!(printable_command_line(arguments, b"kworker/0:1"), expected);
        }
        let long = printable_command_line(&[b'x'; 1 << 20], b"odd");
        assert_eq!(long, "x".repeat(MAX_COMMAND_LINE_BYTES) + "...");
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_character_that_is_not_displayed(
            bytes: Vec<u8>, text in "(\\PC|[\\x00-\\x20]|[\u{300}-\u{30f}\u{200b}-\u{206f}]){0,20}",
        ) {
            for bytes in [bytes, text.into_bytes()] {
                let shown = printable_bytes(&bytes);
                prop_assert!(shown.chars().all(is_printable), "{:?}", shown);
                prop_assert_eq!(printable_str(&shown), shown.as_str());
                let lines = String::from_utf8_lossy(&bytes);
                let shown = printable_lines(&lines);
                prop_assert_eq!(shown.lines().count(), lines.lines().count());
                prop_assert!(shown.chars().all(|c| c == '\n' || is_printable(c)), "{:?}", shown);
            }
        }
    }
}
