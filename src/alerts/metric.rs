//! The metrics of conditions: the numbers of the columns.

use std::fmt;

use crate::alerts::scope::ScopeKind;
use crate::columns::{Column, Entity};
use crate::snapshot::Snapshot;
use crate::snapshot::view::{
    BlockedTaskView, DeviceView, IoErrorsView, MountView, ProcessView, UnitView,
};
use crate::text;
use crate::units::Unit;

/// A metric of a condition: a column of one or several kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionMetric {
    name: &'static str,
    unit: Unit,
}

impl ConditionMetric {
    /// The metric with that name: a key of `watch --json`, with or without `_ns`, iostat's name, or
    /// another one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        SOURCES.iter().find_map(|source| (source.find)(name))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.unit
    }

    /// The kinds of scopes that it has.
    pub fn kinds(self) -> impl Iterator<Item = ScopeKind> {
        let own = SOURCES
            .iter()
            .filter(move |source| (source.find)(self.name).is_some());
        own.map(|source| source.kind)
    }

    /// The kind of a name without one.
    #[must_use]
    pub fn default_kind(self) -> ScopeKind {
        let named = self.kinds().find(|kind| *kind != ScopeKind::System);
        named.unwrap_or(ScopeKind::System)
    }
}

impl fmt::Display for ConditionMetric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// An entity with metrics.
struct MetricSource {
    kind: ScopeKind,
    find: fn(&str) -> Option<ConditionMetric>,
    names: fn() -> Vec<&'static str>,
}

impl MetricSource {
    const fn of<E: Entity>(kind: ScopeKind) -> Self {
        Self {
            kind,
            find: found::<E>,
            names: names::<E>,
        }
    }
}

/// What conditions are about, in the order in which a name without a kind is looked up.
const SOURCES: [MetricSource; 7] = [
    MetricSource::of::<DeviceView>(ScopeKind::Device),
    MetricSource::of::<IoErrorsView>(ScopeKind::Device),
    MetricSource::of::<ProcessView>(ScopeKind::Process),
    MetricSource::of::<BlockedTaskView>(ScopeKind::Process),
    MetricSource::of::<UnitView>(ScopeKind::Unit),
    MetricSource::of::<MountView>(ScopeKind::Mount),
    MetricSource::of::<Snapshot>(ScopeKind::System),
];

/// The column of an entity that has a metric of that name.
pub(super) fn metric_column<E: Entity>(name: &str) -> Option<&'static Column<E>> {
    let has_name = |column: &&Column<E>| {
        column.is_number()
            && ([column.key, column.metric_name(), column.name].contains(&name)
                || column.aliases.contains(&name))
    };
    E::COLUMNS.iter().find(has_name)
}

fn found<E: Entity>(name: &str) -> Option<ConditionMetric> {
    let column = metric_column::<E>(name)?;
    Some(ConditionMetric {
        name: column.metric_name(),
        unit: column.unit,
    })
}

fn names<E: Entity>() -> Vec<&'static str> {
    let numbers = E::COLUMNS.iter().filter(|column| column.is_number());
    let all = numbers.flat_map(|it| {
        it.aliases
            .iter()
            .copied()
            .chain([it.metric_name(), it.name])
    });
    all.collect()
}

/// The names of all metrics, and their other names.
#[must_use]
pub fn metric_names() -> Vec<&'static str> {
    SOURCES.iter().flat_map(|source| (source.names)()).collect()
}

/// `, did you mean NAME?` if the name is similar to that of a metric.
pub(super) fn similar_metric(name: &str) -> String {
    text::suggestion(name, metric_names())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_metric_with_one_unit() {
        for name in metric_names() {
            let metric = ConditionMetric::parse(name).unwrap();
            let all = SOURCES.iter().filter_map(|source| (source.find)(name));
            for other in all {
                assert_eq!(other, metric, "{name}");
            }
        }
        let metric = ConditionMetric::parse("read_await_ns").unwrap();
        assert_eq!(metric.name(), "read_await");
        assert_eq!(ConditionMetric::parse("r_await"), Some(metric));
        assert_eq!(ConditionMetric::parse("busy_ns"), None);
    }
}
