//! Text that is safe to display on a terminal, as a type.
//!
//! Names of files, processes, devices and users, and all strings of a recording or a session, come
//! from outside. They are held as [`SafeText`] from the moment they enter the program, so that a
//! type for display cannot hold terminal control sequences.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use super::printable::{printable_bytes, printable_lines, printable_str};

/// Maximum length in characters of a name read from a file: of a metric, a column, a benchmark.
const LONGEST_NAME: usize = 200;

/// One line of text without control characters, line breaks, invisible characters, bidirectional
/// controls and long sequences of combining marks. Each of them is escaped in the form `\n`, `\x1b`,
/// `\u{202e}`. Every constructor escapes its input; text that is already safe is unchanged.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct SafeText(String);

impl SafeText {
    /// The empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Bytes from the kernel: invalid UTF-8 is escaped in the form `\xff`.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(printable_bytes(bytes))
    }

    /// A path, which may contain any bytes.
    #[must_use]
    pub fn from_path(path: &Path) -> Self {
        Self::from_bytes(path.as_os_str().as_encoded_bytes())
    }

    /// Truncates it to that many characters; truncated text ends in `...`.
    #[must_use]
    pub fn cut(self, characters: usize) -> Self {
        if self.0.chars().nth(characters).is_none() {
            return self;
        }
        let kept: String = self.0.chars().take(characters.saturating_sub(3)).collect();
        Self(kept + "...")
    }

    /// The text before it was escaped; `None` where that is not known: it contains a backslash, with
    /// which every escape begins.
    #[must_use]
    pub fn original(&self) -> Option<&str> {
        (!self.0.contains('\\')).then_some(&self.0)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads a name, for `#[serde(deserialize_with = "name")]`. One longer than 200 characters is cut and
/// ends in `...`, because every row of a table is as wide as its longest name.
///
/// # Errors
/// When it is not a string.
pub fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SafeText, D::Error> {
    SafeText::deserialize(deserializer).map(|text| text.cut(LONGEST_NAME))
}

/// A name truncated as by [`name`], for elements of lists and keys of maps.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
pub struct Name(#[serde(deserialize_with = "name")] pub SafeText);

/// Several lines of text that is safe to display: line breaks are kept, everything else is escaped
/// as in [`SafeText`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct SafeLines(String);

impl From<String> for SafeText {
    fn from(text: String) -> Self {
        match printable_str(&text) {
            Cow::Owned(escaped) => Self(escaped),
            Cow::Borrowed(_) => Self(text),
        }
    }
}

impl From<String> for SafeLines {
    fn from(text: String) -> Self {
        Self(printable_lines(&text).into_owned())
    }
}

macro_rules! safe_text_from {
    ($($borrowed:ty),*) => {$(
        impl From<$borrowed> for SafeText {
            fn from(text: $borrowed) -> Self {
                Self(printable_str(&text).into_owned())
            }
        }
    )*};
}

safe_text_from!(&str, &String, &Arc<str>, Cow<'_, str>);

impl From<SafeText> for String {
    fn from(text: SafeText) -> Self {
        text.0
    }
}

impl<'t> From<SafeText> for Cow<'t, str> {
    fn from(text: SafeText) -> Self {
        Cow::Owned(text.0)
    }
}

impl From<&SafeText> for String {
    fn from(text: &SafeText) -> Self {
        text.0.clone()
    }
}

impl Borrow<str> for SafeText {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Deref for SafeText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Deref for SafeLines {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for SafeText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

macro_rules! equal_to {
    ($($other:ty),*) => {$(
        impl PartialEq<$other> for SafeText {
            fn eq(&self, other: &$other) -> bool {
                let other: &str = other.as_ref();
                self.0 == *other
            }
        }

        impl PartialEq<SafeText> for $other {
            fn eq(&self, other: &SafeText) -> bool {
                other == self
            }
        }
    )*};
}

equal_to!(str, &str, String);

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use super::*;

    macro_rules! string_schema {
        ($($text:ident),*) => {$(
            impl JsonSchema for $text {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    stringify!($text).into()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    String::json_schema(generator)
                }
            }
        )*};
    }

    string_schema!(SafeText, SafeLines);

    #[test]
    fn text_read_from_json_is_escaped_and_written_as_a_plain_string() {
        for (json, expected) in [
            (
                r#""a\u001b]52;c;\u0007\n\u202e\u009b""#,
                "a\\x1b]52;c;\\x07\\n\\u{202e}\\u{9b}",
            ),
            (r#""web-07  größe""#, "web-07  größe"),
        ] {
            let read: SafeText = serde_json::from_str(json).unwrap();
            assert_eq!(read, expected);
            let written = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<SafeText>(&written).unwrap(), read);
        }
        let lines: SafeLines = serde_json::from_str(r#""a\u001b\nb""#).unwrap();
        assert_eq!(lines.lines().collect::<Vec<_>>(), ["a\\x1b", "b"]);
    }

    #[test]
    fn long_name_is_cut() {
        #[derive(Deserialize)]
        struct Read(#[serde(deserialize_with = "name")] SafeText);
        let long = format!("\"{}\"", "é".repeat(1000));
        let Read(read) = serde_json::from_str(&long).unwrap();
        assert!(read.chars().count() == LONGEST_NAME && read.ends_with("é..."));
        assert_eq!(SafeText::from("abcd").cut(4), "abcd");
    }

    #[test]
    fn path_text_shows_every_byte() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff\x1b[2J\tb"));
        assert_eq!(SafeText::from_path(path), "/a\\xff\\x1b[2J\\tb");
        assert_eq!(SafeText::from_path(path).original(), None);
    }
}
