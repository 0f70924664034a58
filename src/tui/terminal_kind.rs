//! What the terminal can draw, as far as its environment tells.

use std::borrow::Cow;
use std::io::IsTerminal;

use crate::files::printable::ascii_lines;

/// What a terminal can draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalKind {
    /// Whether only ASCII characters are drawn as they are.
    pub ascii: bool,
    /// Whether it has colours.
    pub colour: bool,
}

/// Terminals that cannot move the cursor.
const DUMB_TERMINALS: [&str; 2] = ["dumb", "unknown"];
/// Terminals with colours whose fonts have neither Braille nor most block characters: the console of
/// Linux has at most 512 characters (console_codes(4), setfont(8)).
const ASCII_TERMINALS: [&str; 1] = ["linux"];

/// Terminals with neither colours nor Unicode, by the beginnings of their names.
const PLAIN_TERMINALS: [&str; 4] = ["vt1", "vt2", "vt3", "ansi-m"];

impl TerminalKind {
    /// The kind by the values of `TERM` and of the locale (the first that is set of `LC_ALL`,
    /// `LC_CTYPE` and `LANG`). `None` for a terminal that cannot move the cursor.
    ///
    /// Without a locale, as in many containers, the terminal is taken for one of UTF-8.
    #[must_use]
    pub fn new(term: &str, locale: &str) -> Option<Self> {
        if DUMB_TERMINALS.contains(&term) {
            return None;
        }
        let begins = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
        let plain = is_plain(term);
        Some(Self {
            ascii: begins(&ASCII_TERMINALS) || !is_utf8_terminal(term, locale),
            colour: !plain,
        })
    }

    /// The kind of this process's terminal.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        Self::new(&variable("TERM"), &locale())
    }
}

/// Whether a terminal has neither colours nor Unicode, by the value of `TERM`.
fn is_plain(term: &str) -> bool {
    PLAIN_TERMINALS.iter().any(|name| term.starts_with(name))
}

/// Whether this process's terminal decodes UTF-8, as far as its environment tells. Another one takes
/// single bytes of a character as controls: 0x9b begins a sequence (ECMA-48, CSI) on a terminal of
/// eight bits.
#[must_use]
pub fn decodes_utf8() -> bool {
    is_utf8_terminal(&variable("TERM"), &locale())
}

/// The same for these values of `TERM` and of the locale.
fn is_utf8_terminal(term: &str, locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    let is_utf8 = locale.is_empty() || locale.contains("utf-8") || locale.contains("utf8");
    is_utf8 && !is_plain(term)
}

/// The first that is set of the variables of the locale.
fn locale() -> String {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().map(variable);
    let mut set = names.filter(|value| !value.is_empty());
    set.next().unwrap_or_default()
}

/// Value of an environment variable; empty where it is not set.
fn variable(name: &str) -> String {
    let value = std::env::var_os(name).unwrap_or_default();
    value.to_string_lossy().into_owned()
}

/// Printable text as a stream can take it.
#[must_use]
pub fn text_for<'t>(stream: &impl IsTerminal, text: &'t str) -> Cow<'t, str> {
    if stream.is_terminal() {
        terminal_text(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Printable text as this process's terminal can take it: ASCII where it does not decode UTF-8.
#[must_use]
pub fn terminal_text(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || decodes_utf8() {
        Cow::Borrowed(text)
    } else {
        ascii_lines(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_kind_follows_type_and_locale() {
        let kind =
            |term, locale| TerminalKind::new(term, locale).map(|kind| (kind.ascii, kind.colour));
        assert_eq!(kind("xterm-256color", "en_US.UTF-8"), Some((false, true)));
        assert_eq!(kind("xterm-256color", ""), Some((false, true)));
        assert_eq!(kind("xterm-256color", "C"), Some((true, true)));
        assert_eq!(kind("xterm-256color", "C.utf8"), Some((false, true)));
        assert_eq!(kind("linux", "en_US.UTF-8"), Some((true, true)));
        assert_eq!(kind("vt100", "en_US.UTF-8"), Some((true, false)));
        assert_eq!(kind("dumb", "en_US.UTF-8"), None);
        assert!(is_utf8_terminal("linux", "en_US.UTF-8") && is_utf8_terminal("dumb", ""));
        assert!(!is_utf8_terminal("xterm", "POSIX") && !is_utf8_terminal("vt220", "C.UTF-8"));
    }
}
