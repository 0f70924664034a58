//! A diagnosis as text of 80 columns.

use std::fmt::Write as _;

use super::cause::Diagnosis;
use super::entries::{Entry, EntryKind, cause_entries, evidence_entries, remainder_entries};
use crate::text::wrap_text;
use crate::units;

/// Columns of the text.
const WIDTH: usize = 80;
/// Column in which the values of a line begin.
const INDENT: usize = 15;

/// Values of the first cause in a short text.
const MAX_EVIDENCE: usize = 6;

/// The diagnosis as text; every line ends in a newline. Without `verbose` the first values only, and
/// not what was ruled out or not examined.
#[must_use]
pub fn diagnosis_text(diagnosis: &Diagnosis, verbose: bool) -> String {
    let mut text = String::new();
    let watched = units::format_wait(diagnosis.window);
    let time = units::format_time(&diagnosis.time);
    let verdict = diagnosis.verdict();
    let _ = writeln!(text, "{watched} watched until {time}: {verdict}");
    for line in wrap_text(&diagnosis.conclusion(), WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    if !diagnosis.is_problem() {
        append_entries(&mut text, &evidence_entries(&diagnosis.machine));
    }
    if let Some(cause) = diagnosis.causes.first() {
        let mut entries = cause_entries(cause, diagnosis.traced_requests);
        if !verbose {
            let mut values = 0;
            entries.retain(|entry| {
                values += usize::from(entry.kind == EntryKind::Evidence);
                entry.kind != EntryKind::Evidence || values <= MAX_EVIDENCE
            });
        }
        append_entries(&mut text, &entries);
    }
    for cause in diagnosis.causes.iter().skip(1) {
        let code = cause.code;
        let why = match cause.consequence_of {
            Some(other) => format!(" (a consequence of {})", other),
            None => String::new(),
        };
        let sentence = format!("{code}: {}{why}", cause.sentence);
        append_lines(&mut text, "also", &wrap_text(&sentence, WIDTH - INDENT));
    }
    if verbose {
        append_entries(&mut text, &remainder_entries(diagnosis));
    }
    text
}

fn append_entries(text: &mut String, entries: &[Entry]) {
    for entry in entries {
        append_lines(text, entry.kind.title(), &entry.lines(WIDTH - INDENT));
    }
}

/// One entry: the title in the first column.
fn append_lines(text: &mut String, title: &str, lines: &[String]) {
    for (number, line) in lines.iter().enumerate() {
        let title = if number == 0 { title } else { "" };
        let _ = writeln!(text, "  {title:<width$}{line}", width = INDENT - 2);
    }
}
