//! The metrics of a sample: counters of the kernel as they are, gauges from the view of the sample.

use std::collections::BTreeMap;

use super::exposition::{Exposition, Family, FamilyKind, Label};
use crate::alerts::Condition;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::sample::{
    ControlGroupSample, DeviceIo, DiskCounters, PressureStall, RequestCounters, UnitKind,
};
use crate::snapshot::Snapshot;
use crate::snapshot::view::DeviceView;

/// `/proc/diskstats` counts sectors of 512 bytes.
const SECTOR_BYTES: f64 = 512.0;

/// Name, type, unit and help of a family, and its value in a source and the view of it.
type Row<S, V> = (
    &'static str,
    FamilyKind,
    &'static str,
    &'static str,
    fn(&S, &V) -> Option<f64>,
);

use FamilyKind::{Counter, Gauge};

fn family<S, V>(row: &Row<S, V>) -> Family<'static> {
    Family {
        name: row.0,
        kind: row.1,
        unit: row.2,
        help: row.3,
    }
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1e3
}

fn discards(disk: &DiskCounters, value: fn(&RequestCounters) -> f64) -> Option<f64> {
    disk.discards.as_ref().map(value)
}

const DEVICE_ROWS: [Row<DiskCounters, DeviceView>; 20] = [
    ("device_reads", Counter, "", "reads completed", |disk, _| {
        Some(disk.reads.completed as f64)
    }),
    (
        "device_reads_merged",
        Counter,
        "",
        "reads merged into another request",
        |disk, _| Some(disk.reads.merged as f64),
    ),
    (
        "device_read_bytes",
        Counter,
        "bytes",
        "bytes read",
        |disk, _| Some(disk.reads.sectors as f64 * SECTOR_BYTES),
    ),
    (
        "device_read_time_seconds",
        Counter,
        "seconds",
        "time of all reads from allocation to completion; divided by the reads it is r_await",
        |disk, _| Some(seconds(disk.reads.time_ms)),
    ),
    (
        "device_writes",
        Counter,
        "",
        "writes completed",
        |disk, _| Some(disk.writes.completed as f64),
    ),
    (
        "device_writes_merged",
        Counter,
        "",
        "writes merged into another request",
        |disk, _| Some(disk.writes.merged as f64),
    ),
    (
        "device_written_bytes",
        Counter,
        "bytes",
        "bytes written",
        |disk, _| Some(disk.writes.sectors as f64 * SECTOR_BYTES),
    ),
    (
        "device_write_time_seconds",
        Counter,
        "seconds",
        "time of all writes from allocation to completion; divided by the writes it is w_await",
        |disk, _| Some(seconds(disk.writes.time_ms)),
    ),
    (
        "device_discards",
        Counter,
        "",
        "discards completed",
        |disk, _| discards(disk, |counters| counters.completed as f64),
    ),
    (
        "device_discarded_bytes",
        Counter,
        "bytes",
        "bytes discarded",
        |disk, _| discards(disk, |counters| counters.sectors as f64 * SECTOR_BYTES),
    ),
    (
        "device_discard_time_seconds",
        Counter,
        "seconds",
        "time of all discards",
        |disk, _| discards(disk, |counters| seconds(counters.time_ms)),
    ),
    (
        "device_flushes",
        Counter,
        "",
        "flushes of the drive cache completed",
        |disk, _| disk.flushes.map(|flushes| flushes.completed as f64),
    ),
    (
        "device_flush_time_seconds",
        Counter,
        "seconds",
        "time of all flushes",
        |disk, _| disk.flushes.map(|flushes| seconds(flushes.time_ms)),
    ),
    (
        "device_io_time_seconds",
        Counter,
        "seconds",
        "time with a request in flight; its rate is %util",
        |disk, _| Some(seconds(disk.busy_ms)),
    ),
    (
        "device_io_time_weighted_seconds",
        Counter,
        "seconds",
        "that time multiplied by the requests in flight; its rate is aqu-sz",
        |disk, _| Some(seconds(disk.weighted_ms)),
    ),
    (
        "device_in_flight",
        Gauge,
        "",
        "requests in flight",
        |disk, _| Some(disk.in_flight as f64),
    ),
    (
        "device_size_bytes",
        Gauge,
        "bytes",
        "capacity",
        |_, view| view.size_bytes.map(|bytes| bytes as f64),
    ),
    (
        "device_dirty_bytes",
        Gauge,
        "bytes",
        "written data for the device that is only in memory",
        |_, view| view.dirty_bytes.map(|bytes| bytes as f64),
    ),
    (
        "device_read_await_seconds",
        Gauge,
        "seconds",
        "mean time of the reads since the previous sample",
        |_, view| view.read_await_ns.map(|it| it / 1e9),
    ),
    (
        "device_write_await_seconds",
        Gauge,
        "seconds",
        "mean time of the writes since the previous sample",
        |_, view| view.write_await_ns.map(|it| it / 1e9),
    ),
];

