//! Types and bounds of parameters, and how their values are written.

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

/// Why a text is not a valid value, and the expected syntax.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidValue {
    /// A size, duration or rate is malformed.
    #[error(transparent)]
    Unit(#[from] units::UnitError),
    /// A size is below the minimum.
    #[error("must be at least {}", units::format_exact_size(*.min))]
    SizeBelowMinimum {
        /// Minimum in bytes.
        min: u64,
    },
    /// A range begins with the larger size.
    #[error("write the smaller size first, such as 4KiB-64KiB")]
    ReversedRange,
    /// A run time is zero.
    #[error("must be longer than 0s, such as 10s")]
    ZeroDuration,
    /// Not an integer within the bounds.
    #[error("write an integer from {min} to {max}")]
    Count {
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// Not a number within the bounds.
    #[error("write a number from {min} to {max}")]
    Number {
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// Not a percentage.
    #[error("write a percentage such as 70%")]
    Percentage,
    /// A percentage above 100 or below 0.
    #[error("must be from 0% to 100%")]
    PercentageOutOfRange,
    /// None of the keywords.
    #[error(
        "write one of {}{}{}", .words.join(", "),
        if *.or_percentage { ", or a percentage" } else { "" },
        text::suggestion(.text, .words.iter().copied())
    )]
    UnknownWord {
        /// The rejected text.
        text: String,
        /// The keywords.
        words: &'static [&'static str],
        /// Whether a percentage is accepted too.
        or_percentage: bool,
    },
}

/// A text that is not a valid value of its parameter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("--{name} {text:?}: {reason}")]
pub struct ParameterError {
    /// Name of the parameter.
    pub name: &'static str,
    /// The rejected text.
    pub text: String,
    /// The problem and the expected syntax.
    pub reason: InvalidValue,
}

impl ParameterKind {
    /// Parses a value as written by the user.
    ///
    /// # Errors
    /// When the text is malformed, ambiguous or out of bounds.
    pub fn parse(self, text: &str) -> Result<ParameterValue, InvalidValue> {
        match self {
            Self::Size { min } => parse_size(text, min).map(ParameterValue::Size),
            Self::SizeOrRange { min } => parse_size_range(text, min),
            Self::Fraction => parse_fraction(text).map(ParameterValue::Fraction),
            Self::Duration => Ok(ParameterValue::Duration(units::parse_time(text)?)),
            Self::Latency => Ok(ParameterValue::Duration(units::parse_duration(text)?)),
            Self::NonZeroDuration => match units::parse_time(text)? {
                duration if duration.is_zero() => Err(InvalidValue::ZeroDuration),
                duration => Ok(ParameterValue::Duration(duration)),
            },
            Self::Count { min, max } => text
                .parse()
                .ok()
                .filter(|count| (min..=max).contains(count))
                .map(ParameterValue::Count)
                .ok_or(InvalidValue::Count { min, max }),
            Self::Number { min, max } => text
                .parse()
                .ok()
                .filter(|number| (min..=max).contains(number))
                .map(ParameterValue::Number)
                .ok_or(InvalidValue::Number { min, max }),
            Self::Rate => Ok(ParameterValue::Rate(units::parse_rate(text)?)),
            Self::Position => parse_position(text).map(ParameterValue::Position),
            Self::Choice(words) => parse_choice(text, words, false),
            Self::ChoiceOrPercent(words) => {
                match text.strip_suffix('%').unwrap_or(text).parse::<u64>() {
                    Ok(percent) => u8::try_from(percent)
                        .ok()
                        .filter(|percent| *percent <= 100)
                        .map(ParameterValue::Percentage)
                        .ok_or(InvalidValue::PercentageOutOfRange),
                    Err(_) => parse_choice(text, words, true),
                }
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

fn parse_size(text: &str, min: u64) -> Result<u64, InvalidValue> {
    match units::parse_size(text)? {
        bytes if bytes < min => Err(InvalidValue::SizeBelowMinimum { min }),
        bytes => Ok(bytes),
    }
}

/// Parses `4KiB` or `4KiB-64KiB`.
fn parse_size_range(text: &str, min: u64) -> Result<ParameterValue, InvalidValue> {
    let Some((from, to)) = text.split_once('-').filter(|(from, _)| !from.is_empty()) else {
        return parse_size(text, min).map(ParameterValue::Size);
    };
    let (from, to) = (units::parse_size(from)?, units::parse_size(to)?);
    if from > to {
        return Err(InvalidValue::ReversedRange);
    }
    if from < min {
        return Err(InvalidValue::SizeBelowMinimum { min });
    }
    let range = SizeRange { min: from, max: to };
    Ok(ParameterValue::SizeRange(range))
}

/// Parses `70%` as a fraction.
fn parse_fraction(text: &str) -> Result<f64, InvalidValue> {
    let percent = text.strip_suffix('%').map(str::trim).map(str::parse::<f64>);
    match percent {
        Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        Some(_) => Err(InvalidValue::PercentageOutOfRange),
        None => Err(InvalidValue::Percentage),
    }
}

fn parse_choice(
    text: &str,
    words: &'static [&'static str],
    or_percentage: bool,
) -> Result<ParameterValue, InvalidValue> {
    words
        .iter()
        .find(|word| word.eq_ignore_ascii_case(text))
        .map(|word| ParameterValue::Choice(word))
        .ok_or_else(|| InvalidValue::UnknownWord {
            text: text.to_owned(),
            words,
            or_percentage,
        })
}

fn parse_position(text: &str) -> Result<WindowPosition, InvalidValue> {
    if text.ends_with('%') {
        return parse_fraction(text).map(|fraction| WindowPosition::Percent(fraction * 100.0));
    }
    Ok(WindowPosition::Bytes(units::parse_size(text)?))
}
