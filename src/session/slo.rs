//! Service level goals: "at least 1000 IOPS", "p95 at most 500 ms", "never under 70 MB/s".

use super::document::{
    Findings, GoalComparison, Kind as _, Metric, MetricId, MetricKind, MetricUnit, SloResult,
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
    /// Prefix of a limit in bytes, such as `Mi`.
    prefix: Option<&'static str>,
}

/// Named goals for common kinds of machines.
pub const PRESETS: [(&str, &[&str]); 3] = [
    ("web-server", &["iops>=1000", "p95<=500ms"]),
    ("video-player", &["max<=40ms"]),
    ("backup-store", &["throughput_min>=70MB/s"]),
];

/// Binary and decimal prefixes of bytes, in order of the power of 1024 or 1000.
const PREFIXES: [[&str; 2]; 4] = [["Ki", "k"], ["Mi", "M"], ["Gi", "G"], ["Ti", "T"]];

/// The prefix of the same power in the other system (`M` for `Mi`), and how many times the first the
/// other is.
pub(super) fn other_prefix(prefix: &str) -> Option<(&'static str, f64)> {
    (1..).zip(PREFIXES).find_map(|(power, [binary, decimal])| {
        let ratio = 1.024_f64.powi(power);
        if prefix == binary {
            return Some((decimal, 1.0 / ratio));
        }
        (prefix == decimal).then_some((binary, ratio))
    })
}

/// Why a goal cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    /// No comparison, or several.
    #[error(
        "write METRIC>=LIMIT or METRIC<=LIMIT, such as p95<=500ms, or one of {}",
        PRESETS.map(|(name, _)| name).join(", ")
    )]
    NoComparison,
    /// No metric before the comparison.
    #[error("write the name of a metric before the comparison, such as iops")]
    NoMetric,
    /// A metric that no benchmark has.
    #[error(
        "no benchmark has a metric {0}{similar}: write one such as iops, throughput, p95, latency_mean or \
         throughput_min",
        similar = similar_metric(.0)
    )]
    UnknownMetric(String),
    /// A number that may mean two things.
    #[error("{number} has no unit: write {number}{first} or {number}{second}")]
    NoUnit {
        /// The number.
        number: String,
        /// One unit that it may have.
        first: &'static str,
        /// Another.
        second: &'static str,
    },
    /// No limit of this metric.
    #[error("invalid limit for {name}: write one such as {}", example_limit(*unit))]
    WrongUnit {
        /// Name of the metric.
        name: String,
        /// Unit of the metric.
        unit: MetricUnit,
    },
    /// The size cannot be read.
    #[error("the limit {limit:?} {error}")]
    InvalidSize {
        /// The limit.
        limit: String,
        /// What is wrong with it.
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

    /// Parses a goal such as `p95<=500ms`, or the name of a preset.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, GoalError> {
        match PRESETS.iter().find(|(name, _)| *name == text.trim()) {
            Some((_, goals)) => goals.iter().map(|goal| Self::parse(goal)).collect(),
            None => Self::parse(text).map(|goal| vec![goal]),
        }
    }

    /// Parses a goal such as `iops>=10k`, `p95<=500ms` or `throughput_min>=70MB/s`.
    ///
    /// # Errors
    /// When it is not a goal, or the limit has not the unit of the metric.
    pub fn parse(text: &str) -> Result<Self, GoalError> {
        let text = text.trim();
        let (name, limit, comparison) = match (text.split_once(">="), text.split_once("<=")) {
            (Some((name, limit)), None) => (name.trim(), limit.trim(), GoalComparison::AtLeast),
            (None, Some((name, limit))) => (name.trim(), limit.trim(), GoalComparison::AtMost),
            _ => return Err(GoalError::NoComparison),
        };
        if name.is_empty() {
            return Err(GoalError::NoMetric);
        }
        let metric = parse_metric(name);
        let unit = metric
            .unit()
            .ok_or_else(|| GoalError::UnknownMetric(name.to_owned()))?;
        let (limit, prefix) = parse_limit(limit, name, unit)?;
        Ok(Self {
            text: text.to_owned(),
            metric,
            comparison,
            limit,
            unit,
            prefix,
        })
    }

    /// Compares the goal with what was measured.
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
            prefix: self.prefix.map(Into::into),
            unit: self.unit,
        }
    }
}

/// `p95` means `latency_p95`, `mean` means `latency_mean`.
fn parse_metric(name: &str) -> MetricId {
    let short = MetricKind::from_name(&format!("latency_{name}"));
    short.map_or_else(|| MetricId::parse(name), MetricId::of)
}

/// The limit in the unit of its metric, and its prefix if it is a size.
fn parse_limit(
    limit: &str,
    metric: &str,
    unit: MetricUnit,
) -> Result<(f64, Option<&'static str>), GoalError> {
    let is_bare = limit.parse::<f64>().is_ok();
    match (unit, limit.strip_suffix("/s")) {
        (MetricUnit::BytesPerSecond | MetricUnit::Nanoseconds, None) if is_bare => {
            return Err(without_unit(limit, unit));
        }
        (MetricUnit::BytesPerSecond, Some(amount)) if amount.ends_with('B') => {
            return parse_size(amount, limit);
        }
        (MetricUnit::Bytes, None) => return parse_size(limit, limit),
        _ => {}
    }
    let has_fitting_unit = unit == MetricUnit::PerSecond || !limit.ends_with("/s");
    let value = parse_number(limit, unit).filter(|value| value.is_finite() && has_fitting_unit);
    let wrong_unit = || GoalError::WrongUnit {
        name: metric.to_owned(),
        unit,
    };
    Ok((value.ok_or_else(wrong_unit)?, None))
}

