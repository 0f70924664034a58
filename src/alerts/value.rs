//! The value that a condition compares with.

use std::fmt;
use std::time::Duration;

use super::metric::ConditionMetric;
use crate::units::{self, Unit};

/// A value in the unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ConditionValue {
    /// Percent for ratios, so that it can be printed as it was written; otherwise in the unit.
    amount: f64,
    unit: Unit,
}

impl ConditionValue {
    /// Parses `50ms`, `20%`, `70MB/s`, `1000/s`, `5GiB`, `3`, as the unit of the metric demands. A
    /// number without a unit is accepted for counts, rates and bytes, and 0 for everything.
    ///
    /// # Errors
    /// If the text is none of the unit; the message says how to write one.
    pub(super) fn parse(text: &str, metric: ConditionMetric) -> Result<Self, String> {
        let unit = metric.unit();
        let number = |text: &str| {
            let number: f64 = text.parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some(number.abs())
        };
        let bytes = |text: &str| match units::parse_size(text) {
            Ok(bytes) => Ok(Some(bytes as f64)),
            Err(error) => Err(format!(
                "the value {text:?} {error} ({metric} takes {})",
                describe_values(unit)
            )),
        };
        let amount = match (number(text), unit) {
            (Some(0.0), _) => Some(0.0),
            (number, Unit::Count | Unit::Text) => number,
            (Some(number), Unit::PerSecond) => Some(number),
            (None, Unit::PerSecond) => units::parse_rate(text).ok(),
            (_, Unit::Ratio) => text.strip_suffix('%').and_then(|text| number(text.trim())),
            (None, Unit::Nanoseconds) => {
                let duration = units::parse_duration(text).ok();
                duration.map(|duration| duration.as_nanos() as f64)
            }
            (Some(_), Unit::Nanoseconds) => None,
            (_, Unit::Bytes | Unit::RequestBytes) | (Some(_), Unit::BytesPerSecond) => bytes(text)?,
            (None, Unit::BytesPerSecond) => match text.strip_suffix("/s") {
                Some(size) => bytes(size)?,
                None => None,
            },
        };
        let invalid = || {
            let values = describe_values(unit);
            format!("the value {text:?} is none of {metric}: write {values}")
        };
        Ok(Self {
            amount: amount.ok_or_else(invalid)?,
            unit,
        })
    }

    /// The value in the unit of the metric.
    pub(super) fn in_unit(self) -> f64 {
        match self.unit {
            Unit::Ratio => self.amount / 100.0,
            _ => self.amount,
        }
    }
}

/// The values of a unit, with an example.
fn describe_values(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => "a rate such as 1000/s",
        Unit::BytesPerSecond => "a throughput such as 70MB/s",
        Unit::Nanoseconds => "a time such as 500us, 50ms or 30s",
        Unit::Bytes | Unit::RequestBytes => "a size such as 500MB or 1GiB",
        Unit::Ratio => "a percentage such as 20%",
        Unit::Count | Unit::Text => "a number such as 10",
    }
}

/// Printed so that it can be parsed.
impl fmt::Display for ConditionValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount;
        // Whole, and up to 2^64: the value of its unit that was parsed.
        let whole = amount as u64;
        match self.unit {
            Unit::Ratio => write!(formatter, "{amount}%"),
            Unit::PerSecond if amount > 0.0 => write!(formatter, "{amount}/s"),
            Unit::Nanoseconds => {
                let duration = Duration::from_nanos(whole);
                formatter.write_str(&units::format_exact_duration(duration))
            }
            Unit::Bytes | Unit::RequestBytes => {
                formatter.write_str(&units::format_exact_size(whole))
            }
            Unit::BytesPerSecond => write!(formatter, "{}/s", units::format_exact_size(whole)),
            _ => write!(formatter, "{amount}"),
        }
    }
}
