//! The table of transfers, and the files that grow.

use std::fmt::Write as _;

use super::columns::{UNKNOWN, WIDTH, columns, fitted, known, shortened};
use crate::model::live::{Bottleneck, GrowingFile, Throttle, TransferState, TransferView};
use crate::units;

/// Files listed that grow.
const GROWING: usize = 3;

/// Two or three lines for each: how far, from where to where, and what else is worth a word.
pub(super) fn transfers(text: &mut String, transfers: &[TransferView]) {
    if transfers.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:<8} {:>8} {:>8} {:>5} {:>10}  TIME LEFT (RANGE)",
        "TRANSFER", "DONE", "OF", "", "RATE"
    );
    for view in transfers {
        let _ = writeln!(
            text,
            "{} {:>8} {:>8} {:>5} {:>10}  {}",
            fitted(&view.command, 8),
            known(view.position_bytes, |bytes| units::capacity(bytes as f64)),
            known(view.size_bytes, |bytes| units::capacity(bytes as f64)),
            done(view),
            known(view.rate_bytes_per_s, units::throughput),
            fitted(&left(view), 36).trim_end(),
        );
        let _ = writeln!(text, "  {}", route(view, WIDTH - 2));
        let more = remarks(view);
        if !more.is_empty() {
            let _ = writeln!(text, "  {}", fitted(&more.join(", "), WIDTH - 2).trim_end());
        }
    }
}

/// What else is worth a word: files of a job, what waits, what is in memory only.
fn remarks(view: &TransferView) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(view.files_total.map(|total| match view.files_done {
        Some(done) => format!("{done} of {total} files"),
        None => format!("{total} files"),
    }));
    words.extend(view.waits_for.map(|end| match end {
        Bottleneck::Source => "waits for the source".to_owned(),
        Bottleneck::Destination => "waits for the destination".to_owned(),
        Bottleneck::Both => "one device is both ends".to_owned(),
        Bottleneck::Program => "waits for no device".to_owned(),
    }));
    words.extend(view.throttled.map(|throttle| match throttle {
        Throttle::DirtyMemory => "throttled: dirty memory is full".to_owned(),
        Throttle::ControlGroup => "throttled by a limit of its control group".to_owned(),
        Throttle::OwnLimit => "throttled by its own option".to_owned(),
    }));
    let unwritten = view.unwritten_bytes.filter(|bytes| *bytes > 0);
    words.extend(
        unwritten.map(|bytes| format!("up to {} not on disk", units::capacity(bytes as f64))),
    );
    words
}

/// The share that is done, where there is one.
fn done(view: &TransferView) -> String {
    match (view.position_bytes, view.size_bytes) {
        (Some(position), Some(size)) if size > 0 => {
            format!("{:.0} %", position as f64 / size as f64 * 100.0)
        }
        _ => String::new(),
    }
}

fn left(view: &TransferView) -> String {
    match (view.state, view.eta) {
        (TransferState::Finished, _) => "finished".to_owned(),
        (TransferState::Stalled, _) => "stalled".to_owned(),
        (TransferState::NoPosition, _) => "no position".to_owned(),
        (TransferState::Moving, None) => UNKNOWN.to_owned(),
        (TransferState::Moving, Some(likely)) => {
            let likely = units::waiting(likely);
            match (view.eta_low, view.eta_high) {
                (Some(low), Some(high)) => format!(
                    "{likely} ({} - {})",
                    units::waiting(low),
                    units::waiting(high)
                ),
                _ => likely,
            }
        }
    }
}

/// From where to where; names that do not fit lose their beginnings.
fn route(view: &TransferView, width: usize) -> String {
    match (&view.source, &view.destination) {
        (Some(source), Some(destination)) => {
            let arrow = " -> ";
            let half = (width - arrow.len()) / 2;
            let spare = half.saturating_sub(columns(source).min(columns(destination)));
            let room = half + spare;
            let source = shortened(source, if columns(source) <= half { half } else { room });
            format!(
                "{source}{arrow}{}",
                shortened(destination, width - arrow.len() - columns(&source))
            )
        }
        (Some(source), None) => format!("from {}", shortened(source, width - 5)),
        (None, Some(destination)) => format!("to {}", shortened(destination, width - 3)),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// The files that grow fastest.
pub(super) fn growing(text: &mut String, files: &[GrowingFile]) {
    for file in files.iter().take(GROWING) {
        let start = format!(
            "GROWS {:>10} to {:>8}  ",
            units::throughput(file.growth_bytes_per_s),
            units::capacity(file.size_bytes as f64),
        );
        let room = WIDTH.saturating_sub(columns(&start));
        let _ = writeln!(text, "{start}{}", shortened(&file.path, room));
    }
}
