//! The table of processes.

use std::fmt::Write as _;

use super::columns::{UNKNOWN, WIDTH, columns, fitted, known, megabytes};
use crate::model::live::ProcessView;

/// Processes listed, the busiest.
const PROCESSES: usize = 10;

/// The busiest processes; `count` is how many there are in all.
pub(super) fn processes(text: &mut String, processes: &[ProcessView], count: usize) {
    if processes.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:>8} {:<8} {:>8} {:>8} {:>6} {:>6}  COMMAND ({} of {count} active)",
        "PID",
        "USER",
        "r MB/s",
        "w MB/s",
        "cache%",
        "wait %",
        processes.len()
    );
    let percent = |share: Option<f64>| known(share, |share| format!("{:.0}", share * 100.0));
    for view in processes.iter().take(PROCESSES) {
        let start = format!(
            "{:>8} {} {:>8} {:>8} {:>6} {:>6}  ",
            view.pid,
            fitted(view.user.as_deref().unwrap_or(UNKNOWN), 8),
            megabytes(view.read_bytes_per_s),
            megabytes(view.write_bytes_per_s),
            match view.asked_read_bytes_per_s {
                Some(0.0) => "-".to_owned(),
                _ => percent(view.cached),
            },
            percent(view.io_wait),
        );
        let room = WIDTH.saturating_sub(columns(&start));
        let _ = writeln!(text, "{start}{}", fitted(&view.command, room).trim_end());
    }
}
