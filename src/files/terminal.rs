//! Text as the terminal of this process can take it.

use std::borrow::Cow;
use std::io::IsTerminal;

use crate::files::printable::ascii_lines;

/// Terminals with neither colours nor Unicode, by the beginnings of their names.
const PLAIN_TERMINALS: [&str; 4] = ["vt1", "vt2", "vt3", "ansi-m"];

/// Whether a terminal has neither colours nor Unicode, by the value of `TERM`.
#[must_use]
pub fn is_plain(term: &str) -> bool {
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
#[must_use]
pub fn is_utf8_terminal(term: &str, locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    let is_utf8 = locale.is_empty() || locale.contains("utf-8") || locale.contains("utf8");
    is_utf8 && !is_plain(term)
}

/// The first that is set of the variables of the locale.
#[must_use]
pub fn locale() -> String {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().map(variable);
    let mut set = names.filter(|value| !value.is_empty());
    set.next().unwrap_or_default()
}

/// Value of an environment variable; empty where it is not set.
#[must_use]
pub fn variable(name: &str) -> String {
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
