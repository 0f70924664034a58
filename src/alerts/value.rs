//! The value that a condition compares with.

use std::fmt;
use std::time::Duration;

use super::error::ConditionProblem;
use super::metric::ConditionMetric;
use crate::session::document::MetricUnit;
use crate::units;

/// A value in the unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ConditionValue {
    /// Percent for ratios, so that it can be printed as it was written; otherwise in the unit.
    amount: f64,
    unit: MetricUnit,
}

impl ConditionValue {
    /// Parses `50ms`, `20%`, `70MB/s`, `1000/s`, `5GiB`, `3`, as the unit of the metric demands. A
    /// number without a unit is accepted for counts, rates and bytes, and 0 for everything.
    pub(super) fn parse(text: &str, metric: ConditionMetric) -> Result<Self, ConditionProblem> {
        let unit = metric.unit();
        let invalid = || ConditionProblem::InvalidValue {
            metric,
            value: text.to_owned(),
        };
        let amount = match (number(text), unit) {
            (Some(0.0), _) => 0.0,
            (Some(number), MetricUnit::Count | MetricUnit::PerSecond) => number,
            (None, MetricUnit::PerSecond) => units::parse_rate(text).map_err(|_| invalid())?,
            (None, MetricUnit::Ratio) => text
                .strip_suffix('%')
                .and_then(|number_text| number(number_text.trim()))
                .ok_or_else(invalid)?,
            (None, MetricUnit::Nanoseconds) => units::parse_duration(text)
                .map(|duration| duration.as_nanos() as f64)
                .map_err(|_| invalid())?,
            (_, MetricUnit::Bytes) | (Some(_), MetricUnit::BytesPerSecond) => size(text, metric)?,
            (None, MetricUnit::BytesPerSecond) => {
                size(text.strip_suffix("/s").ok_or_else(invalid)?, metric)?
            }
            _ => return Err(invalid()),
        };
        Ok(Self { amount, unit })
    }

    /// The value in the unit of the metric.
    pub(super) fn in_unit(self) -> f64 {
        match self.unit {
            MetricUnit::Ratio => self.amount / 100.0,
            _ => self.amount,
        }
    }
}

/// A number that is neither negative, infinite nor NaN.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number.abs())
}

/// The message of a size says how to write an ambiguous unit.
fn size(text: &str, metric: ConditionMetric) -> Result<f64, ConditionProblem> {
    match units::parse_size(text) {
        Ok(bytes) => Ok(bytes as f64),
        Err(error) => Err(ConditionProblem::InvalidSize {
            metric,
            value: text.to_owned(),
            error,
        }),
    }
}

/// Printed so that it can be parsed.
impl fmt::Display for ConditionValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount;
        // Whole, and up to 2^64: the value of its unit that was parsed.
        let whole = amount as u64;
        match self.unit {
            MetricUnit::Ratio => write!(formatter, "{amount}%"),
            MetricUnit::PerSecond if amount > 0.0 => write!(formatter, "{amount}/s"),
            MetricUnit::Nanoseconds => {
                let duration = Duration::from_nanos(whole);
                formatter.write_str(&units::format_exact_duration(duration))
            }
            MetricUnit::Bytes => formatter.write_str(&units::format_exact_size(whole)),
            MetricUnit::BytesPerSecond => {
                write!(formatter, "{}/s", units::format_exact_size(whole))
            }
            _ => write!(formatter, "{amount}"),
        }
    }
}