fn stalled(pressure: Option<PressureStall>, full: bool) -> Option<f64> {
    let pressure = pressure?;
    let line = if full { pressure.full } else { pressure.some };
    Some(line.total.as_secs_f64())
}

const SYSTEM_ROWS: [Row<SystemSample, Snapshot>; 14] = [
    (
        "pressure_some_seconds",
        Counter,
        "seconds",
        "time in which some tasks waited for I/O",
        |sample, _| stalled(sample.host.pressure, false),
    ),
    (
        "pressure_full_seconds",
        Counter,
        "seconds",
        "time in which all tasks waited for I/O",
        |sample, _| stalled(sample.host.pressure, true),
    ),
    (
        "pressure_some_ratio",
        Gauge,
        "ratio",
        "share of the last 10 s in which some tasks waited for I/O",
        |_, live| live.host.pressure_some,
    ),
    (
        "pressure_full_ratio",
        Gauge,
        "ratio",
        "share of the last 10 s in which all tasks waited for I/O",
        |_, live| live.host.pressure_full,
    ),
    (
        "memory_pressure_some_seconds",
        Counter,
        "seconds",
        "time in which some tasks waited for memory",
        |sample, _| stalled(sample.host.memory_pressure, false),
    ),
    (
        "memory_pressure_full_seconds",
        Counter,
        "seconds",
        "time in which all tasks waited for memory",
        |sample, _| stalled(sample.host.memory_pressure, true),
    ),
    (
        "swapped_in_bytes",
        Counter,
        "bytes",
        "bytes read from swap",
        |sample, _| sample.host.reclaim.map(|it| it.swapped_in_bytes as f64),
    ),
    (
        "swapped_out_bytes",
        Counter,
        "bytes",
        "bytes written to swap",
        |sample, _| sample.host.reclaim.map(|it| it.swapped_out_bytes as f64),
    ),
    (
        "refaulted_bytes",
        Counter,
        "bytes",
        "bytes of files read again shortly after they were dropped from the page cache",
        |sample, _| sample.host.reclaim.map(|it| it.refaulted_bytes as f64),
    ),
    (
        "direct_reclaims",
        Counter,
        "",
        "allocations that had to reclaim memory themselves",
        |sample, _| sample.host.reclaim.map(|it| it.direct_reclaims as f64),
    ),
    (
        "dirty_bytes",
        Gauge,
        "bytes",
        "written data that is only in memory",
        |_, live| live.host.dirty_bytes.map(|bytes| bytes as f64),
    ),
    (
        "writeback_bytes",
        Gauge,
        "bytes",
        "data that is being written to devices",
        |_, live| live.host.writeback_bytes.map(|bytes| bytes as f64),
    ),
    (
        "blocked_tasks",
        Gauge,
        "",
        "tasks in uninterruptible sleep (state D), without threads of the kernel",
        |_, live| live.blocked.as_ref().map(|tasks| tasks.len() as f64),
    ),
    (
        "blocked_longest_seconds",
        Gauge,
        "seconds",
        "longest of these sleeps so far; 0 without one",
        |_, live| {
            let tasks = live.blocked.as_ref()?;
            Some(
                tasks
                    .first()
                    .map_or(0.0, |task| task.blocked_ns as f64 / 1e9),
            )
        },
    ),
];

/// A control group, and what it did at drives.
const UNIT_ROWS: [Row<ControlGroupSample, Option<DeviceIo>>; 6] = [
    ("unit_reads", Counter, "", "reads at drives", |_, drives| {
        drives.map(|io| io.read_ios as f64)
    }),
    (
        "unit_read_bytes",
        Counter,
        "bytes",
        "bytes read at drives",
        |_, drives| drives.map(|io| io.read_bytes as f64),
    ),
    (
        "unit_writes",
        Counter,
        "",
        "writes at drives",
        |_, drives| drives.map(|io| io.write_ios as f64),
    ),
    (
        "unit_written_bytes",
        Counter,
        "bytes",
        "bytes written at drives",
        |_, drives| drives.map(|io| io.written_bytes as f64),
    ),
    (
        "unit_pressure_some_seconds",
        Counter,
        "seconds",
        "time in which some tasks of the unit waited for I/O",
        |group, _| stalled(group.pressure, false),
    ),
    (
        "unit_pressure_full_seconds",
        Counter,
        "seconds",
        "time in which all tasks of the unit waited for I/O",
        |group, _| stalled(group.pressure, true),
    ),
];

