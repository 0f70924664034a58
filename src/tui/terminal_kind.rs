//! What the terminal can draw, as far as its environment tells.

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
/// Terminals with neither colours nor Unicode, by the beginnings of their names.
const PLAIN_TERMINALS: [&str; 4] = ["vt1", "vt2", "vt3", "ansi-m"];

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
        let plain = begins(&PLAIN_TERMINALS);
        let locale = locale.to_ascii_lowercase();
        let utf8 = locale.is_empty() || locale.contains("utf-8") || locale.contains("utf8");
        Some(Self {
            ascii: plain || begins(&ASCII_TERMINALS) || !utf8,
            colour: !plain,
        })
    }

    /// The kind of this process's terminal.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).unwrap_or_default();
            value.to_string_lossy().into_owned()
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .map(variable)
            .find(|value| !value.is_empty())
            .unwrap_or_default();
        Self::new(&variable("TERM"), &locale)
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
    }
}
