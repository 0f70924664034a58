//! Command lines that a user may paste into a shell: the only module that quotes.
//!
//! A word is plain, or in single quotes, or, with what a terminal would not display literally, in the form
//! `$'a\033b'` of POSIX.1-2024, which bash, zsh, ksh and busybox read; dash before 0.5.13 takes it for
//! another name, which does not exist. Each command is one line, regardless of the names in it.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use super::printable::printable_bytes;

/// Whether the terminal of this process takes ASCII only.
static IS_ASCII_TERMINAL: AtomicBool = AtomicBool::new(false);

/// From now on [`for_terminal`] writes commands in ASCII; called before anything is printed.
pub fn use_ascii() {
    IS_ASCII_TERMINAL.store(true, Ordering::Relaxed);
}

/// A command line, or words of one, as the terminal of this process can take it. Every place that prints
/// a command calls this: an escape for display, put in later, would change what the command names.
#[must_use]
pub fn for_terminal(command: String) -> String {
    if IS_ASCII_TERMINAL.load(Ordering::Relaxed) {
        return ascii_command(&command);
    }
    command
}

/// The command with every character that is not ASCII as octal escapes, which a shell converts back.
#[must_use]
pub fn ascii_command(command: &str) -> String {
    let parts = quoted_parts(command).into_iter();
    let ascii = parts.map(|(is_quoted, part)| {
        if is_quoted && !part.is_ascii() {
            let inner = part.strip_prefix('\'').unwrap_or(part);
            let inner = inner.strip_suffix('\'').unwrap_or(inner);
            dollar_quoted(inner.replace(r"'\''", "'").as_bytes())
        } else {
            part.to_owned()
        }
    });
    ascii.collect()
}

/// Joins words to a command line and quotes each; `None` where [`quote_word`] cannot quote one.
#[must_use]
pub fn command_line<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> Option<String> {
    let words = words.into_iter();
    let quoted: Option<Vec<String>> = words.map(quote_word).collect();
    Some(quoted?.join(" "))
}

/// Quotes bytes as one word of a shell; `None` for one with a NUL byte, which no argument can contain.
#[must_use]
pub fn quote_word(word: impl AsRef<[u8]>) -> Option<String> {
    let word = word.as_ref();
    let is_plain = word.iter().copied().all(is_plain_byte)
        && !matches!(word.first(), None | Some(b'=' | b'%'));
    match str::from_utf8(word) {
        _ if word.contains(&0) => None,
        Ok(text) if is_plain => Some(text.to_owned()),
        Ok(text) if printable_bytes(word) == text => {
            Some(format!("'{}'", text.replace('\'', r"'\''")))
        }
        _ => Some(dollar_quoted(word)),
    }
}

/// Splits a line into words; `None` unless the line is exactly these words as this program quotes
/// them: no other command, no substitution, no redirection. A word in the form `$'...'` is not read.
#[must_use]
pub fn split_line(line: &str) -> Option<Vec<Vec<u8>>> {
    let words = shlex::bytes::split(line.as_bytes())?;
    (command_line(&words).as_deref() == Some(line)).then_some(words)
}

/// The parts of a command, each with whether it is in single quotes, which it then contains.
#[must_use]
pub fn quoted_parts(command: &str) -> Vec<(bool, &str)> {
    let mut parts = Vec::new();
    let mut rest = command;
    while let Some(begin) = rest.find('\'') {
        let mut end = begin + 1;
        loop {
            end = rest[end..].find('\'').map_or(rest.len(), |at| end + at + 1);
            // The quote in `'it'\''s'` is one of its text.
            if !rest[end..].starts_with(r"\''") {
                break;
            }
            end += r"\''".len();
        }
        parts.extend([(false, &rest[..begin]), (true, &rest[begin..end])]);
        rest = &rest[end..];
    }
    parts.push((false, rest));
    parts
}

/// Whether a byte needs no quotes in any shell. A leading `=` does in zsh, a leading `%` in fish.
fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./:=,%+@".contains(&byte)
}

fn dollar_quoted(word: &[u8]) -> String {
    let mut quoted = "$'".to_owned();
    for &byte in word {
        if is_plain_byte(byte) || byte == b' ' {
            quoted.push(byte.into());
        } else {
            // Writing to a String cannot fail.
            let _ = write!(quoted, "\\{byte:03o}");
        }
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// The bytes that a shell which knows `$'...'` reads for quoted words.
    fn read_back(quoted: &str) -> Vec<u8> {
        let script = format!("printf '%s\\0' {quoted}");
        Command::new("bash")
            .args(["-c", &script])
            .output()
            .unwrap()
            .stdout
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (words, line) in [
            (
                &["blockdev", "--setra", "8", "/dev/sda"][..],
                "blockdev --setra 8 /dev/sda",
            ),
            (&["--bs=4096", "a,b"], "--bs=4096 a,b"),
            (&["", "=x", "%self"], "'' '=x' '%self'"),
            (&["p95<=5ms", "~", "größe"], "'p95<=5ms' '~' 'größe'"),
            (&["it's $(id) !x"], r"'it'\''s $(id) !x'"),
            (&["a\nb'", "\u{202e}"], r"$'a\012b\047' $'\342\200\256'"),
        ] {
            assert_eq!(command_line(words).as_deref(), Some(line));
        }
        assert_eq!(quote_word(b"\xff\n").as_deref(), Some(r"$'\377\012'"));
        assert_eq!(command_line([&b"ls"[..], b"a\0b"]), None);
    }

    #[test]
    fn line_that_is_not_exactly_its_words_is_not_split() {
        let lines =
            "a  b|a\tb|a; id|a > b|a \"b\"|a '|a \\|a # b|a $'\\1'|a $'b'|a$'\\012'|a 'b'c|'a'";
        for line in lines.split('|') {
            assert_eq!(split_line(line), None, "{line}");
        }
    }

    /// Words of any bytes but NUL, and of those that have a meaning in a shell or a terminal.
    fn any_word() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop_oneof![
            "[ a-z'\"\\\\$`!#;=~%0-9\n\t\u{1b}\u{301}\u{202e}\u{f6}-]{0,3}"
                .prop_map(String::into_bytes),
            Just(b"$'\\033'".to_vec()),
            Just(b"'\\''".to_vec()),
            proptest::collection::vec(1_u8..=255, 0..4),
        ];
        proptest::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn quoted_words_are_read_back(words in proptest::collection::vec(any_word(), 1..4)) {
            let line = command_line(&words).unwrap();
            prop_assert_eq!(printable_bytes(line.as_bytes()), line.clone());
            let split = split_line(&line);
            prop_assert!(split.is_none_or(|split| split == words), "{}", line);
            let ascii = ascii_command(&line);
            prop_assert!(ascii.is_ascii());
            let expected: Vec<u8> = words.iter().flat_map(|word| [&word[..], b"\0"].concat()).collect();
            prop_assert_eq!(read_back(&line), expected.clone(), "{}", line);
            prop_assert_eq!(read_back(&ascii), expected, "{}", ascii);
        }
    }
}
