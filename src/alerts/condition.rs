//! One condition: `METRIC(SCOPE) OP VALUE [for DURATION]`.

use std::fmt;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::metric::{ConditionMetric, MetricSource, similar_metric};
use super::scope::{Scope, ScopeKind};
use crate::files::safe_text::SafeText;
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
    metric: ConditionMetric,
    scope: Scope,
    /// What has the metric in that scope.
    pub(super) source: &'static MetricSource,
    comparison: Comparison,
    threshold: f64,
    duration: Duration,
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

    /// The metric.
    #[must_use]
    pub fn metric(&self) -> ConditionMetric {
        self.metric
    }

    /// What the metric is read of.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The value that it is compared with, in the unit of the metric.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Time for which it has to hold; zero unless specified.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
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
    let base = name.strip_prefix("latency_").unwrap_or(name);
    let rank = base.strip_prefix('p');
    Err(if name.is_empty() {
        SYNTAX.to_owned()
    } else if rank.is_some_and(|rank| rank.parse::<f64>().is_ok()) {
        format!(
            "{name} cannot be watched: the counters of the kernel yield means only. Write await, or \
             trace the requests with `diskscope trace`"
        )
    } else {
        format!(
            "there is no metric {name:?}{}: write one such as await, busy, pressure_full, dstate or \
             io_errors",
            similar_metric(name)
        )
    })
}

fn parse_scope(
    text: &str,
    metric: ConditionMetric,
) -> Result<(Scope, &'static MetricSource), String> {
    let default = metric.default_kind();
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
            kind => format!("{kind}:{} or {kind}:any", kind.name().to_uppercase()),
        })
        .collect();
    let choices = choices.join(", ");
    Err(format!("{metric} has no such scope: write {choices}"))
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
    let size = |text: &str| units::parse_size(text).map(|bytes| bytes as f64);
    let mut reason = String::new();
    let mut told = |parsed: Result<f64, units::UnitError>| {
        parsed.map_err(|error| reason = format!(" {error}")).ok()
    };
    let unit = metric.unit();
    let value = match (number(text), unit) {
        (Some(0.0), _) => Some(0.0),
        (number, Unit::Count | Unit::Text) => number,
        (Some(number), Unit::PerSecond) => Some(number),
        (None, Unit::PerSecond) => units::parse_rate(text).ok(),
        (_, Unit::Ratio) => {
            let percent = text.strip_suffix('%').and_then(|text| number(text.trim()));
            percent.map(|percent| percent / 100.0)
        }
        (None, Unit::Nanoseconds) => {
            let duration = units::parse_duration(text).ok();
            duration.map(|duration| duration.as_nanos() as f64)
        }
        (Some(_), Unit::Nanoseconds) => None,
        (_, Unit::Bytes | Unit::RequestBytes) | (Some(_), Unit::BytesPerSecond) => told(size(text)),
        (None, Unit::BytesPerSecond) => text.strip_suffix("/s").and_then(|it| told(size(it))),
    };
    let example = match unit {
        Unit::PerSecond => "a rate such as 1000/s",
        Unit::BytesPerSecond => "a throughput such as 70MB/s",
        Unit::Nanoseconds => "a time such as 500us, 50ms or 30s",
        Unit::Bytes | Unit::RequestBytes => "a size such as 500MB or 1GiB",
        Unit::Ratio => "a percentage such as 20%",
        Unit::Count | Unit::Text => "a number such as 10",
    };
    value.ok_or_else(|| format!("the value {text:?} is none of {metric}{reason}: write {example}"))
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
        fields.serialize_entry("metric", self.metric.name())?;
        fields.serialize_entry("unit", self.metric.unit().symbol())?;
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
            assert_eq!(condition.metric().name(), metric);
            assert_eq!(condition.threshold(), threshold, "{text}");
            assert_eq!(condition.duration().as_secs(), seconds, "{text}");
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
            ("p95(sda)>50ms", "means only"),
            ("latency_p99.9(sda)>50ms", "means only"),
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
