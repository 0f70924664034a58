//! A test's parameters as data: the launcher's form, the command line, the forecast and the JSON
//! all come from these descriptions.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::drive::Target;
use crate::session::document::Unit;
use crate::units;

/// A place in the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Position {
    /// Share of the target's size in percent, 0 to 100.
    Percent(f64),
    /// Bytes from the beginning.
    Bytes(u64),
}

impl Position {
    /// The byte that it means on a target of that size, not beyond its end.
    #[must_use]
    pub fn on(self, size: u64) -> u64 {
        match self {
            Self::Percent(percent) => (size as f64 * percent / 100.0) as u64,
            Self::Bytes(bytes) => bytes,
        }
        .min(size)
    }
}

/// What a parameter was set to.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Bytes.
    Bytes(u64),
    /// Anything between these two in bytes, both in.
    Range(u64, u64),
    /// A part of the whole, 0 to 1.
    Share(f64),
    /// A time.
    Duration(Duration),
    /// A plain number.
    Count(u64),
    /// A number with a fraction.
    Number(f64),
    /// Events per second.
    Rate(f64),
    /// A place in the target.
    Position(Position),
    /// One of a few words.
    Word(String),
    /// Deliberately nothing: no limit, or the test decides.
    Unset,
}

impl Value {
    /// The unit of [`to_json`](Self::to_json), where it has one.
    #[must_use]
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Self::Bytes(_) | Self::Position(Position::Bytes(_)) => Some(Unit::Bytes),
            Self::Duration(_) => Some(Unit::Nanoseconds),
            Self::Rate(_) => Some(Unit::PerSecond),
            _ => None,
        }
    }

    /// As the document stores it: bytes, nanoseconds, per second, or a word.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bytes(bytes) => (*bytes).into(),
            Self::Range(from, to) => vec![*from, *to].into(),
            Self::Duration(duration) => u64::try_from(duration.as_nanos())
                .unwrap_or(u64::MAX)
                .into(),
            Self::Count(count) => (*count).into(),
            Self::Number(number) | Self::Rate(number) | Self::Share(number) => (*number).into(),
            Self::Position(Position::Bytes(bytes)) => (*bytes).into(),
            Self::Position(Position::Percent(percent)) => format!("{percent}%").into(),
            Self::Word(word) => word.as_str().into(),
            Self::Unset => serde_json::Value::Null,
        }
    }
}

impl std::fmt::Display for Value {
    /// As the user writes it; empty where it is unset.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) | Self::Position(Position::Bytes(bytes)) => {
                f.write_str(&units::exact_size(*bytes))
            }
            Self::Range(from, to) => {
                write!(f, "{}-{}", units::exact_size(*from), units::exact_size(*to))
            }
            // Rounded so that 0.7 * 100 is written as 70.
            Self::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
            Self::Duration(duration) => f.write_str(&units::exact_duration(*duration)),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Rate(rate) => write!(f, "{rate}/s"),
            Self::Position(Position::Percent(percent)) => write!(f, "{percent}%"),
            Self::Word(word) => f.write_str(word),
            Self::Unset => Ok(()),
        }
    }
}

/// What kind of value a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
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
    Share,
    /// A duration such as `10s`.
    Duration,
    /// A duration above zero such as `10s`: nothing is measured in none.
    LimitDuration,
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
    Word(&'static [&'static str]),
    /// One of these words, or a percentage.
    WordOrPercent(&'static [&'static str]),
}

/// One parameter of a test.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name, as on the command line without the dashes.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// One line for help and form.
    pub help: &'static str,
    /// What it is set to when the user says nothing, for this target.
    pub default: fn(&Target) -> Value,
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

impl Parameter {
    /// The same parameter with another default, for a test that needs one.
    #[must_use]
    pub const fn with_default(self, default: fn(&Target) -> Value) -> Self {
        Self { default, ..self }
    }

    /// Reads what the user wrote.
    ///
    /// # Errors
    /// When the text is no value of this parameter, or ambiguous, or out of its bounds.
    pub fn parse(&self, text: &str) -> Result<Value, ParameterError> {
        self.read(text.trim()).map_err(|reason| ParameterError {
            name: self.name.to_owned(),
            text: text.to_owned(),
            reason,
        })
    }

