//! Control groups: services, containers, sessions.

use super::{Column, Entity, Value, sum};
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

const COLUMNS: &[UnitColumn] = &[
    UnitColumn::text("name", "Unit", |it| unit_label(it).into(), (20, 40, 0)),
    UnitColumn::new("read_ios_per_s", "r/s", Unit::PerSecond, |it| {
        it.read_ios_per_s.into()
    })
    .help("reads at drives")
    .counted("reads", "", |it| Some(it.drives?.read_ios as f64))
    .shown(6, 2),
    UnitColumn::new("write_ios_per_s", "w/s", Unit::PerSecond, |it| {
        it.write_ios_per_s.into()
    })
    .help("writes at drives")
    .counted("writes", "", |it| Some(it.drives?.write_ios as f64))
    .shown(6, 2),
    UnitColumn::new("read_bytes_per_s", "rMB/s", Unit::BytesPerSecond, |it| {
        it.read_bytes_per_s.into()
    })
    .help("bytes read at drives, with the groups inside; unknown where the controller `io` is not enabled")
    .counted("read_bytes", "bytes", |it| Some(it.drives?.read_bytes as f64))
    .shown(7, 0),
    UnitColumn::new("write_bytes_per_s", "wMB/s", Unit::BytesPerSecond, |it| {
        it.write_bytes_per_s.into()
    })
    .help("bytes written at drives; with control groups of version 1 without buffered writes")
    .counted("written_bytes", "bytes", |it| Some(it.drives?.written_bytes as f64))
    .shown(7, 0),
    UnitColumn::new("pressure_some", "some%", Unit::Ratio, |it| {
        it.pressure_some.into()
    })
    .help("share of the last 10 s in which at least one of its tasks waited for I/O")
    .counted("pressure_some_seconds", "seconds", |it| {
        Some(it.pressure?.some.total.as_secs_f64())
    })
    .shown(5, 0),
    UnitColumn::new("pressure_full", "full%", Unit::Ratio, |it| {
        it.pressure_full.into()
    })
    .help("share of the last 10 s in which all of its tasks waited for I/O")
    .counted("pressure_full_seconds", "seconds", |it| {
        Some(it.pressure?.full.total.as_secs_f64())
    })
    .shown(5, 1),
    UnitColumn::new("limit_usage", "limit%", Unit::Ratio, limit_usage)
        .help("its rate as a share of its I/O limit, the highest of all limits")
        .shown(6, 0)
        .derived(),
    UnitColumn::text("path", "group", |it| (&it.path).into(), (12, 60, 3)),
    UnitColumn::new("ios_per_s", "iops", Unit::PerSecond, |it| {
        sum(it.read_ios_per_s, it.write_ios_per_s).into()
    })
    .help("reads and writes")
    .derived(),
    UnitColumn::new("bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
        sum(it.read_bytes_per_s, it.write_bytes_per_s).into()
    })
    .help("bytes read and written")
    .also(&["throughput"])
    .derived(),
];

fn limit_usage(unit: &UnitView) -> Value {
    match unit.limits.is_empty() {
        true => Value::Absent,
        false => unit.limit_usage().into(),
    }
}

/// The name; with the kind where the name does not tell it.
#[must_use]
pub fn unit_label(unit: &UnitView) -> String {
    match unit.kind {
        UnitKind::Container => format!("{} (container)", unit.name),
        _ => unit.name.to_string(),
    }
}