/// A number without unit may be microseconds as fio prints them or milliseconds, decimal or binary
/// megabytes.
fn without_unit(number: &str, unit: MetricUnit) -> GoalError {
    let [first, second] = if unit == MetricUnit::Nanoseconds {
        ["us", "ms"]
    } else {
        ["MB/s", "MiB/s"]
    };
    GoalError::NoUnit {
        number: number.to_owned(),
        first,
        second,
    }
}

/// A limit that is no size, in the unit of its metric.
fn parse_number(limit: &str, unit: MetricUnit) -> Option<f64> {
    match unit {
        MetricUnit::PerSecond => units::parse_rate(limit).ok(),
        MetricUnit::BytesPerSecond => None,
        MetricUnit::Nanoseconds => Some(units::parse_duration(limit).ok()?.as_nanos() as f64),
        MetricUnit::Ratio => match limit.strip_suffix('%') {
            Some(percent) => percent
                .trim()
                .parse()
                .ok()
                .map(|percent: f64| percent / 100.0),
            None => limit.parse().ok(),
        },
        _ => limit.parse().ok(),
    }
}

/// A size in bytes and its prefix; `limit` is the whole limit for the message.
fn parse_size(amount: &str, limit: &str) -> Result<(f64, Option<&'static str>), GoalError> {
    let bytes = units::parse_size(amount).map_err(|error| GoalError::InvalidSize {
        limit: limit.to_owned(),
        error,
    })?;
    let unit = amount.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
    let written = unit.strip_suffix('B').unwrap_or(unit);
    let written = if written == "K" { "k" } else { written };
    let mut known = PREFIXES.into_iter().flatten();
    Ok((bytes as f64, known.find(|prefix| *prefix == written)))
}

fn example_limit(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::PerSecond => "1000/s or 10k",
        MetricUnit::BytesPerSecond => "70MB/s",
        MetricUnit::Nanoseconds => "500us or 5ms",
        MetricUnit::Bytes => "64KiB",
        _ => "100",
    }
}

fn similar_metric(name: &str) -> String {
    let names: Vec<String> = MetricKind::FIXED.iter().map(ToString::to_string).collect();
    text::suggestion(name, names.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let goal = SloSpec::parse(text).unwrap();
            assert_eq!(goal.evaluate(&findings()).met, met, "{text}");
        }
    }

    #[test]
    fn limits_have_the_unit_of_their_metric() {
        for (text, limit, prefix) in [
            (" p99.9 <= 2ms ", 2e6, None),
            ("write_latency_p99<=1s", 1e9, None),
            ("optimal_depth_p90<=5ms", 5e6, None),
            ("random-read/iops>=1", 1.0, None),
            ("iops>=10k", 10_000.0, None),
            ("iops>=2k/s", 2000.0, None),
            ("optimal_depth<=8", 8.0, None),
            ("speedup>=2", 2.0, None),
            ("share_slower<=5%", 0.05, None),
            ("throughput>=70MB/s", 7e7, Some("M")),
            ("throughput>=70 MiB/s", 73_400_320.0, Some("Mi")),
            ("throughput>=70000000B/s", 7e7, None),
            ("cache_bytes>=1GiB", 1_073_741_824.0, Some("Gi")),
            ("cache_bytes>=4096", 4096.0, None),
        ] {
            let goal = SloSpec::parse(text).unwrap();
            assert_eq!((goal.limit, goal.prefix), (limit, prefix), "{text}");
        }
    }

    #[test]
    fn goal_that_cannot_be_read_is_refused_with_what_to_write() {
        for (text, hint) in [
            ("foo>=5", "no benchmark has a metric foo"),
            ("iops>=5ms", "1000/s"),
            ("p95<=70MB/s", "5ms"),
            ("p95<=500 parsecs", "5ms"),
            ("throughput_min>=100/s", "70MB/s"),
            ("throughput>=70MB", "70MB/s"),
            ("throughput>=70M/s B", "70MB/s"),
            ("latency_mean<=4KiB", "5ms"),
            ("optimal_depth<=5ms", "100"),
            ("optimal_depth<=5/s", "100"),
            ("cache_bytes>=4K", "4KiB"),
            ("fast", "METRIC>=LIMIT"),
            ("iops>1000", "METRIC>=LIMIT"),
            ("a>=1<=2", "METRIC>=LIMIT"),
            ("iops>=", "1000/s"),
            ("iops>=NaN", "1000/s"),
            (">=5", "name of a metric"),
            // Microseconds, as in fio's output, or milliseconds; decimal or binary.
            ("p95<=500", "write 500us or 500ms"),
            ("max<=1.5", "write 1.5us or 1.5ms"),
            ("throughput>=70", "write 70MB/s or 70MiB/s"),
            ("throughput_min>=7e7", "write 7e7MB/s or 7e7MiB/s"),
        ] {
            let message = SloSpec::parse(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
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
    }
}
