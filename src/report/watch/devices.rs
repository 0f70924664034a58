//! The table of devices.

use std::fmt::Write as _;

use super::columns::{fit_to_width, format_known, format_megabytes_per_s};
use crate::model::snapshot::DeviceView;
use crate::units;
use crate::units::format_three_digits;

/// Drives, and all other devices that are not idle.
pub(super) fn append_devices(text: &mut String, devices: &[DeviceView]) {
    let shown: Vec<&DeviceView> = devices
        .iter()
        .filter(|view| is_listed_device(view))
        .collect();
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
            fit_to_width(&view.name, 14),
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

fn is_listed_device(view: &DeviceView) -> bool {
    let rates = [
        view.read_ios_per_s,
        view.write_ios_per_s,
        view.discard_ios_per_s,
    ];
    let active = rates.into_iter().flatten().any(|rate| rate > 0.0);
    let is_drive = view.parent.is_none() && !view.name.starts_with("loop");
    active || is_drive || view.in_flight.is_some_and(|count| count > 0)
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
