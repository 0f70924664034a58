//! JSON that is safe to display on a terminal.
//!
//! JSON permits raw DEL, C1 controls, bidirectional controls and invisible characters within
//! strings. Here they are escaped as `\uXXXX`, which is equivalent for every JSON parser. All other
//! bytes are those of serde_json.

use std::borrow::Cow;

use serde::Serialize;

use super::printable::escape_unprintable;

/// Serialises a value on one line.
///
/// # Errors
/// As for [`serde_json::to_string`].
pub fn to_string(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|json| escape_controls(&json).into_owned())
}

/// Serialises a value on several lines.
///
/// # Errors
/// As for [`serde_json::to_string_pretty`].
pub fn to_string_pretty(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|json| escape_controls(&json).into_owned())
}

/// Serialised JSON without control characters other than line ends outside of its strings:
/// everything else that must be escaped is in a string.
#[must_use]
pub fn escape_controls(json: &str) -> Cow<'_, str> {
    escape_unprintable(json, true, |safe, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            safe.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::printable::{is_printable, printable_lines};

    #[test]
    fn strings_with_controls_are_written_as_unicode_escapes() {
        let json = to_string(&"a\u{1b}\u{9b}2J\u{202e}\u{e0041}é").unwrap();
        assert_eq!(json, r#""a\u001b\u009b2J\u202e\udb40\udc41é""#);
    }

    proptest! {
        #[test]
        fn escaped_json_is_equivalent_and_free_of_controls(
            text in "(\\PC|\\p{Cc}|[\u{200b}-\u{206f}\u{fe00}-\u{fe0f}\u{e0000}-\u{e01ff}\u{300}-\u{303}]){0,30}"
        ) {
            for json in [to_string(&[&text]).unwrap(), to_string_pretty(&[&text]).unwrap()] {
                prop_assert!(json.chars().all(|c| c == '\n' || is_printable(c)), "{json}");
                // The terminal escaping leaves it unchanged.
                prop_assert_eq!(printable_lines(&json), json.as_str());
                let again: Vec<String> = serde_json::from_str(&json).unwrap();
                prop_assert_eq!(&again[0], &text);
            }
        }
    }
}
