//! Service level goals: "at least 1000 IOPS", "p95 at most 500 ms", "never under 70 MB/s".

use super::document::{
    BytePrefix, Findings, GoalComparison, Metric, MetricId, MetricKind, MetricUnit, SloResult,
};
use crate::text;
use crate::units::{self, UnitError};

/// A goal as the user specified it, parsed but not evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct SloSpec {
    /// As the user wrote it, for display only.
    text: String,
    metric: MetricId,
    comparison: GoalComparison,
    /// In `unit`, which is that of the metric.
    limit: f64,
    unit: MetricUnit,
    prefix: Option<BytePrefix>,
}

/// Presets: goals that a web server, a video player and a backup store set for a drive.
pub const PRESETS: [(&str, &[&str]); 3] = [
    ("web-server", &["iops>=1000", "p95<=500ms"]),
    ("video-player", &["max<=40ms"]),
    ("backup-store", &["throughput_min>=70MB/s"]),
];

/// The error for a text that is not a goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {problem}")]
pub struct GoalError {
    text: String,
    problem: GoalProblem,
}

impl GoalError {
    /// What is wrong with the text.
    #[must_use]
    pub fn problem(&self) -> &GoalProblem {
        &self.problem
    }
}

/// What is wrong with the text of a goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalProblem {
    /// Neither a comparison nor a preset.
    #[error(
        "write METRIC>=LIMIT or METRIC<=LIMIT, such as p95<=500ms, or one of {}",
        PRESETS.map(|(name, _)| name).join(", ")
    )]
    NoComparison,
    /// Nothing before the comparison.
    #[error("write the name of a metric before the comparison, such as iops")]
    NoMetric,
    /// No benchmark yields this metric.
    #[error(
        "no benchmark has a metric {0}{similar}: write one such as iops, throughput, p95, latency_mean or \
         throughput_min",
        similar = similar_metric(.0)
    )]
    UnknownMetric(String),
    /// The limit is a quantity of another unit than the metric's.
    #[error("invalid limit for {name}: write one such as {}", example_limit(*unit))]
    WrongUnit {
        /// The metric as the user wrote it.
        name: String,
        /// Its unit.
        unit: MetricUnit,
    },
    /// The limit is no quantity.
    #[error("the limit {limit:?} {error}")]
    InvalidLimit {
        /// The limit as the user wrote it.
        limit: String,
        /// Why it is none.
        error: UnitError,
    },
}

impl SloSpec {
    /// The goal as the user wrote it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The metric that the goal limits.
    #[must_use]
    pub fn metric(&self) -> &MetricId {
        &self.metric
    }

    /// Parses the name of one of the [`PRESETS`], which may stand for several goals, or a single
    /// goal as [`parse`](Self::parse) does.
    ///
    /// # Errors
    /// If the text is neither.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, GoalError> {
        match PRESETS.iter().find(|(name, _)| *name == text.trim()) {
            Some((_, goals)) => goals.iter().map(|goal| Self::parse(goal)).collect(),
            None => Self::parse(text).map(|goal| vec![goal]),
        }
    }

    /// Parses `iops>=1000`, `p95<=500ms`, `max<=40ms`, `throughput_min>=70MB/s`.
    ///
    /// `mean`, `max` and `pNN` stand for the latency metrics `latency_mean`, `latency_max` and
    /// `latency_pNN`; any other name is the name of a metric.
    ///
    /// # Errors
    /// If the comparison is missing, the metric is unknown, or the limit is no quantity in the unit
    /// of the metric.
    pub fn parse(text: &str) -> Result<Self, GoalError> {
        Self::parse_parts(text.trim()).map_err(|problem| GoalError {
            text: text.trim().to_owned(),
            problem,
        })
    }

    fn parse_parts(text: &str) -> Result<Self, GoalProblem> {
        let (name, limit, comparison) = match (text.split_once(">="), text.split_once("<=")) {
            (Some((name, limit)), None) => (name.trim(), limit, GoalComparison::AtLeast),
            (None, Some((name, limit))) => (name.trim(), limit, GoalComparison::AtMost),
            _ => return Err(GoalProblem::NoComparison),
        };
        if name.is_empty() {
            return Err(GoalProblem::NoMetric);
        }
        let limit = GoalLimit::parse(limit.trim())?;
        let metric = parse_metric(name);
        let unit = metric
            .unit()
            .ok_or_else(|| GoalProblem::UnknownMetric(name.to_owned()))?;
        // A bare number takes the unit of the metric.
        if limit.unit.is_some_and(|of_limit| of_limit != unit) {
            let name = name.to_owned();
            return Err(GoalProblem::WrongUnit { name, unit });
        }
        Ok(Self {
            text: text.to_owned(),
            metric,
            comparison,
            limit: limit.value,
            unit,
            prefix: limit.prefix,
        })
    }

    /// Evaluates the goal; unknown if the metric is absent or has another unit.
    #[must_use]
    pub fn evaluate(&self, findings: &Findings) -> SloResult {
        let same = |metric: &&Metric| metric.unit == self.unit;
        let measured = findings.metric(&self.metric).filter(same);
        let measured = measured.map(|metric| metric.value);
        SloResult {
            goal: self.text.clone().into(),
            metric: Some(self.metric.clone()),
            comparison: Some(self.comparison),
            met: measured.map(|value| self.comparison.is_met(value, self.limit)),
            measured,
            limit: self.limit,
            prefix: self.prefix,
            unit: self.unit,
        }
    }
}

