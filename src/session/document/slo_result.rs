//! The result of a service level goal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::MetricUnit;
use crate::safe_text::SafeText;
use crate::units;

/// A service level goal and whether the run met it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloResult {
    /// The goal as the user specified it, such as `p95<=500ms`.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub goal: SafeText,
    /// Whether the goal was met; null if the metric could not be determined.
    pub met: Option<bool>,
    /// The measured value, in the metric's unit.
    pub measured: Option<f64>,
    /// The limit, in the metric's unit.
    pub limit: f64,
    /// Unit of `measured` and `limit`.
    pub unit: MetricUnit,
}

/// Below this fraction of its limit, a value is given as that fraction: a percentage would round to
/// 100 % below.
const FRACTION_THRESHOLD: f64 = 0.1;
/// From this ratio on, a multiple is easier to read than a percentage.
const MULTIPLE_THRESHOLD: f64 = 10.0;

impl SloResult {
    /// The measured value for display.
    #[must_use]
    pub fn measured_text(&self) -> Option<String> {
        Some(self.unit.format(self.measured?))
    }

    /// The margin between value and limit; `None` without a value, and for a limit of 0.
    #[must_use]
    pub fn margin_text(&self) -> Option<String> {
        let ratio = self.measured? / self.limit;
        if self.limit == 0.0 {
            return None;
        }
        Some(if (ratio - 1.0).abs() < 0.0005 {
            "at the limit".to_owned()
        } else if ratio >= MULTIPLE_THRESHOLD {
            format!("{} times the limit", units::format_three_digits(ratio))
        } else if ratio < 0.001 {
            "less than 0.1 % of the limit".to_owned()
        } else if ratio < FRACTION_THRESHOLD {
            format!("{} of the limit", units::format_percent(ratio))
        } else {
            let side = if ratio >= 1.0 { "above" } else { "below" };
            format!(
                "{} {side} the limit",
                units::format_percent((ratio - 1.0).abs())
            )
        })
    }

    /// `met`, `missed` or `not determined`.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "not determined",
        }
    }

    /// Why the goal is not determined; `None` if it is.
    #[must_use]
    pub fn undetermined_reason(&self) -> Option<&'static str> {
        self.met
            .is_none()
            .then_some("the run did not yield that metric")
    }

    /// The measured value and its margin, if known.
    #[must_use]
    pub fn outcome_text(&self) -> Option<String> {
        let measured = self.measured_text()?;
        Some(match self.margin_text() {
            Some(margin) => format!("{measured}, {margin}"),
            None => measured,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goal_margin_names_side_and_distance() {
        let outcome = |measured, limit| {
            let goal = SloResult {
                goal: "p95<=5ms".into(),
                met: None,
                measured,
                limit,
                unit: MetricUnit::Nanoseconds,
            };
            goal.outcome_text()
        };
        let text = |value, limit| outcome(Some(value), limit).unwrap();
        assert_eq!(text(4e6, 5e6), "4.00 ms, 20 % below the limit");
        assert_eq!(text(6e6, 5e6), "6.00 ms, 20 % above the limit");
        assert_eq!(text(6e7, 5e6), "60.0 ms, 12.0 times the limit");
        assert_eq!(text(6e6, 0.0), "6.00 ms");
        assert_eq!(text(5e6, 5e6), "5.00 ms, at the limit");
        assert_eq!(text(4.999e6, 5e6), "5.00 ms, at the limit");
        assert_eq!(text(5e3, 5e6), "5.00 us, 0.1 % of the limit");
        assert_eq!(text(5e2, 5e6), "500 ns, less than 0.1 % of the limit");
        assert_eq!(outcome(None, 5e6), None);
        for exponent in -12..12 {
            let text = text(5e6 * 10_f64.powi(exponent), 5e6);
            assert!(!text.contains("100 % below"), "{text}");
        }
    }

    #[test]
    fn goal_without_value_is_not_determined_with_reason() {
        let goal = |met| SloResult {
            goal: "p95<=5ms".into(),
            met,
            measured: None,
            limit: 5e6,
            unit: MetricUnit::Nanoseconds,
        };
        assert_eq!(goal(None).status(), "not determined");
        assert!(goal(None).undetermined_reason().unwrap().contains("metric"));
        assert_eq!(
            (
                goal(Some(true)).status(),
                goal(Some(true)).undetermined_reason()
            ),
            ("met", None)
        );
    }
}
