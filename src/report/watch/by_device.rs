//! The table of processes by device.

use std::fmt::Write as _;

use super::columns::{fit_to_width, format_known, format_megabytes_per_s};
use crate::snapshot::Snapshot;
use crate::snapshot::view::DeviceShare;
use crate::units::format_three_digits;

/// Maximum number of lines; the busiest processes are listed.
const MAX_LINES: usize = 20;

/// What each process did on each device, and what no process is known for; nothing where requests
/// were not traced.
pub(super) fn append_by_device(text: &mut String, live: &Snapshot) {
    let Some(traced) = &live.traced else {
        return;
    };
    let _ = writeln!(
        text,
        "{:>8} {:<24} {:<14} {:>6} {:>6} {:>7} {:>7}",
        "PID", "COMMAND", "DEVICE", "r/s", "w/s", "rMB/s", "wMB/s"
    );
    let whole = live.processes.iter().filter(|view| view.pid == view.tid);
    let lines = whole.flat_map(|view| view.devices.iter().map(move |share| (view, share)));
    let lines: Vec<_> = lines
        .filter(|(_, share)| share.total_bytes_per_s() > 0.0)
        .collect();
    for (view, share) in lines.iter().take(MAX_LINES) {
        append_line(text, live, &view.pid.to_string(), &view.command, share);
    }
    if lines.len() > MAX_LINES {
        let _ = writeln!(text, "+{} more lines", lines.len() - MAX_LINES);
    }
    for share in &traced.unattributed {
        if share.total_bytes_per_s() > 0.0 {
            append_line(text, live, "-", "kernel, unattributed", share);
        }
    }
    if traced.events_lost > 0 {
        let _ = writeln!(
            text,
            "{} trace events were lost: requests are missing",
            traced.events_lost
        );
    }
}

fn append_line(text: &mut String, live: &Snapshot, pid: &str, command: &str, share: &DeviceShare) {
    let mut devices = live.devices.iter();
    let device = devices.find(|device| device.name == share.name);
    let name = device.map_or(&*share.name, |device| device.display_name());
    let rate = |rate: Option<f64>| format_known(rate, format_three_digits);
    let _ = writeln!(
        text,
        "{pid:>8} {} {} {:>6} {:>6} {:>7} {:>7}",
        fit_to_width(command, 24),
        fit_to_width(name, 14),
        rate(share.read_ios_per_s),
        rate(share.write_ios_per_s),
        format_megabytes_per_s(share.read_bytes_per_s),
        format_megabytes_per_s(share.write_bytes_per_s),
    );
}
