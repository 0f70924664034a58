//! The parts of a diagnosis in the order in which they are read: as text, and for the screen.

use std::fmt::Write as _;

use super::cause::{Cause, Certainty, Party};
use super::diagnosis::Diagnosis;
use super::evidence::Evidence;
use crate::files::shell::for_terminal;
use crate::text::{self, wrap_text};
use crate::units;

/// Columns of a value at most; its source stands after it.
const VALUE_WIDTH: usize = 42;
/// Columns of the longest source.
const SOURCE_WIDTH: usize = 22;
/// Columns of the text, and the one in which the values of a line begin.
const WIDTH: usize = 80;
const INDENT: usize = 15;
/// Values of the first cause in a short text.
const MAX_EVIDENCE: usize = 6;

/// An entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// What stands before it.
    pub title: &'static str,
    text: String,
    /// Of a measured value: the file or interface of the kernel that it comes from.
    source: Option<&'static str>,
    /// Of what helps: the command, which stays whole so that it can be copied.
    pub command: Option<String>,
    /// Whether it is about what was ruled out or not examined.
    pub is_remainder: bool,
}

impl Entry {
    fn new(title: &'static str, text: String) -> Self {
        Self {
            title,
            text,
            ..Self::default()
        }
    }

    /// Its lines in `width` columns, without its command. The source of a value stands in a column of
    /// its own; a long value has lines of its own.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let mut lines = wrap_text(&self.text, width);
        if let Some(source) = self.source {
            let room = width.saturating_sub(SOURCE_WIDTH + 1);
            let room = room.clamp(1, VALUE_WIDTH.max(width / 2));
            let fits = |last: &mut String| last.chars().count() <= room;
            let last = lines.pop_if(fits).unwrap_or_default();
            lines.push(format!("{last:<room$} {source}"));
        }
        lines
    }
}

/// The proof of a cause, who causes it and who suffers, since when, and what helps.
pub fn cause_entries(cause: &Cause, diagnosis: &Diagnosis) -> Vec<Entry> {
    let mut entries = evidence_entries(&cause.evidence);
    let mut list = |title, parties: &[Party], what| {
        entries.extend(parties.iter().map(|party| {
            let share = party.share.map_or_else(String::new, |share| {
                format!(": {} {what}", units::format_percent(share))
            });
            Entry::new(title, party.line() + &share)
        }));
    };
    list("causes", &cause.culprits, "of it");
    list("suffers", &cause.victims, "of the time blocked");
    if !cause.stack.is_empty() {
        let names: Vec<&str> = cause.stack.iter().map(|name| name.as_str()).collect();
        entries.push(Entry::new("stack", names.join(" < ")));
    }
    let since = format!("{} or earlier", units::format_time(&cause.since));
    entries.push(Entry::new("since", since));
    entries.extend(cause.remedies.iter().map(|remedy| Entry {
        command: remedy.command.clone(),
        ..Entry::new("do", remedy.sentence())
    }));
    if cause.certainty == Certainty::Probable {
        entries.push(Entry::new("certainty", probable_text(diagnosis)));
    }
    entries
}

/// Values with their sources.
fn evidence_entries(evidence: &[Evidence]) -> Vec<Entry> {
    let entry = |value: &Evidence| Entry {
        source: Some(value.source),
        ..Entry::new("evidence", value.text())
    };
    evidence.iter().map(entry).collect()
}

/// The values of the machine that the first cause does not name.
pub fn machine_entries(diagnosis: &Diagnosis) -> Vec<Entry> {
    let named = |value: &Evidence| {
        let mut causes = diagnosis.causes.iter().take(1);
        causes.any(|cause| cause.evidence.iter().any(|it| it.name == value.name))
    };
    let values = diagnosis.machine.iter().filter(|value| !named(value));
    evidence_entries(&values.cloned().collect::<Vec<_>>())
}

/// What was ruled out, each with its first value, and what was not examined.
pub fn remainder_entries(diagnosis: &Diagnosis) -> Vec<Entry> {
    let remainder = |title, text| Entry {
        is_remainder: true,
        ..Entry::new(title, text)
    };
    let ruled_out = diagnosis.ruled_out.iter().map(|it| {
        let value = it.evidence.first().map(Evidence::text);
        value.map_or_else(
            || it.code.to_owned(),
            |text| format!("{} ({text})", it.code),
        )
    });
    let ruled_out: Vec<String> = ruled_out.collect();
    let mut entries = Vec::new();
    if !ruled_out.is_empty() {
        entries.push(remainder("ruled out", ruled_out.join(", ")));
    }
    entries.extend(diagnosis.not_examined.iter().map(|it| {
        let text = format!("{}: {}", it.code, it.reason.text());
        remainder("not examined", text)
    }));
    entries
}

/// Why a cause is not proven, and what would prove it.
fn probable_text(diagnosis: &Diagnosis) -> String {
    let more = match diagnosis.traced_requests {
        Some(requests) => {
            format!("{requests} requests of the busiest device were traced and do not prove more")
        }
        None => text::root_advice(
            ": then the requests of the busiest device are traced as proof",
            "no requests were traced",
        ),
    };
    format!("probable: these things happened at the same time; {more}")
}

/// The diagnosis as text; every line ends in a newline. Without `verbose` the first values only, and
/// not what was ruled out or not examined.
pub fn diagnosis_text(diagnosis: &Diagnosis, verbose: bool) -> String {
    let mut text = String::new();
    let watched = units::format_wait(diagnosis.window);
    let time = units::format_time(&diagnosis.time);
    let verdict = diagnosis.verdict();
    let _ = writeln!(text, "{watched} watched until {time}: {verdict}");
    for line in wrap_text(&diagnosis.conclusion(), WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    let mut entries = Vec::new();
    if !diagnosis.is_problem() {
        entries.extend(machine_entries(diagnosis));
    }
    if let Some(cause) = diagnosis.causes.first() {
        let mut values = 0;
        let mut of_cause = cause_entries(cause, diagnosis);
        of_cause.retain(|entry| {
            values += usize::from(entry.source.is_some());
            verbose || entry.source.is_none() || values <= MAX_EVIDENCE
        });
        entries.extend(of_cause);
    }
    for cause in diagnosis.causes.iter().skip(1) {
        let why = match cause.consequence_of {
            Some(other) => format!(" (a consequence of {other})"),
            None => String::new(),
        };
        let sentence = format!("{}: {}{why}", cause.code, cause.sentence);
        entries.push(Entry::new("also", sentence));
    }
    if verbose {
        entries.extend(remainder_entries(diagnosis));
    }
    for entry in &entries {
        append_entry(&mut text, entry);
    }
    text
}

/// One entry: the title in the first column.
fn append_entry(text: &mut String, entry: &Entry) {
    let mut lines = entry.lines(WIDTH - INDENT);
    let command = entry.command.clone().map(for_terminal);
    lines.extend(command.map(|command| format!("  {command}")));
    for (number, line) in lines.iter().enumerate() {
        let title = if number == 0 { entry.title } else { "" };
        let _ = writeln!(text, "  {title:<width$}{line}", width = INDENT - 2);
    }
}
