//! Service level goals: "at least 1000 IOPS", "p95 at most 500 ms", "never under 70 MB/s".

use super::document::{Findings, Metric, MetricUnit, SloResult};
use crate::units;

/// A goal as the user specified it, parsed but not evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct SloSpec {
    text: String,
    metric: String,
    is_lower_bound: bool,
    limit: f64,
    unit: MetricUnit,
}

/// Presets: goals that a web server, a video player and a backup store set for a drive.
pub const PRESETS: [(&str, &[&str]); 3] = [
    ("web-server", &["iops>=1000", "p95<=500ms"]),
    ("video-player", &["max<=40ms"]),
    ("backup-store", &["throughput_min>=70MB/s"]),
];

/// The error for a text that is not a goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--goal {text:?}: {reason}")]
pub struct GoalError {
    text: String,
    reason: String,
}

impl GoalError {
    /// What is wrong with the text, and how to write a goal.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl SloSpec {
    /// The goal as the user wrote it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Name of the metric that the goal limits.
    #[must_use]
    pub fn figure(&self) -> &str {
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
    /// If the comparison is missing, or the limit is not a valid quantity.
    pub fn parse(text: &str) -> Result<Self, GoalError> {
        let text = text.trim();
        let error = |reason: String| GoalError {
            text: text.to_owned(),
            reason,
        };
        let (name, limit, at_least) = match (text.split_once(">="), text.split_once("<=")) {
            (Some((name, limit)), None) => (name, limit, true),
            (None, Some((name, limit))) => (name, limit, false),
            _ => {
                return Err(error(format!(
                    "write NAME>=LIMIT or NAME<=LIMIT, such as p95<=500ms, or one of {}",
                    PRESETS.map(|(name, _)| name).join(", ")
                )));
            }
        };
        let (limit, unit) = parse_limit(limit.trim()).map_err(error)?;
        let name = name.trim();
        if name.is_empty() {
            return Err(error(
                "write a figure's name before the comparison, such as iops".to_owned(),
            ));
        }
        check_metric(name, unit).map_err(error)?;
        let short = name == "mean" || name == "max" || is_percentile(name);
        let figure = if short {
            format!("latency_{name}")
        } else {
            name.to_owned()
        };
        Ok(Self {
            text: text.to_owned(),
            metric: figure,
            is_lower_bound: at_least,
            limit,
            unit,
        })
    }

    /// Evaluates the goal; unknown if the metric is absent or has another unit.
    #[must_use]
    pub fn evaluate(&self, findings: &Findings) -> SloResult {
        let same = |figure: &&Metric| figure.unit == self.unit || self.unit == MetricUnit::Count;
        let measured = findings.metric(&self.metric).filter(same);
        SloResult {
            goal: self.text.clone().into(),
            met: measured.map(|figure| {
                if self.is_lower_bound {
                    figure.value >= self.limit
                } else {
                    figure.value <= self.limit
                }
            }),
            measured: measured.map(|figure| figure.value),
            limit: self.limit,
            unit: measured.map_or(self.unit, |figure| figure.unit),
        }
    }
}

/// Words of which a metric's name contains at least one, with the unit of those that always have
/// the same.
const METRIC_WORDS: &[(&str, Option<MetricUnit>)] = &[
    ("iops", Some(MetricUnit::PerSecond)),
    ("throughput", Some(MetricUnit::BytesPerSecond)),
    ("latency", Some(MetricUnit::Nanoseconds)),
    ("time", Some(MetricUnit::Nanoseconds)),
    ("seek", Some(MetricUnit::Nanoseconds)),
    ("speed", Some(MetricUnit::RevolutionsPerMinute)),
    ("offset", Some(MetricUnit::Bytes)),
    ("size", Some(MetricUnit::Bytes)),
    ("bytes", Some(MetricUnit::Bytes)),
    ("batch", None),
    ("coherence", None),
    ("depth", None),
    ("gain", None),
    ("interference", None),
    ("penalty", None),
    ("range", None),
    ("ratio", None),
    ("round", None),
    ("sectors", None),
    ("slope", None),
    ("slower", None),
    ("speedup", None),
    ("surfaces", None),
    ("zones", None),
];

/// Whether some benchmark has a metric with that name, and whether it can have that unit.
fn check_metric(name: &str, unit: MetricUnit) -> Result<(), String> {
    let metric = name.rsplit('/').next().unwrap_or(name);
    let mut words = metric.split('_').rev();
    let known = |word: &str| METRIC_WORDS.iter().find(|(known, _)| *known == word);
    let expected = if metric == "mean"
        || metric == "max"
        || words.clone().next().is_some_and(is_percentile)
    {
        Some(MetricUnit::Nanoseconds)
    } else if let Some((_, unit)) = words.find_map(known) {
        *unit
    } else {
        return Err(format!(
            "no benchmark has a metric {name}: write one such as iops, throughput, p95, latency_mean or \
             throughput_min"
        ));
    };
    match expected {
        // A bare number takes the unit of the metric.
        Some(expected) if unit != MetricUnit::Count && unit != expected => Err(format!(
            "that is no limit for {name}: write one such as {}",
            example_limit(expected)
        )),
        _ => Ok(()),
    }
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

fn is_percentile(name: &str) -> bool {
    name.strip_prefix('p')
        .is_some_and(|number| number.parse::<f64>().is_ok())
}

/// Parses a limit with its unit; a bare number takes the unit of the metric.
fn parse_limit(text: &str) -> Result<(f64, MetricUnit), String> {
    if let Ok(number) = text.parse::<f64>() {
        return Ok((number, MetricUnit::Count));
    }
    if let Some(amount) = text.strip_suffix("/s") {
        return match (units::parse_size(amount), units::parse_rate(text)) {
            (Ok(bytes), _) if amount.ends_with('B') => {
                Ok((bytes as f64, MetricUnit::BytesPerSecond))
            }
            (_, Ok(rate)) => Ok((rate, MetricUnit::PerSecond)),
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        };
    }
    if let Some(percent) = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok())
    {
        return Ok((percent / 100.0, MetricUnit::Ratio));
    }
    if let Ok(duration) = units::parse_duration(text) {
        return Ok((duration.as_nanos() as f64, MetricUnit::Nanoseconds));
    }
    units::parse_size(text)
        .map(|bytes| (bytes as f64, MetricUnit::Bytes))
        .map_err(|error| format!("the limit {text:?} {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Findings {
        Findings {
            figures: vec![
                Metric::new("iops", 1200.0, MetricUnit::PerSecond),
                Metric::new("latency_p95", 4e8, MetricUnit::Nanoseconds),
                Metric::new("throughput_min", 65e6, MetricUnit::BytesPerSecond),
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
