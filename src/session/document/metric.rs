//! A metric and its unit.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric_id::MetricId;
use super::metric_kind::MetricKind;
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
