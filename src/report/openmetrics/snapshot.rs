//! The metrics of a sample: counters of the kernel as they are, gauges from the view of the sample.

use std::collections::BTreeMap;

use super::exposition::{Exposition, Family, FamilyKind, Label};
use crate::alerts::Condition;
use crate::columns::{Column, Entity, UnitCounters};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::sample::{ControlGroupSample, DeviceIo, UnitKind};
use crate::snapshot::Snapshot;
use crate::snapshot::view::{DeviceView, UnitView};

const IO_ERRORS: Family<'_> = Family {
    name: "device_io_errors",
    kind: FamilyKind::Counter,
    unit: "",
    help: "I/O errors in the kernel log since diskscope was started",
};

const FAILED_COMMANDS: Family<'_> = Family {
    name: "device_failed_commands",
    kind: FamilyKind::Counter,
    unit: "",
    help: "commands that failed since the drive was found (SCSI), some of them harmless",
};

const CONDITION_FIRING: Family<'_> = Family {
    name: "condition_firing",
    kind: FamilyKind::Gauge,
    unit: "",
    help: "1 while the condition of --on holds, for as long as it demands, for anything in its scope",
};

/// Errors of each device since the start.
#[derive(Debug, Default)]
pub struct SnapshotMetrics {
    io_errors: BTreeMap<SafeText, u64>,
}

impl SnapshotMetrics {
    /// The exposition of the next sample, with its view and with whether each condition holds.
    pub fn exposition<'a>(
        &mut self,
        sample: &SystemSample,
        live: &Snapshot,
        conditions: impl Iterator<Item = (&'a Condition, bool)>,
    ) -> String {
        let mut exposition = Exposition::default();
        add_row(&mut exposition, live, Some(sample), &[]);
        add_devices(&mut exposition, sample, live);
        self.add_errors(&mut exposition, sample, live);
        add_units(&mut exposition, sample, live);
        exposition.declare(&CONDITION_FIRING);
        for (condition, fires) in conditions {
            let text = condition.to_string();
            let labels = [("condition", text.as_str())];
            exposition.add(&CONDITION_FIRING, &labels, Some(f64::from(u8::from(fires))));
        }
        exposition.render()
    }

    /// Errors that were logged, of each device from the first sample on, so that the first error is
    /// an increase.
    fn add_errors(&mut self, exposition: &mut Exposition, sample: &SystemSample, live: &Snapshot) {
        exposition.declare(&IO_ERRORS);
        exposition.declare(&FAILED_COMMANDS);
        for device in &live.devices {
            self.io_errors.entry(device.name.clone()).or_default();
        }
        for error in live.io_errors.iter().flatten() {
            let count = self.io_errors.entry(error.device.clone()).or_default();
            *count = count.saturating_add(error.logged.unwrap_or(0));
        }
        if live.io_errors.is_some() {
            for (device, count) in &self.io_errors {
                let labels = [("device", device.as_str())];
                exposition.add(&IO_ERRORS, &labels, Some(*count as f64));
            }
        }
        let counted = sample.io_errors.iter().flat_map(|it| &it.command_errors);
        for (device, count) in counted {
            let device = SafeText::from(device);
            let labels = [("device", device.as_str())];
            exposition.add(&FAILED_COMMANDS, &labels, Some(*count as f64));
        }
    }
}

/// The samples of one row of an entity: its counters, and the gauges that no counter replaces.
fn add_row<E: Entity>(
    exposition: &mut Exposition,
    view: &E,
    counters: Option<&E::Counters>,
    labels: &[Label<'_>],
) {
    for column in E::COLUMNS {
        if let (Some(name), Some(counter)) = (column.counter_name(), &column.counter) {
            let value = counters.and_then(|counters| (counter.get)(counters));
            exposition.add(
                &family(&name, FamilyKind::Counter, counter.unit(), column),
                labels,
                value,
            );
        }
        if let Some(name) = column.gauge_name() {
            let (unit, factor) = column.unit.base();
            let value = column.number(view).map(|value| value / factor);
            exposition.add(
                &family(&name, FamilyKind::Gauge, unit, column),
                labels,
                value,
            );
        }
    }
}

/// Names the families of an entity, of which there may be no row.
fn declare<E: Entity>(exposition: &mut Exposition) {
    for column in E::COLUMNS {
        if let (Some(name), Some(counter)) = (column.counter_name(), &column.counter) {
            exposition.declare(&family(&name, FamilyKind::Counter, counter.unit(), column));
        }
        if let Some(name) = column.gauge_name() {
            exposition.declare(&family(
                &name,
                FamilyKind::Gauge,
                column.unit.base().0,
                column,
            ));
        }
    }
}

fn family<'a, E: Entity>(
    name: &'a str,
    kind: FamilyKind,
    unit: &'a str,
    column: &'a Column<E>,
) -> Family<'a> {
    Family {
        name,
        kind,
        unit,
        help: column.help,
    }
}

fn add_devices(exposition: &mut Exposition, sample: &SystemSample, live: &Snapshot) {
    declare::<DeviceView>(exposition);
    for view in &live.devices {
        let counters = sample.disks.iter().find(|disk| *disk.name == *view.name);
        let labels = [
            ("device", &*view.name),
            ("label", &*view.label),
            ("by_id", view.by_id.as_deref().unwrap_or_default()),
        ];
        add_row(exposition, view, counters, &labels);
    }
}

