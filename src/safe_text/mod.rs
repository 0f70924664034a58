//! Text that is safe to display on a terminal.
//!
//! Names of files, processes, devices and users, and all strings of a recording or a session, come
//! from outside. They are held as [`SafeText`] from the moment they enter the program, so that a
//! type for display cannot hold terminal control sequences.

pub mod json;
pub mod printable;

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::printable::{printable_bytes, printable_lines, printable_name, printable_str};

/// Maximum length in characters of a name read from a file: of a metric, a column, a benchmark.
const LONGEST_NAME: usize = 200;
/// Maximum length in bytes of a text read from a file; longer text is cut and ends in `...`.
const MAX_READ_BYTES: usize = 64 << 10;

/// One line of text without control characters, line breaks, invisible characters, bidirectional
/// controls, long sequences of combining marks, or, in a name, blanks in succession. Each of them is escaped in the
/// form `\n`, `\x1b`, `\u{202e}`. Every constructor escapes its input; text that is already safe is unchanged.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    /// A line of this program, in which names are escaped, or quoted for a shell. Blanks in succession are kept:
    /// they are columns, or, in a document of an earlier version, in a name that is quoted, and with escapes
    /// the command would name another file.
    #[must_use]
    pub fn from_line(line: &str) -> Self {
        Self(printable_str(line).into_owned())
    }

    /// A path, which may contain any bytes.
    #[must_use]
    pub fn from_path(path: &std::path::Path) -> Self {
        Self::from_bytes(path.as_os_str().as_encoded_bytes())
    }

    /// Truncates it to that many characters; truncated text ends in `...`.
    #[must_use]
    pub fn cut(self, characters: usize) -> Self {
        if self.0.len() <= characters {
            return self;
        }
        match self.0.char_indices().nth(characters) {
            None => self,
            Some(_) => {
                let kept: String = self.0.chars().take(characters.saturating_sub(3)).collect();
                format!("{kept}...").into()
            }
        }
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

impl Deref for SafeText {
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

impl From<&str> for SafeText {
    fn from(text: &str) -> Self {
        Self(printable_name(text).into_owned())
    }
}

impl From<String> for SafeText {
    fn from(text: String) -> Self {
        match printable_name(&text) {
            Cow::Owned(escaped) => Self(escaped),
            Cow::Borrowed(_) => Self(text),
        }
    }
}

impl From<&String> for SafeText {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Cow<'_, str>> for SafeText {
    fn from(text: Cow<'_, str>) -> Self {
        text.into_owned().into()
    }
}

impl From<&Arc<str>> for SafeText {
    fn from(text: &Arc<str>) -> Self {
        (&**text).into()
    }
}

impl From<&Self> for SafeText {
    fn from(text: &Self) -> Self {
        text.clone()
    }
}

impl From<SafeText> for String {
    fn from(text: SafeText) -> Self {
        text.0
    }
}

impl From<&SafeText> for String {
    fn from(text: &SafeText) -> Self {
        text.0.clone()
    }
}

impl<'t> From<SafeText> for Cow<'t, str> {
    fn from(text: SafeText) -> Self {
        Cow::Owned(text.0)
    }
}

impl<'t> From<&'t SafeText> for Cow<'t, str> {
    fn from(text: &'t SafeText) -> Self {
        Cow::Borrowed(&text.0)
    }
}

impl AsRef<str> for SafeText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SafeText {
    fn borrow(&self) -> &str {
        &self.0
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

impl Serialize for SafeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SafeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ReadText)
    }
}

/// Escapes text during deserialisation and truncates it if it is too long.
struct ReadText;

impl Visitor<'_> for ReadText {
    type Value = SafeText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SafeText, E> {
        if text.len() <= MAX_READ_BYTES {
            return Ok(text.into());
        }
        let fits = |end: &usize| text.is_char_boundary(*end);
        let end = (0..=MAX_READ_BYTES - 3).rev().find(fits).unwrap_or(0);
        Ok(format!("{}...", &text[..end]).into())
    }
}

/// Deserialises a line of this program, as [`SafeText::from_line`], for
/// `#[serde(deserialize_with = "safe_text::line")]`.
///
/// # Errors
/// When it is not a string.
pub fn line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SafeText, D::Error> {
    let text = SafeLines::deserialize(deserializer)?;
    Ok(SafeText::from_line(&text))
}

