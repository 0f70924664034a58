//! The table of transfers, and the growing files.

use std::fmt::Write as _;

use super::columns::{
    DEFAULT_TERMINAL_WIDTH, UNKNOWN_VALUE, display_width, fit_to_width, format_known, keep_end,
};
use crate::report::transfer_text::{
    bottleneck_text, dirty_text, end_text, operation_text, throttle_text, work_text,
};
use crate::snapshot::view::{GrowingFile, TransferState, TransferView};
use crate::units;

/// Maximum number of listed growing files.
const MAX_GROWING_FILES: usize = 3;

/// Two or three lines for each transfer: progress, source and destination, and remarks.
pub(super) fn append_transfers(text: &mut String, transfers: &[TransferView]) {
    if transfers.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:<8} {:>8} {:>8} {:>5} {:>10}  ETA (RANGE)",
        "TRANSFER", "DONE", "OF", "%", "RATE"
    );
    for view in transfers {
        let _ = writeln!(
            text,
            "{} {:>8} {:>8} {:>5} {:>10}  {}",
            fit_to_width(&view.command, 8),
            format_known(view.position_bytes, |bytes| units::format_capacity(
                bytes as f64
            )),
            format_known(view.size_bytes, |bytes| units::format_capacity(
                bytes as f64
            )),
            progress_text(view),
            format_known(view.rate_bytes_per_s, units::format_throughput),
            fit_to_width(&eta_text(view), 36).trim_end(),
        );
        let _ = writeln!(
            text,
            "  {}",
            source_to_destination(view, DEFAULT_TERMINAL_WIDTH - 2)
        );
        let more = transfer_remarks(view);
        if !more.is_empty() {
            let _ = writeln!(
                text,
                "  {}",
                fit_to_width(&more.join(", "), DEFAULT_TERMINAL_WIDTH - 2).trim_end()
            );
        }
    }
}

/// Remarks on a transfer: number of files, bottleneck, throttling, unflushed data.
fn transfer_remarks(view: &TransferView) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(view.files_total.map(|total| match view.files_done {
        Some(done) => format!("{done} of {total} files"),
        None => format!("{total} files"),
    }));
    remarks.extend(view.work.and_then(work_text));
    remarks.extend(bottleneck_text(view).map(|text| format!("bottleneck {text}")));
    remarks.extend(
        view.throttle
            .map(|throttle| format!("throttled: {}", throttle_text(throttle))),
    );
    remarks.extend(dirty_text(view));
    remarks
}

/// The completed fraction, if known.
fn progress_text(view: &TransferView) -> String {
    view.progress_fraction()
        .map_or_else(String::new, |fraction| format!("{:.0}", fraction * 100.0))
}

fn eta_text(view: &TransferView) -> String {
    if let Some(end) = end_text(view) {
        return end;
    }
    match (view.state, view.eta) {
        (TransferState::Stalled, _) => "stalled".to_owned(),
        (TransferState::UnknownPosition, _) => "no position".to_owned(),
        (_, None) => UNKNOWN_VALUE.to_owned(),
        (_, Some(eta)) => {
            let eta = units::format_wait(eta);
            match (view.eta_low, view.eta_high) {
                (Some(low), Some(high)) => format!(
                    "{eta} ({} - {})",
                    units::format_wait(low),
                    units::format_wait(high)
                ),
                _ => eta,
            }
        }
    }
}

/// Source and destination; names that do not fit are truncated at the beginning.
fn source_to_destination(view: &TransferView, width: usize) -> String {
    if let Some(operation) = operation_text(view.kind) {
        // The kernel works on its own behalf: its device stands for a program.
        let subject = view.source.as_ref().unwrap_or(&view.command);
        let room = width.saturating_sub(operation.len() + 4);
        return format!("{operation} of {}", keep_end(subject, room));
    }
    match (&view.source, &view.destination) {
        (Some(source), Some(destination)) => {
            let arrow = " -> ";
            let half = (width - arrow.len()) / 2;
            let spare = half.saturating_sub(display_width(source).min(display_width(destination)));
            let room = half + spare;
            let source = keep_end(
                source,
                if display_width(source) <= half {
                    half
                } else {
                    room
                },
            );
            format!(
                "{source}{arrow}{}",
                keep_end(destination, width - arrow.len() - display_width(&source))
            )
        }
        (Some(source), None) => format!("from {}", keep_end(source, width - 5)),
        (None, Some(destination)) => format!("to {}", keep_end(destination, width - 3)),
        (None, None) => UNKNOWN_VALUE.to_owned(),
    }
}

/// The fastest growing files.
pub(super) fn append_growing_files(text: &mut String, files: &[GrowingFile]) {
    for file in files.iter().take(MAX_GROWING_FILES) {
        let start = format!(
            "GROWING {:>10}, {:>8}  ",
            units::format_throughput(file.growth_bytes_per_s),
            units::format_capacity(file.size_bytes as f64),
        );
        let room = DEFAULT_TERMINAL_WIDTH.saturating_sub(display_width(&start));
        let _ = writeln!(text, "{start}{}", keep_end(&file.path, room));
    }
}
