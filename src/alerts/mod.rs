//! Conditions over snapshots, `await(sda)>50ms for 3s`, and the command that they start.
//!
//! A [`ConditionSet`] is parsed from the texts of `--on`; a [`ConditionMonitor`] evaluates it over a
//! sequence of snapshots and returns a [`Trigger`] when a condition begins to hold. Pure, but for
//! [`command`]: the time comes from the caller.

pub mod command;
mod condition;
mod metric;
mod monitor;
mod scope;
pub mod trigger_text;

pub use self::condition::{Condition, ConditionError};
pub use self::metric::{ConditionMetric, metric_names};
pub use self::monitor::{ConditionMonitor, ConditionSet, Trigger};
pub use self::scope::{Scope, ScopeInstance, ScopeKind};