/// Deserialises a list of at most `MOST` lines of this program.
///
/// # Errors
/// When there are more, or when one is not a string.
pub fn lines<'de, D, const MOST: usize>(deserializer: D) -> Result<Vec<SafeText>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Line(#[serde(deserialize_with = "line")] SafeText);
    let lines: Vec<Line> = crate::bounded::bounded_list::<_, _, MOST>(deserializer)?;
    Ok(lines.into_iter().map(|line| line.0).collect())
}

/// Deserialises a name, for `#[serde(deserialize_with = "safe_text::name")]`. A name longer than
/// 200 characters is cut and ends in `...`, because every row of a table is as wide as its longest
/// name.
///
/// # Errors
/// When it is not a string.
pub fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SafeText, D::Error> {
    let text = SafeText::deserialize(deserializer)?;
    Ok(text.cut(LONGEST_NAME))
}

/// A name truncated as by [`name`], for elements of lists and keys of maps.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
pub struct Name(#[serde(deserialize_with = "name")] pub SafeText);

/// Deserialises a list of at most `MOST` names.
///
/// # Errors
/// When there are more, or when one is not a string.
pub fn names<'de, D, const MOST: usize>(deserializer: D) -> Result<Vec<SafeText>, D::Error>
where
    D: Deserializer<'de>,
{
    let names: Vec<Name> = crate::bounded::bounded_list::<_, _, MOST>(deserializer)?;
    Ok(names.into_iter().map(|name| name.0).collect())
}

#[cfg(test)]
impl JsonSchema for SafeText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SafeText".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Several lines of text that is safe to display: line breaks are kept, everything else is escaped
/// as in [`SafeText`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafeLines(String);

impl SafeLines {
    /// The lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.lines()
    }
}

impl From<String> for SafeLines {
    fn from(text: String) -> Self {
        Self(printable_lines(&text).into_owned())
    }
}

impl Deref for SafeLines {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Serialize for SafeLines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SafeLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // No command is as long as this.
        let end = (0..=MAX_READ_BYTES.min(text.len()))
            .rev()
            .find(|end| text.is_char_boundary(*end));
        Ok(text[..end.unwrap_or(0)].to_owned().into())
    }
}

#[cfg(test)]
impl JsonSchema for SafeLines {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SafeLines".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_read_from_json_is_escaped_and_written_as_a_plain_string() {
        let read: SafeText =
            serde_json::from_str(r#""a\u001b]52;c;\u0007\n\u202e\u009b""#).unwrap();
        assert_eq!(read, "a\\x1b]52;c;\\x07\\n\\u{202e}\\u{9b}");
        let plain: SafeText = serde_json::from_str(r#""web-07 größe""#).unwrap();
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#""web-07 größe""#);
    }

    #[test]
    fn line_keeps_its_blanks_and_no_control_character() {
        #[derive(Deserialize)]
        struct Read(#[serde(deserialize_with = "lines::<_, 2>")] Vec<SafeText>);
        let Read(read) =
            serde_json::from_str(r#"["  do   a", "a\u001b]52;c;\n  b\u202e"]"#).unwrap();
        assert_eq!(read, ["  do   a", "a\\x1b]52;c;\\n  b\\u{202e}"]);
        assert!(serde_json::from_str::<Read>(r#"["", "", ""]"#).is_err());
        for line in &read {
            assert_eq!(SafeText::from_line(line), *line);
        }
    }

    #[test]
    fn oversized_text_is_truncated_at_character_boundary() {
        let long = "é".repeat(MAX_READ_BYTES);
        let read: SafeText = serde_json::from_str(&format!("\"{long}\"")).unwrap();
        assert!(read.len() <= MAX_READ_BYTES && read.ends_with("é..."));
    }

    #[test]
    fn path_text_shows_every_byte() {
        use std::os::unix::ffi::OsStrExt;
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(b"/a\xff\x1b[2J\tb"));
        assert_eq!(SafeText::from_path(path), "/a\\xff\\x1b[2J\\tb");
    }
}
