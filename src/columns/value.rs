//! The value of a cell.

use std::time::Duration;

use crate::files::safe_text::SafeText;
use crate::units::Unit;

/// What a column has for a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// It was not measured.
    Unknown,
    /// There is none: no request completed that a mean could be of, or nothing is limited.
    Absent,
    /// A number in the unit of the column.
    Number(f64),
    /// A text.
    Text(SafeText),
}

impl Value {
    /// A mean time or size: there is none where the rate is 0.
    #[must_use]
    pub fn mean(mean: Option<f64>, rate: Option<f64>) -> Self {
        match (mean, rate) {
            (Some(mean), _) => Self::Number(mean),
            (None, Some(0.0)) => Self::Absent,
            (None, _) => Self::Unknown,
        }
    }

    /// The value, unless there is none.
    #[must_use]
    pub fn unless(is_absent: bool, value: impl Into<Self>) -> Self {
        if is_absent {
            Self::Absent
        } else {
            value.into()
        }
    }

    /// The number; `None` for everything else.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether there is neither a number nor a text.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unknown | Self::Absent)
    }

    /// The text of a cell, in the fixed unit of its column: `n/a` is unknown, `-` is none.
    #[must_use]
    pub fn cell(&self, unit: Unit) -> String {
        match self {
            Self::Unknown => "n/a".to_owned(),
            Self::Absent => "-".to_owned(),
            Self::Number(number) => unit.cell(*number),
            Self::Text(text) => text.as_str().to_owned(),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number as f64)
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Self::Number(time.as_nanos() as f64)
    }
}

impl From<SafeText> for Value {
    fn from(text: SafeText) -> Self {
        Self::Text(text)
    }
}

impl From<&SafeText> for Value {
    fn from(text: &SafeText) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}
