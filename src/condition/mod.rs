//! Conditions over snapshots: `await(sda)>50ms for 3s`.
//!
//! A [`ConditionSet`] is parsed from the texts of `--on`; a [`ConditionMonitor`] evaluates it over a
//! sequence of snapshots and returns a [`Trigger`] when a condition begins to hold. Pure: the time
//! comes from the caller.

mod error;
mod instance;
mod language;
mod metric;
mod monitor;
mod scope;
mod set;
mod value;

pub use self::error::{ConditionError, ConditionProblem};
pub use self::instance::ScopeInstance;
pub use self::language::{Comparison, Condition};
pub use self::metric::{ConditionMetric, METRICS, MetricInfo, MetricSource};
pub use self::monitor::{ConditionMonitor, Trigger};
pub use self::scope::{Scope, ScopeKind};
pub use self::set::{ConditionSet, SampleNeeds};