/// Reads a metric of a goal: `mean`, `max` and `pNN` stand for latencies.
fn parse_metric(name: &str) -> MetricId {
    let short = MetricKind::from_name(&format!("latency_{name}"));
    short.map_or_else(|| MetricId::parse(name), MetricId::of)
}

/// An example of a limit in that unit.
fn example_limit(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::PerSecond => "1000/s",
        MetricUnit::BytesPerSecond => "70MB/s",
        MetricUnit::Nanoseconds => "500us or 5ms",
        MetricUnit::Bytes => "64KiB",
        _ => "100",
    }
}

/// A limit as the user wrote it.
struct GoalLimit {
    value: f64,
    /// `None` for a bare number.
    unit: Option<MetricUnit>,
    prefix: Option<BytePrefix>,
}

impl GoalLimit {
    fn parse(text: &str) -> Result<Self, GoalProblem> {
        let limit = |value: f64, unit: MetricUnit| Self {
            value,
            unit: Some(unit),
            prefix: None,
        };
        let invalid = |error: UnitError| GoalProblem::InvalidLimit {
            limit: text.to_owned(),
            error,
        };
        if let Ok(value) = text.parse::<f64>() {
            return Ok(Self {
                value,
                unit: None,
                prefix: None,
            });
        }
        if let Some(amount) = text.strip_suffix("/s") {
            if !amount.ends_with('B') {
                let rate = units::parse_rate(text).map_err(invalid)?;
                return Ok(limit(rate, MetricUnit::PerSecond));
            }
            let bytes = units::parse_size(amount).map_err(invalid)?;
            return Ok(Self {
                prefix: byte_prefix(amount),
                ..limit(bytes as f64, MetricUnit::BytesPerSecond)
            });
        }
        let percent = text.strip_suffix('%');
        if let Some(percent) = percent.and_then(|number| number.trim().parse::<f64>().ok()) {
            return Ok(limit(percent / 100.0, MetricUnit::Ratio));
        }
        if let Ok(duration) = units::parse_duration(text) {
            return Ok(limit(duration.as_nanos() as f64, MetricUnit::Nanoseconds));
        }
        let bytes = units::parse_size(text).map_err(invalid)?;
        Ok(Self {
            prefix: byte_prefix(text),
            ..limit(bytes as f64, MetricUnit::Bytes)
        })
    }
}

/// The prefix of an amount of bytes, such as `Mi` in `70 MiB`.
fn byte_prefix(amount: &str) -> Option<BytePrefix> {
    let unit = amount.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
    let known = BytePrefix::ALL.into_iter();
    known.into_iter().find(|prefix| {
        let written = unit.strip_suffix('B').unwrap_or(unit);
        written == prefix.symbol() || (*prefix == BytePrefix::Kilo && written == "K")
    })
}