const IO_ERRORS: Family<'_> = Family {
    name: "device_io_errors",
    kind: Counter,
    unit: "",
    help: "I/O errors in the kernel log since diskscope was started",
};

const FAILED_COMMANDS: Family<'_> = Family {
    name: "device_failed_commands",
    kind: Counter,
    unit: "",
    help: "commands that failed since the drive was found (SCSI), some of them harmless",
};

const CONDITION_FIRING: Family<'_> = Family {
    name: "condition_firing",
    kind: Gauge,
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
        add_rows(&mut exposition, &SYSTEM_ROWS, (sample, live), &[]);
        add_devices(&mut exposition, sample, live);
        self.add_errors(&mut exposition, sample, live);
        add_units(&mut exposition, sample, live);
        exposition.declare(&CONDITION_FIRING);
        for (condition, fires) in conditions {
            let value = f64::from(u8::from(fires));
            let text = condition.to_string();
            exposition.add(
                &CONDITION_FIRING,
                &[("condition", text.as_str())],
                Some(value),
            );
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
                exposition.add(
                    &IO_ERRORS,
                    &[("device", device.as_str())],
                    Some(*count as f64),
                );
            }
        }
        let counted = sample.io_errors.iter().flat_map(|it| &it.command_errors);
        for (device, count) in counted {
            let device = SafeText::from(device);
            exposition.add(
                &FAILED_COMMANDS,
                &[("device", device.as_str())],
                Some(*count as f64),
            );
        }
    }
}

fn add_rows<S, V>(
    exposition: &mut Exposition,
    rows: &[Row<S, V>],
    (source, view): (&S, &V),
    labels: &[Label<'_>],
) {
    for row in rows {
        exposition.add(&family(row), labels, (row.4)(source, view));
    }
}

fn add_devices(exposition: &mut Exposition, sample: &SystemSample, live: &Snapshot) {
    for row in &DEVICE_ROWS {
        exposition.declare(&family(row));
    }
    for view in &live.devices {
        let mut disks = sample.disks.iter();
        let counters = disks.find(|disk| *disk.name == *view.name);
        let Some(counters) = counters else { continue };
        let by_id = view.by_id.as_deref().unwrap_or_default();
        let labels = [
            ("device", &*view.name),
            ("label", &*view.label),
            ("by_id", by_id),
        ];
        add_rows(exposition, &DEVICE_ROWS, (counters, view), &labels);
    }
}

/// Services, containers and slices: sessions and scopes come and go, and each would leave a series
/// behind.
fn add_units(exposition: &mut Exposition, sample: &SystemSample, live: &Snapshot) {
    for row in &UNIT_ROWS {
        exposition.declare(&family(row));
    }
    let media: Vec<(u32, u32)> = sample
        .disks
        .iter()
        .filter(|disk| {
            let mut devices = live.devices.iter();
            devices.any(|view| view.is_medium() && *view.name == *disk.name)
        })
        .map(|disk| disk.device_number)
        .collect();
    let groups = sample
        .control_groups
        .iter()
        .flat_map(|groups| &groups.groups);
    for group in groups.filter(|group| group.is_unit && has_series(group.unit.kind)) {
        let drives = group.io.as_ref().map(|devices| {
            let own = devices.iter().filter(|io| media.contains(&io.device));
            own.fold(DeviceIo::default(), sum)
        });
        let labels = [("unit", &*group.unit.name), ("path", &*group.unit.path)];
        add_rows(exposition, &UNIT_ROWS, (group, &drives), &labels);
    }
}

fn has_series(kind: UnitKind) -> bool {
    matches!(
        kind,
        UnitKind::Service | UnitKind::Container | UnitKind::Slice
    )
}

fn sum(total: DeviceIo, io: &DeviceIo) -> DeviceIo {
    DeviceIo {
        device: total.device,
        read_bytes: total.read_bytes.saturating_add(io.read_bytes),
        written_bytes: total.written_bytes.saturating_add(io.written_bytes),
        read_ios: total.read_ios.saturating_add(io.read_ios),
        write_ios: total.write_ios.saturating_add(io.write_ios),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        fn check<S, V>(rows: &[Row<S, V>]) {
            for (name, _, unit, help, _) in rows {
                assert!(
                    unit.is_empty() || name.ends_with(&format!("_{unit}")),
                    "{name}"
                );
                assert!(!help.is_empty() && !help.contains(['"', '\\']), "{name}");
            }
        }
        check(&DEVICE_ROWS);
        check(&SYSTEM_ROWS);
        check(&UNIT_ROWS);
    }
}
