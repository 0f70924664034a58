//! Control groups: services, containers, sessions.

use super::{Column, Entity, Value, field, sum, throughput};
use crate::probe::sample::{DeviceIo, PressureStall, UnitKind};
use crate::snapshot::view::UnitView;
use crate::units::Unit;

type UnitColumn = Column<UnitView>;

/// The counters of a control group.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnitCounters {
    /// What it did at drives; `None` where it is not counted.
    pub drives: Option<DeviceIo>,
    /// Pressure of its processes; `None` without PSI.
    pub pressure: Option<PressureStall>,
}

impl Entity for UnitView {
    const NAME: &'static str = "unit";
    const COLUMNS: &'static [UnitColumn] = COLUMNS;
    type Counters = UnitCounters;
}

#[rustfmt::skip]
const COLUMNS: &[UnitColumn] = &[
    UnitColumn::text("name", "Unit", |it| unit_label(it).into(), (20, 40, 0)),
    field!(UnitColumn, read_ios_per_s, "r/s", PerSecond).shown(6, 2).help("reads at drives")
        .counted("reads", |it| Some(it.drives?.read_ios as f64)),
    field!(UnitColumn, write_ios_per_s, "w/s", PerSecond).shown(6, 2).help("writes at drives")
        .counted("writes", |it| Some(it.drives?.write_ios as f64)),
    field!(UnitColumn, read_bytes_per_s, "rMB/s", BytesPerSecond).shown(7, 0)
        .help("bytes read at drives, with the groups inside; unknown where the controller `io` is not enabled")
        .counted("read_bytes", |it| Some(it.drives?.read_bytes as f64)),
    field!(UnitColumn, write_bytes_per_s, "wMB/s", BytesPerSecond).shown(7, 0)
        .help("bytes written at drives; with control groups of version 1 without buffered writes")
        .counted("written_bytes", |it| Some(it.drives?.written_bytes as f64)),
    field!(UnitColumn, pressure_some, "some%", Ratio).shown(5, 0)
        .help("share of the interval in which at least one of its tasks waited for I/O")
        .counted("pressure_some_seconds", |it| Some(it.pressure?.some.total.as_secs_f64())),
    field!(UnitColumn, pressure_full, "full%", Ratio).shown(5, 1)
        .help("share of the interval in which all of its tasks waited for I/O")
        .counted("pressure_full_seconds", |it| Some(it.pressure?.full.total.as_secs_f64())),
    UnitColumn::new("limit_usage", "limit%", Unit::Ratio, |it| Value::unless(it.limits.is_empty(), it.limit_usage()))
        .shown(6, 0).derived().help("its rate as a share of its I/O limit, the highest of all limits"),
    field!(UnitColumn, path, "group", (12, 60, 3)),
    UnitColumn::new("ios_per_s", "iops", Unit::PerSecond, |it| sum(it.read_ios_per_s, it.write_ios_per_s).into())
        .derived().help("reads and writes"),
    throughput!(UnitColumn),
];

/// The name; with the kind where the name does not tell it.
#[must_use]
pub fn unit_label(unit: &UnitView) -> String {
    match unit.kind {
        UnitKind::Container => format!("{} (container)", unit.name),
        _ => unit.name.to_string(),
    }
}
