//! Why a text is no condition.

use super::metric::{ConditionMetric, similar_metric};
use super::scope::ScopeKind;
use crate::session::document::MetricUnit;
use crate::units::UnitError;

/// The error for a text that is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {problem}")]
pub struct ConditionError {
    pub(super) text: String,
    pub(super) problem: ConditionProblem,
}

impl ConditionError {
    /// What is wrong with the text.
    #[must_use]
    pub fn problem(&self) -> &ConditionProblem {
        &self.problem
    }
}

/// What is wrong with the text of a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionProblem {
    /// Not of the form of a condition.
    #[error("write METRIC(SCOPE) OP VALUE [for DURATION], such as await(sda)>50ms for 3s")]
    Syntax,
    /// No operator after the scope.
    #[error("write >, >=, < or <= after the scope, such as await(sda)>50ms")]
    NoOperator,
    /// There is no such metric.
    #[error(
        "there is no metric {0:?}{similar}: write one such as await, busy, pressure_full, dstate or \
         io_errors",
        similar = similar_metric(.0)
    )]
    UnknownMetric(String),
    /// A percentile.
    #[error(
        "{0} cannot be watched: the counters of the kernel yield means only. Write await, or trace the \
         requests with `diskscope trace`"
    )]
    Percentile(String),
    /// Nothing between the parentheses.
    #[error("{metric}() has no scope: {}", describe_scopes(*metric))]
    NoScope {
        /// The metric.
        metric: ConditionMetric,
    },
    /// The metric does not have such scopes.
    #[error("{metric} has no such scope: {}", describe_scopes(*metric))]
    WrongScope {
        /// The metric.
        metric: ConditionMetric,
    },
    /// The value is none of the unit of the metric.
    #[error(
        "the value {value:?} is none of {metric}: write {}",
        describe_values(metric.unit())
    )]
    InvalidValue {
        /// The metric.
        metric: ConditionMetric,
        /// The value as the user wrote it.
        value: String,
    },
    /// The value is no size.
    #[error(
        "the value {value:?} {error} ({metric} takes {})",
        describe_values(metric.unit())
    )]
    InvalidSize {
        /// The metric.
        metric: ConditionMetric,
        /// The value as the user wrote it.
        value: String,
        /// Why it is none.
        error: UnitError,
    },
    /// The time after `for` is none.
    #[error("the time {time:?} after \"for\" {error}")]
    InvalidDuration {
        /// The time as the user wrote it.
        time: String,
        /// Why it is none.
        error: UnitError,
    },
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

/// The values of a unit, with an example.
fn describe_values(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::PerSecond => "a rate such as 1000/s",
        MetricUnit::BytesPerSecond => "a throughput such as 70MB/s",
        MetricUnit::Nanoseconds => "a time such as 500us, 50ms or 30s",
        MetricUnit::Bytes => "a size such as 500MB or 1GiB",
        MetricUnit::Ratio => "a percentage such as 20%",
        _ => "a number such as 10",
    }
}