/// Services, containers and slices: sessions and scopes come and go, and each would leave a series
/// behind.
fn add_units(exposition: &mut Exposition, sample: &SystemSample, live: &Snapshot) {
    declare::<UnitView>(exposition);
    let media: Vec<(u32, u32)> = sample
        .disks
        .iter()
        .filter(|disk| {
            let mut devices = live.devices.iter();
            devices.any(|view| view.is_medium() && *view.name == *disk.name)
        })
        .map(|disk| disk.device_number)
        .collect();
    for view in live.units.iter().flatten().filter(|it| has_series(it.kind)) {
        let groups = sample.control_groups.iter().flat_map(|it| &it.groups);
        let mut own = groups.filter(|group| group.is_unit && *group.unit.path == *view.path);
        let counters = own.next().map(|group| counters_of(group, &media));
        let labels = [("unit", &*view.name), ("path", &*view.path)];
        add_row(exposition, view, counters.as_ref(), &labels);
    }
}

fn has_series(kind: UnitKind) -> bool {
    matches!(
        kind,
        UnitKind::Service | UnitKind::Container | UnitKind::Slice
    )
}

/// The counters of a group, at drives only.
fn counters_of(group: &ControlGroupSample, media: &[(u32, u32)]) -> UnitCounters {
    let at_drives = |devices: &Vec<DeviceIo>| {
        let own = devices.iter().filter(|io| media.contains(&io.device));
        own.fold(DeviceIo::default(), |total, io| DeviceIo {
            device: total.device,
            read_bytes: total.read_bytes.saturating_add(io.read_bytes),
            written_bytes: total.written_bytes.saturating_add(io.written_bytes),
            read_ios: total.read_ios.saturating_add(io.read_ios),
            write_ios: total.write_ios.saturating_add(io.write_ios),
        })
    };
    UnitCounters {
        drives: group.io.as_ref().map(at_drives),
        pressure: group.pressure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::sample::{DiskCounters, RequestCounters};
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::IoErrorsView;

    fn sample() -> SystemSample {
        SystemSample {
            disks: vec![DiskCounters {
                name: "sda".to_owned(),
                reads: RequestCounters {
                    completed: 7,
                    merged: 1,
                    sectors: 16,
                    time_ms: 250,
                },
                ..DiskCounters::default()
            }],
            ..SystemSample::default()
        }
    }

    fn view() -> Snapshot {
        let mut live = ViewBuilder::default().update(SystemSample::default().into());
        live.devices = vec![DeviceView {
            name: "sda".into(),
            label: "ST4000 \"x\"".into(),
            ..DeviceView::default()
        }];
        live
    }

    #[test]
    fn counters_are_those_of_the_kernel_with_stable_labels() {
        let condition = Condition::parse("await(sda)>50ms for 3s").unwrap();
        let conditions = [(&condition, true)];
        let text =
            SnapshotMetrics::default().exposition(&sample(), &view(), conditions.into_iter());
        let labels = "{device=\"sda\",label=\"ST4000 \\\"x\\\"\",by_id=\"\"}";
        for line in [
            "# TYPE diskscope_device_read_bytes counter",
            "# UNIT diskscope_device_read_bytes bytes",
            &format!("diskscope_device_reads_total{labels} 7"),
            &format!("diskscope_device_read_bytes_total{labels} 8192"),
            &format!("diskscope_device_read_time_seconds_total{labels} 0.25"),
            "diskscope_condition_firing{condition=\"await(sda)>50ms for 3s\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        assert!(
            !text.contains("device_flushes_total"),
            "unknown has no sample"
        );
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn logged_errors_are_summed_from_0() {
        let mut metrics = SnapshotMetrics::default();
        let mut live = view();
        let errors = |metrics: &mut SnapshotMetrics, live: &Snapshot| {
            let text = metrics.exposition(&sample(), live, std::iter::empty());
            let lines = text.lines().filter(|line| line.contains("io_errors_total"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            errors(&mut metrics, &live),
            [""; 0],
            "the log cannot be read"
        );
        live.io_errors = Some(Vec::new());
        let none = ["diskscope_device_io_errors_total{device=\"sda\"} 0"];
        assert_eq!(errors(&mut metrics, &live), none);
        live.io_errors = Some(vec![IoErrorsView {
            device: "sda".into(),
            logged: Some(2),
            ..IoErrorsView::default()
        }]);
        errors(&mut metrics, &live);
        let four = ["diskscope_device_io_errors_total{device=\"sda\"} 4"];
        assert_eq!(errors(&mut metrics, &live), four);
    }

    #[test]
    fn families_end_in_their_unit_and_have_help_without_quotes() {
        fn check<E: Entity>() {
            for column in E::COLUMNS.iter().filter(|it| it.is_number()) {
                let (unit, name) = match &column.counter {
                    Some(counter) => (counter.unit(), counter.name.to_owned()),
                    None => (column.unit.base().0, column.gauge_name().unwrap()),
                };
                assert!(name.ends_with(unit), "{name}");
                let help = column.help;
                assert!(!help.is_empty() && !help.contains(['"', '\\']), "{name}");
            }
        }
        check::<DeviceView>();
        check::<Snapshot>();
        check::<UnitView>();
    }
}
