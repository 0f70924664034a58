//! The tables of devices, mounts, units and processes.

use super::table::{cut, table_text};
use crate::columns::swap::SwapTraffic;
use crate::columns::{Column, Entity, MAX_PROCESSES_IN_TEXT, Value, mount_error_text};
use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::probe::sample::UnitKind;
use crate::report::devices::folded_text;
use crate::snapshot::Snapshot;
use crate::snapshot::device_folding::{DeviceFolding, FoldedDevices};
use crate::snapshot::view::{DeviceShare, DeviceView, MountView, ProcessView, UnitView};
use crate::units::Unit;

/// Units, and lines of processes by device, that are listed at most: the busiest.
const MAX_LINES: usize = 20;

/// The devices that are not idle, and drives in any case; with `all`, every device. A last line
/// says what is omitted, and one before it which requests are swap.
pub(super) fn devices_text(live: &Snapshot, all: bool, width: Option<usize>) -> String {
    let folding = DeviceFolding::new(&live.devices);
    let mut folded = FoldedDevices::default();
    let mut idle_volumes = 0;
    let mut shown: Vec<&DeviceView> = Vec::new();
    for device in &live.devices {
        match folding.fold(device, || !is_active(device)) {
            Some(fold) if !all => folded.count(fold),
            _ if all || is_drive(device) || is_active(device) => shown.push(device),
            _ => idle_volumes += 1,
        }
    }
    let mut text = String::new();
    if !shown.is_empty() {
        text += &table_text(&shown, width, None);
    }
    if let Some(swap) = SwapTraffic::of(live) {
        text += &cut(swap.line(), width);
    }
    let idle = match idle_volumes {
        0 => String::new(),
        1 => "1 idle volume".to_owned(),
        count => format!("{count} idle volumes"),
    };
    let omitted: Vec<String> = [idle, folded_text(&folded)]
        .into_iter()
        .filter(|it| !it.is_empty())
        .collect();
    if !omitted.is_empty() {
        text += &cut(
            format!("+{} (--all-devices lists them)", omitted.join(", ")),
            width,
        );
    }
    text
}

/// Whether it did I/O or has requests in flight.
fn is_active(view: &DeviceView) -> bool {
    let rates = DeviceView::COLUMNS
        .iter()
        .filter(|it| it.unit == Unit::PerSecond);
    rates
        .filter_map(|it| it.number(view))
        .any(|rate| rate > 0.0)
        || view.in_flight.is_some_and(|count| count > 0)
}

fn is_drive(view: &DeviceView) -> bool {
    matches!(view.kind, None | Some(DriveKind::Disk | DriveKind::Optical))
}

/// The mounts, and the devices of a btrfs with errors.
pub(super) fn mounts_text(mounts: Option<&[MountView]>, width: Option<usize>) -> String {
    let Some(mounts) = mounts else {
        return String::new();
    };
    let rows: Vec<&MountView> = mounts.iter().collect();
    let mut text = table_text(&rows, width, None);
    let errors = mounts.iter().flat_map(|mount| &mount.errors);
    for errors in errors.filter(|errors| errors.total() > 0) {
        text += &cut(mount_error_text(errors), width);
    }
    text
}

/// The busiest units. Slices repeat what the units in them do; others are listed while they do I/O or
/// wait for it.
pub(super) fn units_text(units: Option<&[UnitView]>, width: Option<usize>) -> String {
    let Some(units) = units else {
        return String::new();
    };
    let is_listed = |unit: &&UnitView| {
        let waits = unit.pressure_some.is_some_and(|share| share >= 0.01);
        unit.kind != UnitKind::Slice && (unit.total_bytes_per_s() > 0.0 || waits)
    };
    let active: Vec<&UnitView> = units.iter().filter(is_listed).collect();
    if active.is_empty() {
        return format!("no unit with I/O, of {}\n", units.len());
    }
    let shown = &active[..active.len().min(MAX_LINES)];
    let mut text = table_text(shown, width, None);
    let hidden = active.len() - shown.len();
    if hidden > 0 {
        text += &format!("+{hidden} more units\n");
    }
    text
}

