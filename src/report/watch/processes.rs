//! The table of processes.

use std::fmt::Write as _;

use super::columns::{
    DEFAULT_TERMINAL_WIDTH, UNKNOWN_VALUE, display_width, fit_to_width, format_known,
    format_megabytes_per_s,
};
use crate::columns::command::command_text;
use crate::snapshot::view::ProcessView;

/// Maximum number of listed processes; the busiest are listed.
const MAX_LISTED_PROCESSES: usize = 10;

/// The busiest processes; `count` is the total number.
pub(super) fn append_processes(text: &mut String, processes: &[ProcessView], count: usize) {
    // What the kernel writes for a process that has ended is in the table by device.
    let is_listed = |view: &&ProcessView| !view.exited || view.is_ended_children();
    let processes: Vec<&ProcessView> = processes.iter().filter(is_listed).collect();
    if processes.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:>8} {:<8} {:>8} {:>8} {:>6} {:>6}  COMMAND ({} of {count} active)",
        "PID",
        "USER",
        "rMB/s",
        "wMB/s",
        "hit%",
        "IO%",
        processes.len()
    );
    let percent = |share: Option<f64>| format_known(share, |share| format!("{:.0}", share * 100.0));
    for view in processes.iter().copied().take(MAX_LISTED_PROCESSES) {
        let start = format!(
            "{:>8} {} {:>8} {:>8} {:>6} {:>6}  ",
            view.pid,
            fit_to_width(view.user.as_deref().unwrap_or(UNKNOWN_VALUE), 8),
            format_megabytes_per_s(view.read_bytes_per_s),
            format_megabytes_per_s(view.write_bytes_per_s),
            match view.rchar_bytes_per_s {
                Some(0.0) => "-".to_owned(),
                _ => percent(view.cache_fraction),
            },
            percent(view.io_wait),
        );
        let room = DEFAULT_TERMINAL_WIDTH.saturating_sub(display_width(&start));
        let _ = writeln!(
            text,
            "{start}{}",
            fit_to_width(&command_text(view), room).trim_end()
        );
    }
}
