//! The table of devices.

use std::fmt::Write as _;

use super::columns::{fit_to_width, format_known, format_megabytes_per_s};
use crate::drive::DriveKind;
use crate::report::devices::folded_text;
use crate::snapshot::device_folding::{DeviceFolding, FoldedDevices};
use crate::snapshot::view::DeviceView;
use crate::units;
use crate::units::format_three_digits;

/// The devices that are not idle, and drives in any case; with `all`, every device. A last line
/// says what is omitted.
pub(super) fn append_devices(text: &mut String, devices: &[DeviceView], all: bool) {
    let folding = DeviceFolding::new(devices);
    let mut folded = FoldedDevices::default();
    let mut idle_volumes = 0;
    let mut shown: Vec<&DeviceView> = Vec::new();
    for device in devices {
        match folding.fold(device, || !is_active(device)) {
            Some(fold) if !all => folded.count(fold),
            _ if all || is_drive(device) || is_active(device) => shown.push(device),
            _ => idle_volumes += 1,
        }
    }
    append_table(text, &shown);
    let idle = match idle_volumes {
        0 => String::new(),
        1 => "1 idle volume".to_owned(),
        count => format!("{count} idle volumes"),
    };
    let parts = [idle, folded_text(&folded)];
    let omitted: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|it| !it.is_empty())
        .collect();
    if !omitted.is_empty() {
        let _ = writeln!(text, "+{} (--all-devices lists them)", omitted.join(", "));
    }
}

fn append_table(text: &mut String, shown: &[&DeviceView]) {
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:<14} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6}",
        "DEVICE", "r/s", "w/s", "rMB/s", "wMB/s", "r_await", "w_await", "aqu-sz", "%util"
    );
    for view in shown {
        let _ = writeln!(
            text,
            "{} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6}",
            fit_to_width(view.display_name(), 14),
            format_per_second(view.read_ios_per_s),
            format_per_second(view.write_ios_per_s),
            format_megabytes_per_s(view.read_bytes_per_s),
            format_megabytes_per_s(view.write_bytes_per_s),
            format_milliseconds(view.read_await_ns, view.read_ios_per_s),
            format_milliseconds(view.write_await_ns, view.write_ios_per_s),
            format_known(view.queue_size, format_three_digits),
            format_known(view.busy, |share| format!("{:.0}", share * 100.0)),
        );
    }
}

/// Whether it did I/O or has requests in flight.
fn is_active(view: &DeviceView) -> bool {
    let rates = [
        view.read_ios_per_s,
        view.write_ios_per_s,
        view.discard_ios_per_s,
    ];
    let active = rates.into_iter().flatten().any(|rate| rate > 0.0);
    active || view.in_flight.is_some_and(|count| count > 0)
}

fn is_drive(view: &DeviceView) -> bool {
    matches!(view.kind, None | Some(DriveKind::Disk | DriveKind::Optical))
}

fn format_per_second(rate: Option<f64>) -> String {
    format_known(rate, |rate| {
        if rate < 100_000.0 {
            format!("{rate:.0}")
        } else {
            units::format_count(rate)
        }
    })
}

/// A latency; a dash if it is undefined because no request completed.
fn format_milliseconds(nanoseconds: Option<f64>, rate: Option<f64>) -> String {
    match rate {
        Some(0.0) => "-".to_owned(),
        _ => format_known(nanoseconds, |ns| format_three_digits(ns / 1e6)),
    }
}
