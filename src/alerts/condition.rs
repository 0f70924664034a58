//! One condition: `METRIC(SCOPE) OP VALUE [for DURATION]`.

use std::fmt;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::metric::{ConditionMetric, MetricSource, metric_names};
use super::scope::{Scope, ScopeKind};
use crate::files::safe_text::SafeText;
use crate::text;
use crate::units::{self, Unit};

/// The text is no condition; the message says what is wrong, and how to write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {problem}")]
pub struct ConditionError {
    text: String,
    problem: String,
}

/// The form of a condition.
const SYNTAX: &str = "write METRIC(SCOPE) OP VALUE [for DURATION], such as await(sda)>50ms for 3s";

/// Whether a value meets a threshold.
type Comparison = fn(&f64, &f64) -> bool;

/// Longer symbols first: `>` is the beginning of `>=`.
const COMPARISONS: [(&str, Comparison); 4] = [
    (">=", f64::ge),
    ("<=", f64::le),
    (">", f64::gt),
    ("<", f64::lt),
];

/// A condition. Displayed as it was given.
#[derive(Clone)]
pub struct Condition {
    text: SafeText,
    /// The metric.
    pub metric: ConditionMetric,
    /// What the metric is read of.
    pub scope: Scope,
    /// What has the metric in that scope.
    pub(super) source: &'static MetricSource,
    comparison: Comparison,
    /// The value that it is compared with, in the unit of the metric.
    pub threshold: f64,
    /// Time for which it has to hold; zero unless specified.
    pub duration: Duration,
}

impl Condition {
    /// Parses `await(sda)>50ms for 3s`. Blanks between the parts are optional, except around `for`.
    ///
    /// # Errors
    /// If the text has another form, the metric is unknown or is not known of such a scope, or the
    /// value is none of its unit.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        Self::parse_parts(text.trim()).map_err(|problem| ConditionError {
            text: text.trim().to_owned(),
            problem,
        })
    }

    fn parse_parts(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once('(').ok_or(SYNTAX)?;
        // The last one: a scope may contain parentheses, the rest may not.
        let (scope, rest) = rest.rsplit_once(')').ok_or(SYNTAX)?;
        let metric = parse_metric(name.trim())?;
        let (scope, source) = parse_scope(scope, metric)?;
        let rest = rest.trim();
        let (comparison, rest) = COMPARISONS
            .iter()
            .find_map(|(symbol, comparison)| Some((*comparison, rest.strip_prefix(symbol)?)))
            .ok_or("write >, >=, < or <= after the scope, such as await(sda)>50ms")?;
        let (value, duration) = match rest.split_once(" for ") {
            Some((value, time)) => (value, parse_duration(time.trim())?),
            None => (rest, Duration::ZERO),
        };
        Ok(Self {
            text: text.into(),
            metric,
            scope,
            source,
            comparison,
            threshold: parse_value(value.trim(), metric)?,
            duration,
        })
    }

    /// Whether it holds for this value of the metric.
    #[must_use]
    pub fn holds_for(&self, value: f64) -> bool {
        (self.comparison)(&value, &self.threshold)
    }
}

fn parse_metric(name: &str) -> Result<ConditionMetric, String> {
    if let Some(metric) = ConditionMetric::parse(name) {
        return Ok(metric);
    }
    if name.is_empty() {
        return Err(SYNTAX.to_owned());
    }
    let similar = text::suggestion(name, metric_names());
    let some = "write one such as await, busy, pressure_full, dstate or io_errors";
    Err(format!("there is no metric {name:?}{similar}: {some}"))
}

fn parse_scope(
    text: &str,
    metric: ConditionMetric,
) -> Result<(Scope, &'static MetricSource), String> {
    let first = metric.sources().next();
    let default = first.map_or(ScopeKind::System, |it| it.kind);
    let scope = Scope::parse(text, default);
    let source = metric.sources().find(|source| source.kind == scope.kind);
    // The system has no instances with names.
    let is_named_system = scope.kind == ScopeKind::System && scope.name.is_some();
    if let Some(source) = source.filter(|_| !text.trim().is_empty() && !is_named_system) {
        return Ok((scope, source));
    }
    let choices: Vec<String> = metric
        .sources()
        .map(|source| match source.kind {
            ScopeKind::System => "system".to_owned(),
            kind if kind == default => format!("{} or any", kind.name().to_uppercase()),
            kind => format!(
                "{0}:{1} or {0}:any",
                kind.name(),
                kind.name().to_uppercase()
            ),
        })
        .collect();
    let choices = choices.join(", ");
    Err(format!(
        "{} has no such scope: write {choices}",
        metric.name
    ))
}

/// A bare number is seconds, as in `--duration 10`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    units::parse_time(text).map_err(|error| format!("the time {text:?} after \"for\" {error}"))
}

