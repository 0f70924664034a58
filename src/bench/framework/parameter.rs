//! Benchmark parameters as data, from which the launcher's form, the command line, the forecast and
//! the JSON are made.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::drive::Target;
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

/// Value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    /// Size in bytes.
    Size(u64),
    /// Inclusive range of sizes in bytes.
    SizeRange(u64, u64),
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
    Choice(String),
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
            Self::SizeRange(from, to) => vec![*from, *to].into(),
            Self::Duration(duration) => u64::try_from(duration.as_nanos())
                .unwrap_or(u64::MAX)
                .into(),
            Self::Count(count) => (*count).into(),
            Self::Number(number) | Self::Rate(number) | Self::Fraction(number) => (*number).into(),
            Self::Position(WindowPosition::Bytes(bytes)) => (*bytes).into(),
            Self::Position(WindowPosition::Percent(percent)) => format!("{percent}%").into(),
            Self::Choice(word) => word.as_str().into(),
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
            Self::SizeRange(from, to) => {
                write!(
                    f,
                    "{}-{}",
                    units::format_exact_size(*from),
                    units::format_exact_size(*to)
                )
            }
            // Rounded, so that 0.7 * 100 is printed as 70.
            Self::Fraction(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
            Self::Duration(duration) => f.write_str(&units::format_exact_duration(*duration)),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Rate(rate) => write!(f, "{rate}/s"),
            Self::Position(WindowPosition::Percent(percent)) => write!(f, "{percent}%"),
            Self::Choice(word) => f.write_str(word),
            Self::Unset => Ok(()),
        }
    }
}

