//! The metrics of conditions: the numbers of the columns, and the rows of a snapshot that have them.

use std::fmt;

use super::scope::{Scope, ScopeInstance, ScopeKind};
use crate::columns::{Column, Entity};
use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::probe::Wanted;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{
    BlockedTaskView, DeviceView, IoErrorsView, MountView, ProcessView, UnitView,
};
use crate::text;
use crate::units::Unit;

/// Types of file systems that are full by nature.
const IMAGE_FILE_SYSTEMS: [&str; 5] = ["cramfs", "erofs", "iso9660", "romfs", "squashfs"];

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

    /// What has it, in the order in which a name without a kind is looked up.
    pub(super) fn sources(self) -> impl Iterator<Item = &'static MetricSource> {
        let all = SOURCES.iter();
        all.filter(move |source| (source.find)(self.name).is_some())
    }

    /// The kind of a name without one.
    #[must_use]
    pub fn default_kind(self) -> ScopeKind {
        self.sources()
            .next()
            .map_or(ScopeKind::System, |it| it.kind)
    }
}

impl fmt::Display for ConditionMetric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// An entity whose metrics conditions may be about.
trait Subject: Entity {
    /// Its rows in a snapshot.
    fn rows(live: &Snapshot) -> Vec<&Self>;

    /// What a row is, and whether it is one of `any`.
    fn instance(&self, live: &Snapshot) -> (ScopeInstance, bool);
}

/// A row of a snapshot in the scope of a condition, and its value; `None` if unknown.
type InScope = (ScopeInstance, Option<f64>);

/// An entity with metrics.
pub(super) struct MetricSource {
    pub(super) kind: ScopeKind,
    find: fn(&str) -> Option<ConditionMetric>,
    names: fn() -> Vec<&'static str>,
    /// The rows in a scope, with the value of the metric of that name.
    pub(super) in_scope: fn(&str, &Scope, &Snapshot) -> Vec<InScope>,
    pub(super) want: Want,
}

/// Adds what a snapshot must contain to have the metric of that name.
type Want = fn(&str, &mut Wanted);

impl MetricSource {
    const fn of<E: Subject>(kind: ScopeKind, want: Want) -> Self {
        Self {
            kind,
            find: found::<E>,
            names: names::<E>,
            in_scope: in_scope::<E>,
            want,
        }
    }
}

/// What conditions are about, in the order in which a name without a kind is looked up.
static SOURCES: [MetricSource; 7] = [
    MetricSource::of::<DeviceView>(ScopeKind::Device, |_, _| {}),
    MetricSource::of::<IoErrorsView>(ScopeKind::Device, |_, it| it.io_errors = true),
    MetricSource::of::<ProcessView>(ScopeKind::Process, |_, _| {}),
    MetricSource::of::<BlockedTaskView>(ScopeKind::Process, |_, it| it.blocked = true),
    MetricSource::of::<UnitView>(ScopeKind::Unit, |_, it| it.units = true),
    MetricSource::of::<MountView>(ScopeKind::Mount, |_, it| it.mounts = true),
    MetricSource::of::<Snapshot>(ScopeKind::System, |name, it| {
        it.blocked |= name.starts_with("blocked");
    }),
];

/// The column of an entity that has a metric of that name.
fn metric_column<E: Entity>(name: &str) -> Option<&'static Column<E>> {
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
        [it.metric_name(), it.name]
            .into_iter()
            .chain(it.aliases.iter().copied())
    });
    all.collect()
}

fn in_scope<E: Subject>(name: &str, scope: &Scope, live: &Snapshot) -> Vec<InScope> {
    let column = metric_column::<E>(name);
    let mut found = Vec::new();
    for row in E::rows(live) {
        let (instance, is_of_any) = row.instance(live);
        if scope.name.is_none() && is_of_any || scope.names(&instance) {
            found.push((instance, column.and_then(|it| it.number(row))));
        }
    }
    found
}

/// Whether a snapshot has anything in a scope.
pub(super) fn exists(scope: &Scope, live: &Snapshot) -> bool {
    let mut of_kind = SOURCES.iter().filter(|source| source.kind == scope.kind);
    of_kind.any(|source| !(source.in_scope)("", scope, live).is_empty())
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

/// An instance that is one of `any`.
fn instance(kind: ScopeKind, name: &SafeText, label: &SafeText) -> ScopeInstance {
    ScopeInstance {
        kind,
        name: name.clone(),
        label: label.clone(),
        pid: None,
    }
}

fn process(pid: u32, command: &SafeText) -> (ScopeInstance, bool) {
    let instance = ScopeInstance {
        pid: Some(pid),
        ..instance(ScopeKind::Process, command, &SafeText::new())
    };
    (instance, true)
}

impl Subject for DeviceView {
    fn rows(live: &Snapshot) -> Vec<&Self> {
        live.devices.iter().collect()
    }

    /// A partition repeats what its drive has.
    fn instance(&self, _: &Snapshot) -> (ScopeInstance, bool) {
        let is_of_any = self.kind != Some(DriveKind::Partition);
        (
            instance(ScopeKind::Device, &self.name, &self.label),
            is_of_any,
        )
    }
}

impl Subject for IoErrorsView {
    fn rows(live: &Snapshot) -> Vec<&Self> {
        live.io_errors.iter().flatten().collect()
    }

    /// The device may be gone by now.
    fn instance(&self, live: &Snapshot) -> (ScopeInstance, bool) {
        let device = live.devices.iter().find(|it| it.name == self.device);
        let label = device.map_or_else(SafeText::new, |it| it.label.clone());
        (instance(ScopeKind::Device, &self.device, &label), true)
    }
}

impl Subject for ProcessView {
    fn rows(live: &Snapshot) -> Vec<&Self> {
        live.processes
            .iter()
            .filter(|it| it.tid == it.pid)
            .collect()
    }

    fn instance(&self, _: &Snapshot) -> (ScopeInstance, bool) {
        process(self.pid, &self.command)
    }
}

/// The threads that have been blocked longest are first.
impl Subject for BlockedTaskView {
    fn rows(live: &Snapshot) -> Vec<&Self> {
        live.blocked.iter().flatten().collect()
    }

    fn instance(&self, _: &Snapshot) -> (ScopeInstance, bool) {
        process(self.pid, &self.command)
    }
}

impl Subject for UnitView {
    fn rows(live: &Snapshot) -> Vec<&Self> {
        live.units.iter().flatten().collect()
    }

    fn instance(&self, _: &Snapshot) -> (ScopeInstance, bool) {
        (instance(ScopeKind::Unit, &self.path, &self.name), true)
    }
}

impl Subject for MountView {
    fn rows(live: &Snapshot) -> Vec<&Self> {
        live.mounts.iter().flatten().collect()
    }

    fn instance(&self, _: &Snapshot) -> (ScopeInstance, bool) {
        let is_image = IMAGE_FILE_SYSTEMS.contains(&self.file_system.as_str());
        let instance = instance(ScopeKind::Mount, &self.mount_point, &SafeText::new());
        (instance, !is_image)
    }
}

impl Subject for Snapshot {
    fn rows(live: &Snapshot) -> Vec<&Self> {
        vec![live]
    }

    fn instance(&self, _: &Snapshot) -> (ScopeInstance, bool) {
        let nothing = SafeText::new();
        (instance(ScopeKind::System, &nothing, &nothing), true)
    }
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