/// Parses `50ms`, `20%`, `70MB/s`, `1000/s`, `5GiB`, `3`, as the unit of the metric demands. A number
/// without a unit is accepted for counts, rates and bytes, and 0 for everything.
fn parse_value(text: &str, metric: ConditionMetric) -> Result<f64, String> {
    let number = |text: &str| {
        let number: f64 = text.parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let mut reason = String::new();
    let mut size = |text: &str| {
        let bytes = units::parse_size(text).map_err(|error| reason = format!(" {error}"));
        bytes.ok().map(|bytes| bytes as f64)
    };
    let bare = number(text);
    let (value, example) = match metric.unit {
        Unit::Count | Unit::Text => (bare, "a number such as 10"),
        Unit::PerSecond => {
            let rate = bare.or_else(|| units::parse_rate(text).ok());
            (rate, "a rate such as 1000/s")
        }
        Unit::Ratio => {
            let percent = text.strip_suffix('%').and_then(|it| number(it.trim()));
            (percent.map(|it| it / 100.0), "a percentage such as 20%")
        }
        Unit::Nanoseconds => {
            let time = units::parse_duration(text).ok().filter(|_| bare.is_none());
            let time = time.map(|time| time.as_nanos() as f64);
            (time, "a time such as 500us, 50ms or 30s")
        }
        Unit::Bytes | Unit::RequestBytes => (size(text), "a size such as 500MB or 1GiB"),
        Unit::BytesPerSecond => {
            let rate = bare.or_else(|| size(text.strip_suffix("/s")?));
            (rate, "a throughput such as 70MB/s")
        }
    };
    let value = value.or(bare.filter(|it| *it == 0.0));
    let problem = || {
        format!(
            "the value {text:?} is none of {}{reason}: write {example}",
            metric.name
        )
    };
    value.ok_or_else(problem)
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Its text, and what follows from it.
impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("condition", &self.text)?;
        fields.serialize_entry("metric", self.metric.name)?;
        fields.serialize_entry("unit", self.metric.unit.symbol())?;
        fields.serialize_entry("threshold", &self.threshold)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_read_in_the_unit_of_the_metric_and_the_text_is_kept() {
        for (text, metric, threshold, seconds) in [
            ("await(sda)>50ms for 3s", "await", 5e7, 3),
            ("await_ns ( sda ) > 0.05s for 3", "await", 5e7, 3),
            (
                "pressure_full(system)>=20% for 10s",
                "pressure_full",
                0.2,
                10,
            ),
            (
                "pressure_full(a.service) >= 7.5 %",
                "pressure_full",
                0.075,
                0,
            ),
            ("dstate(any)>30s", "dstate", 3e10, 0),
            ("util(vg0-data)>=99%", "busy", 0.99, 0),
            ("aqu-sz(device:sda)>32", "queue_size", 32.0, 0),
            ("throughput(any)<70MB/s for 1m", "bytes_per_s", 7e7, 60),
            ("iops(sda)<2.5k/s", "ios_per_s", 2500.0, 0),
            ("iops(sda)<=0", "ios_per_s", 0.0, 0),
            (
                "dirty_bytes(system)>1.5GiB",
                "dirty_bytes",
                1_610_612_736.0,
                0,
            ),
            ("free(/srv (old))<5%", "available", 0.05, 0),
        ] {
            let condition = Condition::parse(text).unwrap();
            assert_eq!(condition.to_string(), text);
            assert_eq!(condition.metric.name, metric);
            assert_eq!(condition.threshold, threshold, "{text}");
            assert_eq!(condition.duration.as_secs(), seconds, "{text}");
        }
    }

    #[test]
    fn error_says_what_the_metric_takes() {
        for (text, hint) in [
            ("", "METRIC(SCOPE) OP VALUE"),
            ("await>50ms", "METRIC(SCOPE) OP VALUE"),
            ("(sda)>50ms", "METRIC(SCOPE) OP VALUE"),
            ("await(sda)", ">, >=, < or <="),
            ("await(sda)=50ms", ">, >=, < or <="),
            ("awiat(sda)>50ms", "did you mean await?"),
            ("presure_full(system)>5%", "did you mean pressure_full?"),
            ("p95(sda)>50ms", "no metric"),
            ("await()>50ms", "DEVICE or any"),
            ("await(system)>50ms", "no such scope: write DEVICE or any"),
            ("await(unit:any)>50ms", "no such scope"),
            ("cpu_busy(sda)>5%", "write system"),
            ("pressure_full(device:sda)>5%", "write UNIT or any, system"),
            ("await(sda)>50", "a time such as"),
            ("await(sda)>50MB/s", "a time such as"),
            ("busy(sda)>0.9", "a percentage such as 20%"),
            ("busy(sda)>-5%", "a percentage such as 20%"),
            ("busy(sda)>nan%", "a percentage such as 20%"),
            ("queue_size(sda)>inf", "a number such as 10"),
            ("bytes_per_s(sda)>70MB", "a throughput such as 70MB/s"),
            ("bytes_per_s(sda)>70M/s", "70MiB"),
            ("dirty_bytes(system)>70ms", "a size such as"),
            ("dirty_bytes(system)>1G", "ambiguous"),
            ("iops(sda)>5ms", "a rate such as 1000/s"),
            ("await(sda)>50ms for", "a time such as"),
            ("await(sda)>50ms for long", "after \"for\""),
        ] {
            let message = Condition::parse(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
            let _ = Condition::parse(&text);
        }
    }
}
