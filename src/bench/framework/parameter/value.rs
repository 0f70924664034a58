//! Values of parameters.

use std::time::Duration;

use crate::session::document::MetricUnit;
use crate::units;

/// A position in the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WindowPosition {
    /// Percentage of the target's size, 0 to 100.
    Percent(f64),
    /// Offset from the beginning in bytes.
    Bytes(u64),
}

impl WindowPosition {
    /// The byte offset on a target of this size, clamped to its end.
    #[must_use]
    pub fn offset_in(self, size: u64) -> u64 {
        match self {
            Self::Percent(percent) => (size as f64 * percent / 100.0) as u64,
            Self::Bytes(bytes) => bytes,
        }
        .min(size)
    }
}

/// An inclusive range of sizes in bytes; both are equal for a single size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeRange {
    /// Smallest size.
    pub min: u64,
    /// Largest size.
    pub max: u64,
}

/// Value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    /// Size in bytes.
    Size(u64),
    /// Range of sizes.
    SizeRange(SizeRange),
    /// Fraction, 0 to 1.
    Fraction(f64),
    /// Duration.
    Duration(Duration),
    /// Integer.
    Count(u64),
    /// Decimal number.
    Number(f64),
    /// Events per second.
    Rate(f64),
    /// Position in the target.
    Position(WindowPosition),
    /// One of several keywords.
    Choice(&'static str),
    /// A percentage in place of a keyword.
    Percentage(u8),
    /// Text that the owner of the parameter interprets.
    Text(String),
    /// Explicitly unset: no limit, or the benchmark decides.
    Unset,
}

impl ParameterValue {
    /// Unit of [`to_json`](Self::to_json), if it has one.
    #[must_use]
    pub fn unit(&self) -> Option<MetricUnit> {
        match self {
            Self::Size(_) | Self::Position(WindowPosition::Bytes(_)) => Some(MetricUnit::Bytes),
            Self::Duration(_) => Some(MetricUnit::Nanoseconds),
            Self::Rate(_) => Some(MetricUnit::PerSecond),
            _ => None,
        }
    }

    /// Stored form: bytes, nanoseconds, events per second, or a keyword.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Size(bytes) => (*bytes).into(),
            Self::SizeRange(range) => vec![range.min, range.max].into(),
            Self::Duration(duration) => u64::try_from(duration.as_nanos())
                .unwrap_or(u64::MAX)
                .into(),
            Self::Count(count) => (*count).into(),
            Self::Number(number) | Self::Rate(number) | Self::Fraction(number) => (*number).into(),
            Self::Position(WindowPosition::Bytes(bytes)) => (*bytes).into(),
            Self::Position(WindowPosition::Percent(percent)) => format!("{percent}%").into(),
            Self::Choice(word) => (*word).into(),
            Self::Percentage(percent) => percent.to_string().into(),
            Self::Text(text) => text.as_str().into(),
            Self::Unset => serde_json::Value::Null,
        }
    }
}

impl std::fmt::Display for ParameterValue {
    /// Command-line form; empty if unset.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Size(bytes) | Self::Position(WindowPosition::Bytes(bytes)) => {
                f.write_str(&units::format_exact_size(*bytes))
            }
            Self::SizeRange(range) => {
                write!(
                    f,
                    "{}-{}",
                    units::format_exact_size(range.min),
                    units::format_exact_size(range.max)
                )
            }
            // Rounded, so that 0.7 * 100 is printed as 70.
            Self::Fraction(fraction) => write!(f, "{}%", (fraction * 1e8).round() / 1e6),
            Self::Duration(duration) => f.write_str(&units::format_exact_duration(*duration)),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Rate(rate) => write!(f, "{rate}/s"),
            Self::Position(WindowPosition::Percent(percent)) => write!(f, "{percent}%"),
            Self::Choice(word) => f.write_str(word),
            Self::Percentage(percent) => write!(f, "{percent}"),
            Self::Text(text) => f.write_str(text),
            Self::Unset => Ok(()),
        }
    }
}
