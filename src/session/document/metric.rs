//! A metric and its unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::safe_text::SafeText;
use crate::units;

/// The unit of a metric or of a chart's axis.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum MetricUnit {
    /// Requests or events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Revolutions per minute.
    #[serde(rename = "rpm")]
    RevolutionsPerMinute,
    /// A fraction or ratio: 1 is the whole.
    #[serde(rename = "ratio")]
    Ratio,
    /// A plain number, such as a queue depth.
    #[serde(rename = "1")]
    Count,
    /// An angular position within the revolution, 0 to 1.
    #[serde(rename = "revolution")]
    Revolution,
    /// Sectors of 512 bytes.
    #[serde(rename = "sectors")]
    Sectors,
}

impl MetricUnit {
    /// Formats a value of this unit, such as `78.1 us`, `512 MB/s`, `83.9k /s`.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{} /s", units::format_count(value)),
            Self::BytesPerSecond => units::format_throughput(value),
            Self::Nanoseconds => units::format_latency(value),
            Self::Bytes => units::format_capacity(value),
            Self::RevolutionsPerMinute => format!("{value:.2} rpm"),
            Self::Ratio => units::format_three_digits(value),
            Self::Count => units::format_count(value),
            Self::Revolution => format!("{value:.3} rev"),
            Self::Sectors => format!("{value:.0} sectors"),
        }
    }
}

/// A metric: one result with its unit. Every output is rendered from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Name, such as `iops`.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub name: SafeText,
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
    /// Creates a metric without a confidence interval.
    #[must_use]
    pub fn new(name: &str, value: f64, unit: MetricUnit) -> Self {
        Self {
            name: name.into(),
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
        match self.name.as_str() {
            "iops" => "IOPS".to_owned(),
            name => name.replace('_', " "),
        }
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
        if self.unit == MetricUnit::Bytes && self.name.ends_with("_size") {
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
