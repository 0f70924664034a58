//! One condition: `METRIC(SCOPE) OP VALUE [for DURATION]`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::metric::{ConditionMetric, similar_metric};
use super::scope::{Scope, ScopeKind};
use super::value::ConditionValue;
use crate::units;

/// The text is no condition; the message says what is wrong, and how to write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {problem}")]
pub struct ConditionError {
    text: String,
    problem: String,
}

/// The form of a condition.
const SYNTAX: &str = "write METRIC(SCOPE) OP VALUE [for DURATION], such as await(sda)>50ms for 3s";
/// Its operators.
const OPERATORS: &str = "write >, >=, < or <= after the scope, such as await(sda)>50ms";

/// How the metric is compared with the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

impl Comparison {
    /// Longer symbols first: `>` is the beginning of `>=`.
    const ALL: [Self; 4] = [Self::AtLeast, Self::AtMost, Self::Above, Self::Below];

    /// Its symbol.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::Above => value > threshold,
            Self::AtLeast => value >= threshold,
            Self::Below => value < threshold,
            Self::AtMost => value <= threshold,
        }
    }
}

/// A condition. Displayed in the form that [`Condition::parse`] reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    metric: ConditionMetric,
    scope: Scope,
    comparison: Comparison,
    value: ConditionValue,
    duration: Option<Duration>,
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
        let scope = parse_scope(scope, metric)?;
        let rest = rest.trim();
        let (comparison, rest) = Comparison::ALL
            .into_iter()
            .find_map(|comparison| Some((comparison, rest.strip_prefix(comparison.symbol())?)))
            .ok_or(OPERATORS)?;
        let (value, duration) = match rest.split_once(" for ") {
            Some((value, time)) => (value, Some(parse_duration(time.trim())?)),
            None => (rest, None),
        };
        Ok(Self {
            metric,
            scope,
            comparison,
            value: ConditionValue::parse(value.trim(), metric)?,
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

    /// How the metric is compared.
    #[must_use]
    pub fn comparison(&self) -> Comparison {
        self.comparison
    }

    /// The value that it is compared with, in the unit of the metric.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.value.in_unit()
    }

    /// Time for which it has to hold; zero unless specified.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration.unwrap_or_default()
    }

    /// Whether it holds for this value of the metric.
    #[must_use]
    pub fn holds_for(&self, value: f64) -> bool {
        self.comparison.holds(value, self.threshold())
    }
}

