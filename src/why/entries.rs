//! The parts of a diagnosis in the order in which they are read, for text and for the screen.

use super::cause::{Cause, Certainty, Diagnosis, Party, Remedy};
use super::evidence::Evidence;
use super::parties::line;
use crate::files::shell::for_terminal;
use crate::text;
use crate::text::wrap_text;
use crate::units;

/// Values that are shown of a cause that was ruled out.
const RULED_OUT_VALUES: usize = 1;
/// Columns of a value at most; its source stands after it.
const VALUE_WIDTH: usize = 42;
/// Columns of the longest source.
const SOURCE_WIDTH: usize = 22;

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A measured value and its source.
    Evidence,
    /// Who causes it.
    Culprit,
    /// Who suffers.
    Victim,
    /// Functions of the kernel in which a task hangs.
    Stack,
    /// Since when.
    Since,
    /// What helps.
    Remedy,
    /// Why it is not proven.
    Certainty,
    /// Causes that were ruled out.
    RuledOut,
    /// A cause that was not examined.
    NotExamined,
}

impl EntryKind {
    /// What stands before it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::Culprit => "causes",
            Self::Victim => "suffers",
            Self::Stack => "stack",
            Self::Since => "since",
            Self::Remedy => "do",
            Self::Certainty => "certainty",
            Self::RuledOut => "ruled out",
            Self::NotExamined => "not examined",
        }
    }
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is about.
    pub kind: EntryKind,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Text(String),
    Value { text: String, source: &'static str },
    Remedy(Remedy),
}

impl Entry {
    /// What helps, if it is about that: a screen shows a command in its own way.
    #[must_use]
    pub fn remedy(&self) -> Option<&Remedy> {
        match &self.content {
            Content::Remedy(remedy) => Some(remedy),
            Content::Text(_) | Content::Value { .. } => None,
        }
    }

    fn text(kind: EntryKind, text: String) -> Self {
        Self {
            kind,
            content: Content::Text(text),
        }
    }

    /// Its lines in `width` columns; only a command may be longer, so that it can be copied.
    #[must_use]
    pub fn lines(&self, width: usize) -> Vec<String> {
        match &self.content {
            Content::Text(text) => wrap_text(text, width),
            Content::Value { text, source } => value_lines(text, source, width),
            Content::Remedy(remedy) => remedy_lines(remedy, width),
        }
    }
}

/// A value and its source in columns; a long value has lines of its own.
fn value_lines(value: &str, source: &str, width: usize) -> Vec<String> {
    let value_width = width
        .saturating_sub(SOURCE_WIDTH + 1)
        .clamp(1, VALUE_WIDTH.max(width / 2));
    let mut lines = wrap_text(value, width);
    let last = match lines.pop() {
        Some(last) if last.chars().count() <= value_width => last,
        Some(last) => {
            lines.push(last);
            String::new()
        }
        None => String::new(),
    };
    lines.push(format!("{last:<value_width$} {source}"));
    lines
}

/// What a command does, and below it the command, which stays whole.
fn remedy_lines(remedy: &Remedy, width: usize) -> Vec<String> {
    let mut lines = wrap_text(&remedy.sentence(), width);
    let command = remedy.command.clone().map(for_terminal);
    lines.extend(command.map(|command| format!("  {command}")));
    lines
}

/// The proof of a cause, who causes it and who suffers, since when, and what helps. `traced` is the
/// number of requests that were traced.
#[must_use]
pub fn cause_entries(cause: &Cause, traced: Option<u64>) -> Vec<Entry> {
    let mut entries = evidence_entries(&cause.evidence);
    entries.extend(party_entries(EntryKind::Culprit, "of it", &cause.culprits));
    entries.extend(party_entries(
        EntryKind::Victim,
        "of the time blocked",
        &cause.victims,
    ));
    if !cause.stack.is_empty() {
        let names: Vec<&str> = cause
            .stack
            .iter()
            .map(|function| function.as_str())
            .collect();
        entries.push(Entry::text(EntryKind::Stack, names.join(" < ")));
    }
    let since = format!("{} or earlier", units::format_time(&cause.since));
    entries.push(Entry::text(EntryKind::Since, since));
    entries.extend(cause.remedies.iter().map(|remedy| Entry {
        kind: EntryKind::Remedy,
        content: Content::Remedy(remedy.clone()),
    }));
    if cause.certainty == Certainty::Probable {
        entries.push(Entry::text(EntryKind::Certainty, probable_text(traced)));
    }
    entries
}

/// Values with their sources.
#[must_use]
pub fn evidence_entries(evidence: &[Evidence]) -> Vec<Entry> {
    let entry = |value: &Evidence| Entry {
        kind: EntryKind::Evidence,
        content: Content::Value {
            text: value.text(),
            source: value.source,
        },
    };
    evidence.iter().map(entry).collect()
}

/// What was ruled out, and what was not examined.
#[must_use]
pub fn remainder_entries(diagnosis: &Diagnosis) -> Vec<Entry> {
    let ruled_out: Vec<String> = diagnosis
        .ruled_out
        .iter()
        .map(|(code, evidence)| {
            let values = evidence.iter().take(RULED_OUT_VALUES);
            let values: Vec<String> = values.map(Evidence::text).collect();
            if values.is_empty() {
                (*code).to_owned()
            } else {
                format!("{code} ({})", values.join(", "))
            }
        })
        .collect();
    let mut entries = Vec::new();
    if !ruled_out.is_empty() {
        entries.push(Entry::text(EntryKind::RuledOut, ruled_out.join(", ")));
    }
    entries.extend(diagnosis.not_examined.iter().map(|(code, reason)| {
        let text = format!("{code}: {}", reason.reason());
        Entry::text(EntryKind::NotExamined, text)
    }));
    entries
}

fn party_entries<'a>(
    kind: EntryKind,
    what: &'a str,
    parties: &'a [Party],
) -> impl Iterator<Item = Entry> + 'a {
    parties.iter().map(move |party| {
        let share = party.share.map_or_else(String::new, |share| {
            format!(": {} {what}", units::format_percent(share))
        });
        Entry::text(kind, format!("{}{share}", line(party)))
    })
}

/// Why a cause is not proven, and what would prove it.
fn probable_text(traced: Option<u64>) -> String {
    let why = "probable: these things happened at the same time";
    let more = match traced {
        Some(requests) => {
            format!("{requests} requests of the busiest device were traced and do not prove more")
        }
        None => text::root_advice(
            ": then the requests of the busiest device are traced as proof",
            "no device was busy enough to be traced",
        ),
    };
    format!("{why}; {more}")
}