/// Type and bounds of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterKind {
    /// A size such as `4KiB`.
    Size {
        /// Minimum in bytes.
        least: u64,
    },
    /// A size such as `4KiB`, or a range such as `4KiB-64KiB`.
    SizeOrRange {
        /// Minimum in bytes.
        least: u64,
    },
    /// A percentage such as `70%`.
    Fraction,
    /// A duration such as `10s`.
    Duration,
    /// A non-zero duration such as `10s`, for run times.
    NonZeroDuration,
    /// An integer within inclusive bounds.
    Count {
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// A decimal number within inclusive bounds.
    Number {
        /// Minimum.
        least: f64,
        /// Maximum.
        most: f64,
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

/// Specification of a benchmark parameter.
#[derive(Debug, Clone, Copy)]
pub struct ParameterSpec {
    /// Name: the command-line option without its dashes.
    pub name: &'static str,
    /// Accepted type and bounds.
    pub kind: ParameterKind,
    /// One-line help text.
    pub help: &'static str,
    /// Default value, which may depend on the target.
    pub default_for: fn(&Target) -> ParameterValue,
}

/// A text that is not a valid value of its parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{name} {text:?}: {reason}")]
pub struct ParameterError {
    /// Name of the parameter.
    pub name: String,
    /// The rejected text.
    pub text: String,
    /// The problem and the expected syntax.
    pub reason: String,
}

impl ParameterSpec {
    /// The same parameter with another default.
    #[must_use]
    pub const fn with_default(self, default: fn(&Target) -> ParameterValue) -> Self {
        Self {
            default_for: default,
            ..self
        }
    }

    /// Parses a value as written by the user.
    ///
    /// # Errors
    /// When the text is invalid, ambiguous or out of bounds.
    pub fn parse(&self, text: &str) -> Result<ParameterValue, ParameterError> {
        self.parse_value(text.trim())
            .map_err(|reason| ParameterError {
                name: self.name.to_owned(),
                text: text.to_owned(),
                reason,
            })
    }

    fn parse_value(&self, text: &str) -> Result<ParameterValue, String> {
        match self.kind {
            ParameterKind::Size { least } => {
                let bytes = units::parse_size(text).map_err(|error| error.to_string())?;
                check_minimum(bytes, least, ParameterValue::Size(bytes))
            }
            ParameterKind::SizeOrRange { least } => parse_size_range(text, least),
            ParameterKind::Fraction => parse_fraction(text).map(ParameterValue::Fraction),
            ParameterKind::Duration | ParameterKind::NonZeroDuration => {
                let time = units::parse_duration(text).map_err(|error| error.to_string())?;
                if self.kind == ParameterKind::NonZeroDuration && time.is_zero() {
                    return Err("must be longer than 0s, such as 10s".to_owned());
                }
                Ok(ParameterValue::Duration(time))
            }
            ParameterKind::Count { least, most } => text
                .parse::<u64>()
                .ok()
                .filter(|count| (least..=most).contains(count))
                .map(ParameterValue::Count)
                .ok_or_else(|| format!("write a whole number from {least} to {most}")),
            ParameterKind::Number { least, most } => text
                .parse::<f64>()
                .ok()
                .filter(|number| (least..=most).contains(number))
                .map(ParameterValue::Number)
                .ok_or_else(|| format!("write a number from {least} to {most}")),
            ParameterKind::Rate => units::parse_rate(text)
                .map(ParameterValue::Rate)
                .map_err(|error| error.to_string()),
            ParameterKind::Position => parse_position(text).map(ParameterValue::Position),
            ParameterKind::Choice(words) => parse_choice(text, words),
            ParameterKind::ChoiceOrPercent(words) => {
                match text.strip_suffix('%').unwrap_or(text).parse() {
                    Ok(percent @ 0..=100_u64) => Ok(ParameterValue::Choice(percent.to_string())),
                    Ok(_) => Err("a percentage goes from 0 to 100".to_owned()),
                    Err(_) => parse_choice(text, words)
                        .map_err(|reason| format!("{reason}, or a percentage")),
                }
            }
        }
    }
}

/// Parses `4KiB` or `4KiB-64KiB`.
fn parse_size_range(text: &str, least: u64) -> Result<ParameterValue, String> {
    let size = |text: &str| units::parse_size(text).map_err(|error| error.to_string());
    let Some((from, to)) = text.split_once('-').filter(|(from, _)| !from.is_empty()) else {
        let bytes = size(text)?;
        return check_minimum(bytes, least, ParameterValue::Size(bytes));
    };
    let (from, to) = (size(from)?, size(to)?);
    if from > to {
        return Err("write the smaller size first, such as 4KiB-64KiB".to_owned());
    }
    check_minimum(from, least, ParameterValue::SizeRange(from, to))
}

/// Parses `70%` as a fraction.
fn parse_fraction(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').map(str::trim).map(str::parse::<f64>);
    match percent {
        Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        Some(_) => Err("a share goes from 0% to 100%".to_owned()),
        None => Err("write a share such as 70%".to_owned()),
    }
}

fn check_minimum(value: u64, least: u64, parsed: ParameterValue) -> Result<ParameterValue, String> {
    if value < least {
        return Err(format!(
            "must be at least {}",
            units::format_exact_size(least)
        ));
    }
    Ok(parsed)
}

fn parse_choice(text: &str, words: &[&str]) -> Result<ParameterValue, String> {
    words
        .iter()
        .find(|word| word.eq_ignore_ascii_case(text))
        .map(|word| ParameterValue::Choice((*word).to_owned()))
        .ok_or_else(|| format!("write one of {}", words.join(", ")))
}

fn parse_position(text: &str) -> Result<WindowPosition, String> {
    if text.ends_with('%') {
        return parse_fraction(text).map(|share| WindowPosition::Percent(share * 100.0));
    }
    units::parse_size(text)
        .map(WindowPosition::Bytes)
        .map_err(|error| error.to_string())
}

/// All parameters of one run, each with a value.
///
/// The getters take the name of one of the benchmark's own parameters. Another name or type is a
/// programming error; the tests execute `run` of every benchmark with its defaults to find these.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterSet(BTreeMap<&'static str, ParameterValue>);

impl ParameterSet {
    /// Default values on this target.
    #[must_use]
    pub fn defaults(parameters: &[ParameterSpec], target: &Target) -> Self {
        let default = |parameter: &ParameterSpec| (parameter.name, (parameter.default_for)(target));
        Self(parameters.iter().map(default).collect())
    }

    /// Sets one parameter.
    pub fn set(&mut self, name: &'static str, value: ParameterValue) {
        self.0.insert(name, value);
    }

    /// Value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ParameterValue> {
        self.0.get(name)
    }

    /// All values by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Size in bytes; `None` if unset.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(ParameterValue::Size(bytes)) => Some(*bytes),
            _ => None,
        }
    }

    /// Minimum and maximum size in bytes, equal if a single size was given; `None` if unset.
    #[must_use]
    pub fn size_range(&self, name: &str) -> Option<(u64, u64)> {
        match self.get(name) {
            Some(ParameterValue::Size(bytes)) => Some((*bytes, *bytes)),
            Some(ParameterValue::SizeRange(from, to)) => Some((*from, *to)),
            _ => None,
        }
    }

    /// Fraction, 0 to 1; `None` if unset.
    #[must_use]
    pub fn fraction(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(ParameterValue::Fraction(share)) => Some(*share),
            _ => None,
        }
    }

    /// Duration; `None` if unset.
    #[must_use]
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Some(ParameterValue::Duration(duration)) => Some(*duration),
            _ => None,
        }
    }

    /// Integer; `None` if unset.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(ParameterValue::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// Number or rate; `None` if unset.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(ParameterValue::Number(number) | ParameterValue::Rate(number)) => Some(*number),
            _ => None,
        }
    }

    /// Keyword; empty if unset.
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        match self.get(name) {
            Some(ParameterValue::Choice(word)) => word,
            _ => "",
        }
    }

    /// Byte offset on a target of this size; `None` if unset.
    #[must_use]
    pub fn position(&self, name: &str, size: u64) -> Option<u64> {
        match self.get(name) {
            Some(ParameterValue::Position(position)) => Some(position.offset_in(size)),
            _ => None,
        }
    }
}