fn parse_metric(name: &str) -> Result<ConditionMetric, String> {
    if let Some(metric) = ConditionMetric::parse(name) {
        return Ok(metric);
    }
    let base = name.strip_prefix("latency_").unwrap_or(name);
    let percentile = base
        .strip_prefix('p')
        .is_some_and(|rank| rank.parse::<f64>().is_ok());
    if name.is_empty() {
        return Err(SYNTAX.to_owned());
    }
    Err(if percentile {
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

fn parse_scope(text: &str, metric: ConditionMetric) -> Result<Scope, String> {
    if text.trim().is_empty() {
        let scopes = describe_scopes(metric);
        return Err(format!("{metric}() has no scope: {scopes}"));
    }
    let scope = Scope::parse(text, metric.default_kind());
    // The system has no instances with names.
    let is_named_system = scope.kind() == ScopeKind::System && scope != Scope::System;
    if is_named_system || metric.kinds().all(|kind| kind != scope.kind()) {
        let scopes = describe_scopes(metric);
        return Err(format!("{metric} has no such scope: {scopes}"));
    }
    Ok(scope)
}

/// The scopes that the metric has.
fn describe_scopes(metric: ConditionMetric) -> String {
    let default = metric.default_kind();
    let choices: Vec<String> = metric
        .kinds()
        .map(|kind| {
            let prefix = match kind == default {
                true => String::new(),
                false => format!("{kind}:"),
            };
            match kind {
                ScopeKind::System => "system".to_owned(),
                ScopeKind::Device => format!("{prefix}DEVICE or {prefix}any"),
                ScopeKind::Process => format!("{prefix}PROGRAM, {prefix}PID or {prefix}any"),
                ScopeKind::Unit => format!("{prefix}UNIT or {prefix}any"),
                ScopeKind::Mount => format!("{prefix}MOUNTPOINT or {prefix}any"),
            }
        })
        .collect();
    format!("write {}", choices.join(", "))
}

/// A bare number is seconds, as in `--duration 10`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    units::parse_time(text).map_err(|error| format!("the time {text:?} after \"for\" {error}"))
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = self.scope.text(self.metric.default_kind());
        let symbol = self.comparison.symbol();
        write!(formatter, "{}({scope}){symbol}{}", self.metric, self.value)?;
        match self.duration {
            Some(duration) => {
                let duration = units::format_exact_duration(duration);
                write!(formatter, " for {duration}")
            }
            None => Ok(()),
        }
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        Self::parse(text)
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::alerts::metric_names;

    #[test]
    fn condition_is_printed_in_its_shortest_form() {
        for (text, printed) in [
            ("await(sda)>50ms for 3s", "await(sda)>50ms for 3s"),
            (" await_ns ( sda ) > 0.05s for 3", "await(sda)>50ms for 3s"),
            (
                "pressure_full(system)>=20% for 10s",
                "pressure_full(system)>=20% for 10s",
            ),
            (
                "pressure_full(a.service) >= 7.5 %",
                "pressure_full(a.service)>=7.5%",
            ),
            ("dstate(any)>30s", "dstate(any)>30s"),
            ("io_errors(any)>0", "io_errors(any)>0"),
            ("util(vg0-data)>=99%", "busy(vg0-data)>=99%"),
            ("aqu-sz(device:sda)>32", "queue_size(sda)>32"),
            (
                "throughput(any)<70MB/s for 1m",
                "bytes_per_s(any)<70MB/s for 1m",
            ),
            ("iops(sda)<2.5k/s", "ios_per_s(sda)<2500/s"),
            ("iops(sda)<=0", "ios_per_s(sda)<=0"),
            ("dirty_bytes(system)>1.5GiB", "dirty_bytes(system)>1.5GiB"),
            (
                "read_bytes_per_s(process:rsync)>0",
                "read_bytes_per_s(process:rsync)>0B/s",
            ),
            ("dstate(4711)>0", "dstate(4711)>0s"),
            ("free(/srv (old))<5%", "available(/srv (old))<5%"),
        ] {
            let condition = Condition::parse(text).unwrap();
            assert_eq!(condition.to_string(), printed);
            assert_eq!(Condition::parse(printed).unwrap(), condition);
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

    /// Texts near to conditions.
    fn any_text() -> impl Strategy<Value = String> {
        let names = metric_names();
        let scope = prop_oneof![
            Just("any".to_owned()),
            Just("system".to_owned()),
            Just("unit:any".to_owned()),
            "(device:|process:|unit:|mount:)?[a-z0-9/. ()<>:-]{0,9}",
            "\\PC{0,9}",
        ];
        let value = prop_oneof![
            "[0-9]{1,6}(\\.[0-9]{1,4})?(ns|us|ms|s|m|h)",
            "[0-9]{1,4}(\\.[0-9]{1,12})?%",
            "[0-9]{1,9}(B|kB|MiB|GB|TiB)(/s)?",
            "[0-9]{1,3}\\.[0-9]{1,3}(kB|MiB|GB|TiB)(/s)?",
            "[0-9.]{1,9}[kM]?/s",
            any::<f64>().prop_map(|number| number.to_string()),
            "\\PC{0,6}",
        ];
        let operator = prop::sample::select(vec![">", ">=", "<", "<=", " > ", "=="]);
        let held = prop_oneof![Just(String::new()), " for [0-9]{1,4}(ms|s|m|h)?"];
        (prop::sample::select(names), scope, operator, value, held).prop_map(
            |(name, scope, operator, value, held)| {
                format!("{name}({scope}){operator}{value}{held}")
            },
        )
    }

    proptest! {
        #[test]
        fn printed_condition_parses_to_the_same(text in any_text()) {
            if let Ok(condition) = Condition::parse(&text) {
                let printed = condition.to_string();
                prop_assert_eq!(Condition::parse(&printed), Ok(condition.clone()), "{}", printed);
                let json = serde_json::to_string(&condition).unwrap();
                let read: Condition = serde_json::from_str(&json).unwrap();
                prop_assert_eq!(read, condition);
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
            let _ = Condition::parse(&text);
        }
    }
}
