//! The metrics of conditions: the numbers of the columns, and the rows of a snapshot that have them.

use super::scope::{Scope, ScopeInstance, ScopeKind};
use crate::columns::{Column, Entity};
use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::probe::Wanted;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{
    BlockedTaskView, DeviceView, IoErrorsView, MountView, ProcessView, UnitView,
};
use crate::units::Unit;

/// Types of file systems that are full by nature.
const IMAGE_FILE_SYSTEMS: [&str; 5] = ["cramfs", "erofs", "iso9660", "romfs", "squashfs"];

/// A metric of a condition: a column of one or several kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionMetric {
    /// Its name.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
}

impl ConditionMetric {
    /// The metric with that name: a key of `watch --json`, with or without `_ns`, iostat's name, or
    /// another one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        SOURCES.iter().find_map(|source| (source.find)(name))
    }

    /// What has it, in the order in which a name without a kind is looked up.
    pub(super) fn sources(self) -> impl Iterator<Item = &'static MetricSource> {
        let all = SOURCES.iter();
        all.filter(move |source| (source.find)(self.name).is_some())
    }
}

/// A row of a snapshot, what it is, and whether it is one of `any`.
type Row<'s, E> = (&'s E, ScopeInstance, bool);

/// An entity whose metrics conditions may be about.
trait Subject: Entity {
    /// Its rows in a snapshot.
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>>;
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
    /// Adds what a snapshot must contain to have the metric of that name.
    pub(super) want: fn(&str, &mut Wanted),
}

impl MetricSource {
    const fn of<E: Subject>(kind: ScopeKind, want: fn(&str, &mut Wanted)) -> Self {
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

/// The names of a column with numbers.
fn names_of<E: Entity>(column: &Column<E>) -> impl Iterator<Item = &'static str> + use<E> {
    let names = [column.key, column.metric_name(), column.name];
    let names = names.into_iter().chain(column.aliases.iter().copied());
    names.take(if column.is_number() { usize::MAX } else { 0 })
}

/// The column of an entity that has a metric of that name.
fn metric_column<E: Entity>(name: &str) -> Option<&'static Column<E>> {
    let mut columns = E::COLUMNS.iter();
    columns.find(|column| names_of(column).any(|it| it == name))
}

fn found<E: Entity>(name: &str) -> Option<ConditionMetric> {
    let column = metric_column::<E>(name)?;
    Some(ConditionMetric {
        name: column.metric_name(),
        unit: column.unit,
    })
}

fn names<E: Entity>() -> Vec<&'static str> {
    E::COLUMNS.iter().flat_map(names_of).collect()
}

fn in_scope<E: Subject>(name: &str, scope: &Scope, live: &Snapshot) -> Vec<InScope> {
    let column = metric_column::<E>(name);
    let mut found = Vec::new();
    for (row, instance, is_of_any) in E::rows(live) {
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

fn instance(kind: ScopeKind, name: &SafeText, label: &SafeText) -> ScopeInstance {
    ScopeInstance {
        kind,
        name: name.clone(),
        label: label.clone(),
        pid: None,
    }
}

fn process(pid: u32, command: &SafeText) -> ScopeInstance {
    ScopeInstance {
        pid: Some(pid),
        ..instance(ScopeKind::Process, command, &SafeText::new())
    }
}

impl Subject for DeviceView {
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>> {
        let rows = live.devices.iter().map(|it| {
            let instance = instance(ScopeKind::Device, &it.name, &it.label);
            // A partition repeats what its drive has.
            (it, instance, it.kind != Some(DriveKind::Partition))
        });
        rows.collect()
    }
}

impl Subject for IoErrorsView {
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>> {
        let rows = live.io_errors.iter().flatten().map(|it| {
            // The device may be gone by now.
            let device = live.devices.iter().find(|device| device.name == it.device);
            let label = device.map_or_else(SafeText::new, |device| device.label.clone());
            (it, instance(ScopeKind::Device, &it.device, &label), true)
        });
        rows.collect()
    }
}

impl Subject for ProcessView {
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>> {
        let processes = live.processes.iter().filter(|it| it.tid == it.pid);
        let rows = processes.map(|it| (it, process(it.pid, &it.command), true));
        rows.collect()
    }
}

/// The threads that have been blocked longest are first.
impl Subject for BlockedTaskView {
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>> {
        let tasks = live.blocked.iter().flatten();
        let rows = tasks.map(|it| (it, process(it.pid, &it.command), true));
        rows.collect()
    }
}

impl Subject for UnitView {
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>> {
        let units = live.units.iter().flatten();
        let rows = units.map(|it| (it, instance(ScopeKind::Unit, &it.path, &it.name), true));
        rows.collect()
    }
}

impl Subject for MountView {
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>> {
        let rows = live.mounts.iter().flatten().map(|it| {
            let instance = instance(ScopeKind::Mount, &it.mount_point, &SafeText::new());
            let is_image = IMAGE_FILE_SYSTEMS.contains(&it.file_system.as_str());
            (it, instance, !is_image)
        });
        rows.collect()
    }
}

impl Subject for Snapshot {
    fn rows(live: &Snapshot) -> Vec<Row<'_, Self>> {
        let nothing = SafeText::new();
        vec![(live, instance(ScopeKind::System, &nothing, &nothing), true)]
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
        assert_eq!(metric.name, "read_await");
        assert_eq!(ConditionMetric::parse("r_await"), Some(metric));
        assert_eq!(ConditionMetric::parse("busy_ns"), None);
    }
}
