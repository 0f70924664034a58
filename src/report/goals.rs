//! Text of service level goals, shared by terminal, report and interface.

use crate::session::document::SloResult;
use crate::units;

/// Below this fraction of its limit, a value is given as that fraction: a percentage would round to
/// 100 % below.
const FRACTION_THRESHOLD: f64 = 0.1;
/// From this ratio on, a multiple is easier to read than a percentage.
const MULTIPLE_THRESHOLD: f64 = 10.0;

/// `met`, `missed` or `not determined`.
#[must_use]
pub fn status(goal: &SloResult) -> &'static str {
    match goal.met {
        Some(true) => "met",
        Some(false) => "missed",
        None => "not determined",
    }
}

/// Why the goal was not determined; `None` if it was.
#[must_use]
pub fn undetermined_reason(goal: &SloResult) -> Option<&'static str> {
    goal.met
        .is_none()
        .then_some("the run did not yield that metric")
}

/// The measured value for display.
#[must_use]
pub fn measured_text(goal: &SloResult) -> Option<String> {
    Some(goal.unit.format(goal.measured?))
}

/// The margin between value and limit; `None` without a value, and for a limit of 0.
#[must_use]
pub fn margin_text(goal: &SloResult) -> Option<String> {
    let ratio = goal.measured? / goal.limit;
    if goal.limit == 0.0 {
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

/// The measured value and the margin, such as `4.00 ms, 20 % below the limit`.
#[must_use]
pub fn outcome_text(goal: &SloResult) -> Option<String> {
    let measured = measured_text(goal)?;
    Some(match margin_text(goal) {
        Some(margin) => format!("{measured}, {margin}"),
        None => measured,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::document::{GoalComparison, MetricId, MetricUnit};

    fn latency_goal(met: Option<bool>, measured: Option<f64>, limit: f64) -> SloResult {
        SloResult {
            goal: "p95<=5ms".into(),
            metric: Some(MetricId::LATENCY_P95),
            comparison: Some(GoalComparison::AtMost),
            met,
            measured,
            limit,
            prefix: None,
            unit: MetricUnit::Nanoseconds,
        }
    }

    #[test]
    fn goal_margin_names_side_and_distance() {
        let outcome = |measured, limit| outcome_text(&latency_goal(None, measured, limit));
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
        let goal = |met| latency_goal(met, None, 5e6);
        assert_eq!(status(&goal(None)), "not determined");
        assert!(undetermined_reason(&goal(None)).unwrap().contains("metric"));
        let met = goal(Some(true));
        assert_eq!((status(&met), undetermined_reason(&met)), ("met", None));
    }
}
