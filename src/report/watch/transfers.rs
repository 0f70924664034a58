//! Transfers: a line with the numbers, and lines with source, destination and remarks.

use super::table::{cut, display_width, keep_end, table_text};
use crate::report::transfer_text::{
    bottleneck_text, dirty_text, end_text, operation_text, throttle_text, work_text,
};
use crate::snapshot::view::{GrowingFile, TransferView};

/// Growing files that are listed at most: the fastest.
const MAX_GROWING_FILES: usize = 3;

pub(super) fn transfers_text(transfers: &[TransferView], width: Option<usize>) -> String {
    let mut text = String::new();
    if transfers.is_empty() {
        return text;
    }
    let rows: Vec<&TransferView> = transfers.iter().collect();
    let table = table_text(&rows, width, None);
    let mut lines = table.lines();
    text.extend(lines.next().map(|heading| format!("{heading}\n")));
    for (line, view) in lines.zip(transfers) {
        text += &format!("{line}\n");
        text += &cut(
            format!("  {}", source_to_destination(view, width.map(|it| it - 2))),
            width,
        );
        let remarks = remarks(view);
        if !remarks.is_empty() {
            text += &cut(format!("  {}", remarks.join(", ")), width);
        }
    }
    text
}

/// Number of files, how it ended, bottleneck, throttling, what is not on disk.
fn remarks(view: &TransferView) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(view.files_total.map(|total| match view.files_done {
        Some(done) => format!("{done} of {total} files"),
        None => format!("{total} files"),
    }));
    remarks.extend(view.work.and_then(work_text));
    remarks.extend(end_text(view).filter(|end| end != "finished"));
    remarks.extend(bottleneck_text(view).map(|text| format!("bottleneck {text}")));
    let throttle = view.throttle.map(throttle_text);
    remarks.extend(throttle.map(|throttle| format!("throttled: {throttle}")));
    remarks.extend(dirty_text(view));
    remarks
}

/// Source and destination; names that do not fit are cut at the beginning.
fn source_to_destination(view: &TransferView, width: Option<usize>) -> String {
    let width = width.unwrap_or(usize::MAX);
    if let Some(operation) = operation_text(view.kind) {
        // The kernel works on its own behalf: its device stands for a program.
        let subject = view.source.as_ref().unwrap_or(&view.command);
        return format!(
            "{operation} of {}",
            keep_end(subject, width - operation.len() - 4)
        );
    }
    match (&view.source, &view.destination) {
        (Some(source), Some(destination)) => {
            let both = width - 4;
            // The shorter one leaves its room to the other.
            let spare = both.saturating_sub(display_width(destination));
            let source = keep_end(source, spare.max(both / 2));
            let room = both - display_width(&source);
            format!("{source} -> {}", keep_end(destination, room))
        }
        (Some(source), None) => format!("from {}", keep_end(source, width - 5)),
        (None, Some(destination)) => format!("to {}", keep_end(destination, width - 3)),
        (None, None) => "n/a".to_owned(),
    }
}

pub(super) fn growing_text(files: &[GrowingFile], width: Option<usize>) -> String {
    let rows: Vec<&GrowingFile> = files.iter().take(MAX_GROWING_FILES).collect();
    match rows.is_empty() {
        true => String::new(),
        false => table_text(&rows, width, None),
    }
}