/// `, did you mean NAME?` if the name is similar to that of a metric.
fn similar_metric(name: &str) -> String {
    let names: Vec<String> = MetricKind::FIXED.iter().map(ToString::to_string).collect();
    text::suggestion(name, names.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::document::Metric;

    fn findings() -> Findings {
        Findings {
            metrics: vec![
                Metric::new(MetricId::IOPS, 1200.0),
                Metric::new(MetricId::LATENCY_P95, 4e8),
                Metric::new(MetricId::THROUGHPUT_MIN, 65e6),
            ],
            ..Findings::default()
        }
    }

    #[test]
    fn goals_are_met_or_missed() {
        for (text, met) in [
            ("iops>=1000", Some(true)),
            ("iops >= 1.5k/s", Some(false)),
            ("p95<=500ms", Some(true)),
            ("latency_p95<=300ms", Some(false)),
            ("throughput_min>=70MB/s", Some(false)),
            ("p99.9<=1s", None),
        ] {
            assert_eq!(
                SloSpec::parse(text).unwrap().evaluate(&findings()).met,
                met,
                "{text}"
            );
        }
    }

    #[test]
    fn goal_with_impossible_metric_or_unit_is_refused() {
        for (text, hint) in [
            ("foo>=5", "no benchmark has a metric foo"),
            ("iops>=5ms", "1000/s"),
            ("p95<=70MB/s", "5ms"),
            ("throughput_min>=100/s", "70MB/s"),
            ("latency_mean<=4KiB", "5ms"),
            ("optimal_depth<=5ms", "100"),
        ] {
            let message = SloSpec::parse(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{message}");
        }
        for text in [
            "random-read/iops>=1",
            "write_latency_p99<=1s",
            "optimal_depth<=8",
            "optimal_depth_p90<=5ms",
        ] {
            assert!(SloSpec::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn goal_holds_metric_comparison_and_limit_as_data() {
        let goal = SloSpec::parse(" p99.9 <= 2ms ").unwrap();
        assert_eq!(*goal.metric(), MetricId::LATENCY_P99_9);
        assert_eq!((goal.comparison, goal.limit), (GoalComparison::AtMost, 2e6));
        let goal = SloSpec::parse("speedup>=2").unwrap();
        assert_eq!((goal.unit, goal.prefix), (MetricUnit::Ratio, None));
        for (text, prefix) in [
            ("throughput>=70MB/s", Some(BytePrefix::Mega)),
            ("throughput>=70 MiB/s", Some(BytePrefix::Mebi)),
            ("cache_bytes>=1GiB", Some(BytePrefix::Gibi)),
            ("throughput>=70000000B/s", None),
            ("iops>=2k/s", None),
        ] {
            assert_eq!(SloSpec::parse(text).unwrap().prefix, prefix, "{text}");
        }
    }

    #[test]
    fn goal_presets_expand_to_their_goals() {
        for (name, goals) in PRESETS {
            let wanted = SloSpec::parse_all(name).unwrap();
            let texts: Vec<&str> = wanted.iter().map(|goal| goal.text.as_str()).collect();
            assert_eq!(texts, goals);
        }
        assert_eq!(SloSpec::parse_all("iops>=5").unwrap().len(), 1);
        let message = SloSpec::parse_all("mail-server").unwrap_err().to_string();
        assert!(message.contains("web-server"), "{message}");
        let web = SloSpec::parse_all("web-server").unwrap();
        assert!(
            web.iter()
                .all(|goal| goal.evaluate(&findings()).met == Some(true))
        );
    }

    #[test]
    fn invalid_goal_error_shows_example() {
        for text in [
            "fast",
            "iops>1000",
            "iops>=",
            ">=5",
            "p95<=500 parsecs",
            "throughput>=70M/s B",
            "a>=1<=2",
        ] {
            assert!(SloSpec::parse(text).is_err(), "{text}");
        }
    }
}
