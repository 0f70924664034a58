//! One result, and the unit that it is in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::safe_text::SafeText;
use crate::units;

/// The unit of a figure or of a chart's axis.
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
    /// A share or quotient: 1 is the whole.
    #[serde(rename = "ratio")]
    Ratio,
    /// A plain number, such as a queue depth.
    #[serde(rename = "1")]
    Count,
    /// A position on the revolution, 0 to 1.
    #[serde(rename = "revolution")]
    Revolution,
    /// Sectors of 512 bytes.
    #[serde(rename = "sectors")]
    Sectors,
}

impl MetricUnit {
    /// A value of this unit as people read it: `78.1 us`, `512 MB/s`, `83.9k /s`.
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

/// One result: typed once, rendered everywhere from this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Name, such as `iops`.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub name: SafeText,
    /// The value in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: MetricUnit,
    /// Lower 95 % confidence limit; null where it cannot be had.
    pub low: Option<f64>,
    /// Upper 95 % confidence limit; null where it cannot be had.
    pub high: Option<f64>,
    /// How many observations it rests on, where that is a number that means something.
    pub observations: Option<u64>,
}

impl Metric {
    /// A figure without confidence limits.
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

    /// The name as people read it: `latency p99`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.name.as_str() {
            "iops" => "IOPS".to_owned(),
            name => name.replace('_', " "),
        }
    }

    /// The value as people read it; sizes of requests in binary units, positions in decimal ones.
    #[must_use]
    pub fn value_text(&self) -> String {
        self.format_value(self.value)
    }

    /// The 95 % limits as people read them, where there are any: `70.2k to 75.9k /s`, the unit once
    /// where both have the same.
    #[must_use]
    pub fn interval_text(&self) -> Option<String> {
        let (low, high) = (self.format_value(self.low?), self.format_value(self.high?));
        let low = match (low.rsplit_once(' '), high.rsplit_once(' ')) {
            (Some((number, unit)), Some((_, same))) if unit == same => number,
            _ => low.as_str(),
        };
        Some(format!("{low} to {high}"))
    }

    /// How far the farther of the 95 % limits is from the value, as a share of it: `+-1.2 %`.
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

    /// The same figure with its 95 % confidence limits.
    #[must_use]
    pub fn with_interval(mut self, low: f64, high: f64) -> Self {
        self.low = Some(low);
        self.high = Some(high);
        self
    }

    /// The same figure, resting on that many observations.
    #[must_use]
    pub fn with_observations(mut self, observations: u64) -> Self {
        self.observations = Some(observations);
        self
    }
}