    fn read(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            Kind::Size { least } => {
                let bytes = units::parse_size(text).map_err(|error| error.to_string())?;
                at_least(bytes, least, Value::Bytes(bytes))
            }
            Kind::SizeOrRange { least } => range(text, least),
            Kind::Share => share(text).map(Value::Share),
            Kind::Duration | Kind::LimitDuration => {
                let time = units::parse_duration(text).map_err(|error| error.to_string())?;
                if self.kind == Kind::LimitDuration && time.is_zero() {
                    return Err("must be longer than 0s, such as 10s".to_owned());
                }
                Ok(Value::Duration(time))
            }
            Kind::Count { least, most } => text
                .parse::<u64>()
                .ok()
                .filter(|count| (least..=most).contains(count))
                .map(Value::Count)
                .ok_or_else(|| format!("write a whole number from {least} to {most}")),
            Kind::Number { least, most } => text
                .parse::<f64>()
                .ok()
                .filter(|number| (least..=most).contains(number))
                .map(Value::Number)
                .ok_or_else(|| format!("write a number from {least} to {most}")),
            Kind::Rate => units::parse_rate(text)
                .map(Value::Rate)
                .map_err(|error| error.to_string()),
            Kind::Position => position(text).map(Value::Position),
            Kind::Word(words) => word(text, words),
            Kind::WordOrPercent(words) => match text.strip_suffix('%').unwrap_or(text).parse() {
                Ok(percent @ 0..=100_u64) => Ok(Value::Word(percent.to_string())),
                Ok(_) => Err("a percentage goes from 0 to 100".to_owned()),
                Err(_) => word(text, words).map_err(|reason| format!("{reason}, or a percentage")),
            },
        }
    }
}

/// `4KiB` or `4KiB-64KiB`.
fn range(text: &str, least: u64) -> Result<Value, String> {
    let size = |text: &str| units::parse_size(text).map_err(|error| error.to_string());
    let Some((from, to)) = text.split_once('-').filter(|(from, _)| !from.is_empty()) else {
        let bytes = size(text)?;
        return at_least(bytes, least, Value::Bytes(bytes));
    };
    let (from, to) = (size(from)?, size(to)?);
    if from > to {
        return Err("write the smaller size first, such as 4KiB-64KiB".to_owned());
    }
    at_least(from, least, Value::Range(from, to))
}

/// `70%`, as a part of 1.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').map(str::trim).map(str::parse::<f64>);
    match percent {
        Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        Some(_) => Err("a share goes from 0% to 100%".to_owned()),
        None => Err("write a share such as 70%".to_owned()),
    }
}

fn at_least(value: u64, least: u64, parsed: Value) -> Result<Value, String> {
    if value < least {
        return Err(format!("must be at least {}", units::exact_size(least)));
    }
    Ok(parsed)
}

fn word(text: &str, words: &[&str]) -> Result<Value, String> {
    words
        .iter()
        .find(|word| word.eq_ignore_ascii_case(text))
        .map(|word| Value::Word((*word).to_owned()))
        .ok_or_else(|| format!("write one of {}", words.join(", ")))
}

fn position(text: &str) -> Result<Position, String> {
    if text.ends_with('%') {
        return share(text).map(|share| Position::Percent(share * 100.0));
    }
    units::parse_size(text)
        .map(Position::Bytes)
        .map_err(|error| error.to_string())
}

/// All parameters of one run, each set.
///
/// The getters take the name of one of the test's own parameters. Another name, or one of another
/// kind, is a mistake in the test; every test's `run` is executed with its defaults by the tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters(BTreeMap<&'static str, Value>);

impl Parameters {
    /// The defaults of these parameters on this target.
    #[must_use]
    pub fn defaults(parameters: &[Parameter], target: &Target) -> Self {
        let default = |parameter: &Parameter| (parameter.name, (parameter.default)(target));
        Self(parameters.iter().map(default).collect())
    }

    /// Sets one parameter.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.0.insert(name, value);
    }

    /// What a parameter is set to.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// A size in bytes; `None` where it is unset.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Bytes(bytes)) => Some(*bytes),
            _ => None,
        }
    }

    /// The smallest and the largest size in bytes, alike where one size was given; `None` where it
    /// is unset.
    #[must_use]
    pub fn sizes(&self, name: &str) -> Option<(u64, u64)> {
        match self.get(name) {
            Some(Value::Bytes(bytes)) => Some((*bytes, *bytes)),
            Some(Value::Range(from, to)) => Some((*from, *to)),
            _ => None,
        }
    }

    /// A part of 1; `None` where it is unset.
    #[must_use]
    pub fn share(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Share(share)) => Some(*share),
            _ => None,
        }
    }

    /// A time; `None` where it is unset.
    #[must_use]
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Some(Value::Duration(duration)) => Some(*duration),
            _ => None,
        }
    }

    /// A whole number; `None` where it is unset.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// A number or a rate; `None` where it is unset.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Number(number) | Value::Rate(number)) => Some(*number),
            _ => None,
        }
    }

    /// A word; empty where it is unset.
    #[must_use]
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    /// A position on a target of that size; `None` where it is unset.
    #[must_use]
    pub fn position(&self, name: &str, size: u64) -> Option<u64> {
        match self.get(name) {
            Some(Value::Position(position)) => Some(position.on(size)),
            _ => None,
        }
    }
}