/// The busiest processes; `count` is the number of all.
pub(super) fn processes_text(
    processes: &[ProcessView],
    count: usize,
    width: Option<usize>,
) -> String {
    // What the kernel writes for a process that has ended is in the table by device.
    let is_listed = |view: &&ProcessView| !view.exited || view.is_ended_children();
    let active: Vec<&ProcessView> = processes.iter().filter(is_listed).collect();
    if active.is_empty() {
        return String::new();
    }
    let heading = format!("COMMAND ({} of {count} active)", active.len());
    let shown = &active[..active.len().min(MAX_PROCESSES_IN_TEXT)];
    table_text(shown, width, Some(&heading))
}

/// What one process, or none that is known, did on one device.
struct ShareLine {
    pid: Option<u32>,
    command: SafeText,
    device: SafeText,
    share: DeviceShare,
}

impl Entity for ShareLine {
    const NAME: &'static str = "share";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("pid", "PID", Unit::Count, pid).shown(8, 0),
        Column::text(
            "device",
            "DEVICE",
            |it: &Self| (&it.device).into(),
            (9, 5, 0),
        ),
        Column::new("r", "r/s", Unit::PerSecond, |it: &Self| {
            it.share.read_ios_per_s.into()
        })
        .shown(6, 0),
        Column::new("w", "w/s", Unit::PerSecond, |it: &Self| {
            it.share.write_ios_per_s.into()
        })
        .shown(6, 0),
        Column::new("rb", "rMB/s", Unit::BytesPerSecond, |it: &Self| {
            it.share.read_bytes_per_s.into()
        })
        .shown(6, 0),
        Column::new("wb", "wMB/s", Unit::BytesPerSecond, |it: &Self| {
            it.share.write_bytes_per_s.into()
        })
        .shown(6, 0),
        Column::text(
            "command",
            "COMMAND",
            |it: &Self| (&it.command).into(),
            (24, u16::MAX, 0),
        ),
    ];
    type Counters = ();
}

fn pid(line: &ShareLine) -> Value {
    line.pid
        .map_or(Value::Absent, |pid| Value::Number(f64::from(pid)))
}

/// What each process did on each device, and what no process is known for; nothing where requests
/// were not traced.
pub(super) fn by_device_text(live: &Snapshot, width: Option<usize>) -> String {
    let Some(traced) = &live.traced else {
        return String::new();
    };
    let line = |pid: Option<u32>, command: String, share: &DeviceShare| {
        let device = live.devices.iter().find(|device| device.name == share.name);
        ShareLine {
            pid,
            command: command.into(),
            device: device.map_or_else(|| share.name.clone(), |it| it.display_name().into()),
            share: share.clone(),
        }
    };
    let is_busy = |share: &&DeviceShare| share.total_bytes_per_s() > 0.0;
    let whole = live.processes.iter().filter(|view| view.pid == view.tid);
    let mut lines: Vec<ShareLine> = Vec::new();
    for process in whole {
        let command = crate::columns::command_text(process);
        let shares = process.devices.iter().filter(is_busy);
        lines.extend(shares.map(|share| line(Some(process.pid), command.clone(), share)));
    }
    let hidden = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let others = traced.unattributed.iter().filter(is_busy);
    lines.extend(others.map(|share| line(None, "kernel, unattributed".to_owned(), share)));
    let rows: Vec<&ShareLine> = lines.iter().collect();
    let mut text = table_text(&rows, width, None);
    if hidden > 0 {
        text += &format!("+{hidden} more lines\n");
    }
    if traced.events_lost > 0 {
        let lost = traced.events_lost;
        text += &format!("{lost} trace events were lost: requests are missing\n");
    }
    text
}
