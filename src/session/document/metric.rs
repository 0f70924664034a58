//! A metric and its unit.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric_kind::{MetricId, MetricKind};
use super::metric_unit::MetricUnit;
use crate::units;

/// A metric: one result with its unit. Every output is rendered from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Metric {
    /// Name, such as `iops`.
    #[serde(rename = "name")]
    pub id: MetricId,
    /// The value in `unit`.
    pub value: f64,
    /// Unit of `value`, `low` and `high`.
    pub unit: MetricUnit,
    /// Lower bound of the 95 % confidence interval; null if not determined.
    pub low: Option<f64>,
    /// Upper bound of the 95 % confidence interval; null if not determined.
    pub high: Option<f64>,
    /// Number of observations that the value is based on, where such a number is meaningful.
    pub observations: Option<u64>,
}

impl Metric {
    /// Creates a metric in its own unit, without a confidence interval.
    #[must_use]
    pub fn new(id: MetricId, value: f64) -> Self {
        let unit = id.unit().unwrap_or(MetricUnit::Count);
        Self::with_unit(id, value, unit)
    }

    /// Creates a metric in the unit that a document gives, without a confidence interval.
    #[must_use]
    pub fn with_unit(id: MetricId, value: f64, unit: MetricUnit) -> Self {
        Self {
            id,
            value,
            unit,
            low: None,
            high: None,
            observations: None,
        }
    }

    /// The name for display, such as `latency p99`.
    #[must_use]
    pub fn label(&self) -> String {
        self.id.label()
    }

    /// The value for display; request sizes in binary units, offsets in decimal ones.
    #[must_use]
    pub fn value_text(&self) -> String {
        self.format_value(self.value)
    }

    /// The value for display beside the label: a rate of requests without its unit, which the label
    /// names, such as `83.9k` beside `IOPS`.
    #[must_use]
    pub fn value_beside_label(&self) -> String {
        if self.label_names_unit() {
            return units::format_count(self.value);
        }
        self.value_text()
    }

    /// The value for display with the unit that the label names, such as `83.9k IOPS`.
    #[must_use]
    pub fn value_with_named_unit(&self) -> String {
        if self.label_names_unit() {
            return format!("{} IOPS", units::format_count(self.value));
        }
        self.value_text()
    }

    /// What the label says beside [`Self::value_with_named_unit`]: empty for `IOPS`.
    #[must_use]
    pub fn label_without_unit(&self) -> String {
        let label = self.label();
        if !self.label_names_unit() {
            return label;
        }
        let words = label.split([' ', ',']).filter(|word| *word != "IOPS");
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join(" ")
    }

    /// Whether the label names the unit: that of a rate of requests does.
    fn label_names_unit(&self) -> bool {
        self.unit == MetricUnit::PerSecond && self.id.unit() == Some(MetricUnit::PerSecond)
    }

    /// The 95 % confidence interval for display, if there is one, such as `70.2k to 75.9k /s`. The
    /// unit appears once if both bounds have the same.
    #[must_use]
    pub fn interval_text(&self) -> Option<String> {
        let (low, high) = (self.format_value(self.low?), self.format_value(self.high?));
        let low = match (low.rsplit_once(' '), high.rsplit_once(' ')) {
            (Some((number, unit)), Some((_, same))) if unit == same => number,
            _ => low.as_str(),
        };
        Some(format!("{low} to {high}"))
    }

    /// The larger half-width of the 95 % confidence interval relative to the value, such as
    /// `+-1.2 %`.
    #[must_use]
    pub fn margin_text(&self) -> Option<String> {
        let margin = (self.value - self.low?).max(self.high? - self.value);
        let share = margin / self.value.abs();
        share
            .is_finite()
            .then(|| format!("+-{}", units::format_percent(share)))
    }

    fn format_value(&self, value: f64) -> String {
        let is_block_size = self.id.kind().is_some_and(MetricKind::is_block_size);
        if self.unit == MetricUnit::Bytes && is_block_size {
            return units::format_block_size(value);
        }
        self.unit.format(value)
    }

    /// Sets the 95 % confidence interval.
    #[must_use]
    pub fn with_interval(mut self, low: f64, high: f64) -> Self {
        self.low = Some(low);
        self.high = Some(high);
        self
    }

    /// Sets the number of observations.
    #[must_use]
    pub fn with_observations(mut self, observations: u64) -> Self {
        self.observations = Some(observations);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_of_requests_names_its_unit_once() {
        let parts = |id: MetricId, value| {
            let metric = Metric::new(id, value);
            [
                metric.value_beside_label(),
                metric.value_with_named_unit(),
                metric.label_without_unit(),
            ]
        };
        assert_eq!(parts(MetricId::IOPS, 83_915.0), ["83.9k", "83.9k IOPS", ""]);
        assert_eq!(
            parts(MetricId::STEADY_STATE_IOPS, 80_000.0),
            ["80.0k", "80.0k IOPS", "steady-state"]
        );
        assert_eq!(
            parts(MetricId::LATENCY_P99, 171_000.0),
            ["171 us", "171 us", "latency p99"]
        );
        // Of a unit that its name does not imply.
        let other = Metric::with_unit(MetricId::parse("swaps"), 12.0, MetricUnit::PerSecond);
        assert_eq!(other.value_beside_label(), "12 /s");
    }
}
