//! The code of a check in a document.

use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::catalog::CheckId;
use crate::files::safe_text;
use crate::files::safe_text::SafeText;

/// Which check it is, and of which nested benchmark. In a document this is one string, such as
/// `served-from-cache` or `random-read/rate-not-reached`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCode {
    /// The nested benchmark that the check concerns; `None` for the run itself.
    pub benchmark: Option<SafeText>,
    /// The check.
    pub check: CheckName,
}

/// A check by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckName {
    /// A check of this program.
    Known(CheckId),
    /// A code in a document of another version or another program.
    Other(SafeText),
}

impl CheckCode {
    /// The check, whether of the run itself or of a nested benchmark; `None` for an unknown code.
    #[must_use]
    pub fn id(&self) -> Option<CheckId> {
        match self.check {
            CheckName::Known(id) => Some(id),
            CheckName::Other(_) => None,
        }
    }

    /// The same check of a nested benchmark.
    #[must_use]
    pub fn nested_in(&self, outer: &str) -> Self {
        let benchmark = match &self.benchmark {
            Some(inner) => format!("{outer}/{inner}").into(),
            None => outer.into(),
        };
        Self {
            benchmark: Some(benchmark),
            check: self.check.clone(),
        }
    }
}

impl From<CheckId> for CheckCode {
    fn from(id: CheckId) -> Self {
        Self {
            benchmark: None,
            check: CheckName::Known(id),
        }
    }
}

impl From<&str> for CheckCode {
    fn from(code: &str) -> Self {
        let (benchmark, name) = match code.rsplit_once('/') {
            Some((benchmark, name)) => (Some(benchmark.into()), name),
            None => (None, code),
        };
        let check = CheckId::from_code(name)
            .map_or_else(|| CheckName::Other(name.into()), CheckName::Known);
        Self { benchmark, check }
    }
}

impl PartialEq<CheckId> for CheckCode {
    /// Whether it is this check of the run itself.
    fn eq(&self, id: &CheckId) -> bool {
        self.benchmark.is_none() && self.id() == Some(*id)
    }
}

impl fmt::Display for CheckCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(benchmark) = &self.benchmark {
            write!(formatter, "{benchmark}/")?;
        }
        match &self.check {
            CheckName::Known(id) => formatter.write_str(id.code()),
            CheckName::Other(name) => formatter.write_str(name),
        }
    }
}

impl Serialize for CheckCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CheckCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(safe_text::name(deserializer)?.as_str().into())
    }
}

#[cfg(test)]
impl JsonSchema for CheckCode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CheckCode".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_read_as_written() {
        for code in [
            "served-from-cache",
            "random-read/rate-not-reached",
            "a/b/two-fast",
            "of-another-program",
            "/",
            "",
        ] {
            assert_eq!(CheckCode::from(code).to_string(), code);
        }
        assert_eq!(
            CheckCode::from("served-from-cache"),
            CheckId::ServedFromCache
        );
        let nested = CheckCode::from(CheckId::RateNotReached).nested_in("random-read");
        assert_eq!(nested.to_string(), "random-read/rate-not-reached");
        assert_eq!(nested.id(), Some(CheckId::RateNotReached));
        assert!(nested != CheckId::RateNotReached);
        assert_eq!(CheckCode::from("of-another-program").id(), None);
    }

    #[test]
    fn code_from_a_file_is_escaped() {
        let read: CheckCode = serde_json::from_str(r#""a\u001b/b\u0007""#).unwrap();
        assert_eq!(read.to_string(), "a\\x1b/b\\x07");
    }
}
