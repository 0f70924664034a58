//! A test's parameters as data: the launcher's form, the command line, the forecast and the JSON
//! all come from these descriptions.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::drive::Target;
use crate::session::document::MetricUnit;
use crate::units;

/// A place in the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WindowPosition {
    /// Share of the target's size in percent, 0 to 100.
    Percent(f64),
    /// Bytes from the beginning.
    Bytes(u64),
}

impl WindowPosition {
    /// The byte that it means on a target of that size, not beyond its end.
    #[must_use]
    pub fn offset_in(self, size: u64) -> u64 {
        match self {
            Self::Percent(percent) => (size as f64 * percent / 100.0) as u64,
            Self::Bytes(bytes) => bytes,
        }
        .min(size)
    }
}

/// What a parameter was set to.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    /// Bytes.
    Size(u64),
    /// Anything between these two in bytes, both in.
    SizeRange(u64, u64),
    /// A part of the whole, 0 to 1.
    Fraction(f64),
    /// A time.
    Duration(Duration),
    /// A plain number.
    Count(u64),
    /// A number with a fraction.
    Number(f64),
    /// Events per second.
    Rate(f64),
    /// A place in the target.
    Position(WindowPosition),
    /// One of a few words.
    Choice(String),
    /// Deliberately nothing: no limit, or the test decides.
    Unset,
}

impl ParameterValue {
    /// The unit of [`to_json`](Self::to_json), where it has one.
    #[must_use]
    pub fn unit(&self) -> Option<MetricUnit> {
        match self {
            Self::Size(_) | Self::Position(WindowPosition::Bytes(_)) => Some(MetricUnit::Bytes),
            Self::Duration(_) => Some(MetricUnit::Nanoseconds),
            Self::Rate(_) => Some(MetricUnit::PerSecond),
            _ => None,
        }
    }

    /// As the document stores it: bytes, nanoseconds, per second, or a word.
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
    /// As the user writes it; empty where it is unset.
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
            // Rounded so that 0.7 * 100 is written as 70.
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

/// What kind of value a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterKind {
    /// A size such as `4KiB`, at least this many bytes.
    Size {
        /// Smallest value that makes sense.
        least: u64,
    },
    /// A size such as `4KiB`, or a range such as `4KiB-64KiB`, at least this many bytes.
    SizeOrRange {
        /// Smallest value that makes sense.
        least: u64,
    },
    /// A part of the whole such as `70%`.
    Fraction,
    /// A duration such as `10s`.
    Duration,
    /// A duration above zero such as `10s`: nothing is measured in none.
    NonZeroDuration,
    /// A whole number within these bounds, both in.
    Count {
        /// Smallest.
        least: u64,
        /// Largest.
        most: u64,
    },
    /// A number within these bounds, both in.
    Number {
        /// Smallest.
        least: f64,
        /// Largest.
        most: f64,
    },
    /// A rate such as `1000/s`.
    Rate,
    /// A position such as `10%` or `5GB`.
    Position,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, or a percentage.
    ChoiceOrPercent(&'static [&'static str]),
}

/// One parameter of a test.
#[derive(Debug, Clone, Copy)]
pub struct ParameterSpec {
    /// Name, as on the command line without the dashes.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParameterKind,
    /// One line for help and form.
    pub help: &'static str,
    /// What it is set to when the user says nothing, for this target.
    pub default_for: fn(&Target) -> ParameterValue,
}

/// A text that is no value of its parameter: says what would be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{name} {text:?}: {reason}")]
pub struct ParameterError {
    /// Name of the parameter.
    pub name: String,
    /// What was given.
    pub text: String,
    /// What is wrong and how to write it.
    pub reason: String,
}

impl ParameterSpec {
    /// The same parameter with another default, for a test that needs one.
    #[must_use]
    pub const fn with_default(self, default: fn(&Target) -> ParameterValue) -> Self {
        Self {
            default_for: default,
            ..self
        }
    }

    /// Reads what the user wrote.
    ///
    /// # Errors
    /// When the text is no value of this parameter, or ambiguous, or out of its bounds.
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

/// `4KiB` or `4KiB-64KiB`.
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

/// `70%`, as a part of 1.
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

/// All parameters of one run, each set.
///
/// The getters take the name of one of the test's own parameters. Another name, or one of another
/// kind, is a mistake in the test; every test's `run` is executed with its defaults by the tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterSet(BTreeMap<&'static str, ParameterValue>);

impl ParameterSet {
    /// The defaults of these parameters on this target.
    #[must_use]
    pub fn defaults(parameters: &[ParameterSpec], target: &Target) -> Self {
        let default = |parameter: &ParameterSpec| (parameter.name, (parameter.default_for)(target));
        Self(parameters.iter().map(default).collect())
    }

    /// Sets one parameter.
    pub fn set(&mut self, name: &'static str, value: ParameterValue) {
        self.0.insert(name, value);
    }

    /// What a parameter is set to.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ParameterValue> {
        self.0.get(name)
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// A size in bytes; `None` where it is unset.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(ParameterValue::Size(bytes)) => Some(*bytes),
            _ => None,
        }
    }

    /// The smallest and the largest size in bytes, alike where one size was given; `None` where it
    /// is unset.
    #[must_use]
    pub fn size_range(&self, name: &str) -> Option<(u64, u64)> {
        match self.get(name) {
            Some(ParameterValue::Size(bytes)) => Some((*bytes, *bytes)),
            Some(ParameterValue::SizeRange(from, to)) => Some((*from, *to)),
            _ => None,
        }
    }

    /// A part of 1; `None` where it is unset.
    #[must_use]
    pub fn fraction(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(ParameterValue::Fraction(share)) => Some(*share),
            _ => None,
        }
    }

    /// A time; `None` where it is unset.
    #[must_use]
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Some(ParameterValue::Duration(duration)) => Some(*duration),
            _ => None,
        }
    }

    /// A whole number; `None` where it is unset.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(ParameterValue::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// A number or a rate; `None` where it is unset.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(ParameterValue::Number(number) | ParameterValue::Rate(number)) => Some(*number),
            _ => None,
        }
    }

    /// A word; empty where it is unset.
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        match self.get(name) {
            Some(ParameterValue::Choice(word)) => word,
            _ => "",
        }
    }

    /// A position on a target of that size; `None` where it is unset.
    #[must_use]
    pub fn position(&self, name: &str, size: u64) -> Option<u64> {
        match self.get(name) {
            Some(ParameterValue::Position(position)) => Some(position.offset_in(size)),
            _ => None,
        }
    }
}
