//! What the terminal can draw, as far as its environment tells.

use crate::files::terminal::{is_plain, is_utf8_terminal, locale, variable};

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
