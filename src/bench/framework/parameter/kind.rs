//! Types and bounds of parameters, and how their values are written.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use super::value::{ParameterValue, SizeRange, WindowPosition};
use crate::text;
use crate::units;

/// Type and bounds of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterKind {
    /// A size such as `4KiB`.
    Size {
        /// Minimum in bytes.
        min: u64,
    },
    /// A size such as `4KiB`, or a range such as `4KiB-64KiB`.
    SizeOrRange {
        /// Minimum in bytes.
        min: u64,
    },
    /// A percentage such as `70%`.
    Fraction,
    /// A time to wait, such as `10s`; a bare number is seconds.
    Duration,
    /// A latency such as `5ms`, always with its unit.
    Latency,
    /// A non-zero time such as `10s`, for run times; a bare number is seconds.
    NonZeroDuration,
    /// An integer within inclusive bounds.
    Count {
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// A decimal number within inclusive bounds.
    Number {
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// A rate such as `1000/s`.
    Rate,
    /// A position such as `10%` or `5GB`.
    Position,
    /// One of these keywords.
    Choice(&'static [&'static str]),
    /// One of these keywords, or a percentage.
    ChoiceOrPercent(&'static [&'static str]),
}

/// A text that is not a valid value of its parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{name} {text:?}: {reason}")]
pub struct ParameterError {
    /// Name of the parameter.
    pub name: &'static str,
    /// The rejected text.
    pub text: String,
    /// The problem and the expected syntax.
    pub reason: String,
}

impl ParameterKind {
    /// Parses a value as written by the user.
    ///
    /// # Errors
    /// Why the text is malformed, ambiguous or out of bounds, with the expected syntax.
    pub fn parse(self, text: &str) -> Result<ParameterValue, String> {
        match self {
            Self::Size { min } => parse_size(text, min).map(ParameterValue::Size),
            Self::SizeOrRange { min } => parse_size_range(text, min),
            Self::Fraction => parse_fraction(text).map(ParameterValue::Fraction),
            Self::Duration => parsed(units::parse_time(text)).map(ParameterValue::Duration),
            Self::Latency => parsed(units::parse_duration(text)).map(ParameterValue::Duration),
            Self::NonZeroDuration => match parsed(units::parse_time(text))? {
                duration if duration.is_zero() => Err("must be longer than 0s, such as 10s".into()),
                duration => Ok(ParameterValue::Duration(duration)),
            },
            Self::Count { min, max } => {
                parse_number(text, min..=max, "an integer").map(ParameterValue::Count)
            }
            Self::Number { min, max } => {
                parse_number(text, min..=max, "a number").map(ParameterValue::Number)
            }
            Self::Rate => parsed(units::parse_rate(text)).map(ParameterValue::Rate),
            Self::Position if text.ends_with('%') => parse_fraction(text)
                .map(|fraction| WindowPosition::Percent(fraction * 100.0))
                .map(ParameterValue::Position),
            Self::Position => parse_size(text, 0)
                .map(WindowPosition::Bytes)
                .map(ParameterValue::Position),
            Self::Choice(words) => parse_choice(text, words, ""),
            Self::ChoiceOrPercent(words) => {
                match text.strip_suffix('%').unwrap_or(text).parse::<u64>() {
                    Ok(percent @ 0..=100) => Ok(ParameterValue::Percentage(percent as u8)),
                    Ok(_) => Err(NO_PERCENTAGE.into()),
                    Err(_) => parse_choice(text, words, ", or a percentage"),
                }
            }
        }
    }

    /// The value with this [stored form](ParameterValue::to_json); `None` if it has another type.
    #[must_use]
    pub fn of_json(self, stored: &Value) -> Option<ParameterValue> {
        let nanoseconds = || stored.as_u64().map(Duration::from_nanos);
        match self {
            _ if stored.is_null() => Some(ParameterValue::Unset),
            Self::SizeOrRange { .. } if stored.is_array() => {
                let [min, max] = [stored.get(0)?.as_u64()?, stored.get(1)?.as_u64()?];
                Some(ParameterValue::SizeRange(SizeRange { min, max }))
            }
            Self::Size { .. } | Self::SizeOrRange { .. } => {
                stored.as_u64().map(ParameterValue::Size)
            }
            Self::Fraction => stored.as_f64().map(ParameterValue::Fraction),
            Self::Duration | Self::Latency | Self::NonZeroDuration => {
                nanoseconds().map(ParameterValue::Duration)
            }
            Self::Count { .. } => stored.as_u64().map(ParameterValue::Count),
            Self::Number { .. } => stored.as_f64().map(ParameterValue::Number),
            Self::Rate => stored.as_f64().map(ParameterValue::Rate),
            Self::Position if stored.is_u64() => {
                let position = WindowPosition::Bytes(stored.as_u64()?);
                Some(ParameterValue::Position(position))
            }
            Self::Position | Self::Choice(_) | Self::ChoiceOrPercent(_) => {
                self.parse(stored.as_str()?).ok()
            }
        }
    }

    /// The keywords among which the user chooses; `None` where there are none.
    #[must_use]
    pub fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Choice(words) | Self::ChoiceOrPercent(words) => Some(words),
            _ => None,
        }
    }
}

const NO_PERCENTAGE: &str = "must be from 0% to 100%";

fn parsed<T>(value: Result<T, units::UnitError>) -> Result<T, String> {
    value.map_err(|error| error.to_string())
}

fn parse_size(text: &str, min: u64) -> Result<u64, String> {
    let bytes = parsed(units::parse_size(text))?;
    if bytes < min {
        return Err(format!(
            "must be at least {}",
            units::format_exact_size(min)
        ));
    }
    Ok(bytes)
}

/// Parses `4KiB` or `4KiB-64KiB`.
fn parse_size_range(text: &str, least: u64) -> Result<ParameterValue, String> {
    let Some((from, to)) = text.split_once('-').filter(|(from, _)| !from.is_empty()) else {
        return parse_size(text, least).map(ParameterValue::Size);
    };
    let (min, max) = (parse_size(from, least)?, parse_size(to, least)?);
    if min > max {
        return Err("write the smaller size first, such as 4KiB-64KiB".into());
    }
    Ok(ParameterValue::SizeRange(SizeRange { min, max }))
}

/// Parses a number within inclusive bounds.
fn parse_number<T>(text: &str, bounds: RangeInclusive<T>, what: &str) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let number = text.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| format!("write {what} from {} to {}", bounds.start(), bounds.end()))
}

/// Parses `70%` as a fraction.
fn parse_fraction(text: &str) -> Result<f64, String> {
    let Some(percent) = text.strip_suffix('%') else {
        return Err("write a percentage such as 70%".into());
    };
    let percent = percent.trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| NO_PERCENTAGE.into())
}

fn parse_choice(
    text: &str,
    words: &'static [&'static str],
    or: &str,
) -> Result<ParameterValue, String> {
    let mut known = words.iter();
    let word = known.find(|word| word.eq_ignore_ascii_case(text));
    word.map(|word| ParameterValue::Choice(word))
        .ok_or_else(|| {
            let suggestion = text::suggestion(text, words.iter().copied());
            format!("write one of {}{or}{suggestion}", words.join(", "))
        })
}
