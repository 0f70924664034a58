//! Conditions over snapshots, `await(sda)>50ms for 3s`, and the command that they start.
//!
//! A [`ConditionSet`] is parsed from the texts of `--on`; a [`ConditionMonitor`] evaluates it over a
//! sequence of snapshots and returns a [`Trigger`] when a condition begins to hold. Pure, but for
//! [`command`]: the time comes from the caller.

pub mod command;
mod instance;
mod language;
mod metric;
mod monitor;
mod scope;
mod set;
pub mod trigger_text;
mod value;

pub use self::instance::ScopeInstance;
pub use self::language::{Comparison, Condition, ConditionError};
pub use self::metric::{ConditionMetric, metric_names};
pub use self::monitor::{ConditionMonitor, Trigger};
pub use self::scope::{Scope, ScopeKind};
pub use self::set::{ConditionSet, SampleNeeds};
