//! `diskscope why --from FILE`: why it was slow at a time of a recording.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::pretty_json;
use super::replay::wanted_time;
use crate::files::output::NewFileAccess;
use crate::recording::{
    BEFORE_TRIGGER, LONGEST_AFTER_TRIGGER, RecordedDiagnosis, Recording, TriggerMark,
};
use crate::units::whole_milliseconds;
use crate::why::{DiagnosisDocument, diagnosis_text};
use crate::why::{EvidenceWindow, diagnose};

/// Snapshots that are diagnosed at least, whatever the interval of the recording.
const MIN_SNAPSHOTS: usize = 3;
/// Snapshots that are diagnosed at most.
const MAX_SNAPSHOTS: usize = 600;

/// The result in both formats.
struct RecordedAnswer {
    text: String,
    json: String,
    is_problem: bool,
}

/// What is asked about a recording.
pub(super) struct RecordedQuestion<'a> {
    /// Time in the recording, as `--at` has it.
    pub(super) at: Option<&'a str>,
    /// The time before it that is examined.
    pub(super) duration: Duration,
    pub(super) is_verbose: bool,
    /// Whether the exit status tells that there is a problem.
    pub(super) tells_problem: bool,
}

impl RecordedQuestion<'_> {
    /// Prints the diagnosis of a trigger, which was made with all evidence, or else one from the
    /// snapshots of the recording.
    pub(super) fn answer(&self, path: &Path, format: &FormatOption) -> CommandResult {
        let mut recording = Recording::open(path)?;
        let mut output = format
            .output
            .whole(&recording.file_ids(), NewFileAccess::Private)?;
        let at_ms = wanted_time(self.at, &mut recording)?;
        let answer = match trigger_at(&recording, at_ms) {
            Some(trigger) => answer_of_trigger(&mut recording, trigger, at_ms)?,
            None => None,
        };
        let answer = match answer {
            Some(answer) => answer,
            None => answer_of_snapshots(&mut recording, at_ms, self)?,
        };
        output.write(match format.get() {
            OutputFormat::Json => &answer.json,
            _ => &answer.text,
        })?;
        if self.tells_problem && answer.is_problem {
            return Ok(ExitStatus::ProblemFound);
        }
        Ok(ExitStatus::Success)
    }
}

/// The trigger whose requests cover a time, the nearest; without a time the last one.
fn trigger_at(recording: &Recording, at_ms: Option<u64>) -> Option<usize> {
    let before = whole_milliseconds(BEFORE_TRIGGER);
    let after = whole_milliseconds(LONGEST_AFTER_TRIGGER);
    let covers = |mark: &TriggerMark, at: u64| {
        (mark.time_ms.saturating_sub(before)..=mark.time_ms.saturating_add(after)).contains(&at)
    };
    let marks = recording.trigger_marks().enumerate();
    let found = match at_ms {
        None => marks.last(),
        Some(at) => marks
            .filter(|(_, mark)| covers(mark, at))
            .min_by_key(|(_, mark)| mark.time_ms.abs_diff(at)),
    };
    found.map(|(index, _)| index)
}

fn answer_of_trigger(
    recording: &mut Recording,
    trigger: usize,
    at_ms: Option<u64>,
) -> Result<Option<RecordedAnswer>, CommandFailure> {
    let record = recording.read_trigger(trigger)?;
    let Some(record) = record.filter(|it| at_ms.is_none_or(|at| at <= it.end_ms())) else {
        return Ok(None);
    };
    let heading = format!("trigger {} {}\n\n", record.first.time, record.summary());
    let Some(RecordedDiagnosis { text, document, .. }) = record.diagnosis else {
        return Ok(None);
    };
    let lines: Vec<String> = text.iter().map(ToString::to_string).collect();
    Ok(Some(RecordedAnswer {
        text: heading + &lines.join("\n") + "\n",
        json: pretty_json(&document)?,
        is_problem: document["problem"] == true,
    }))
}

fn answer_of_snapshots(
    recording: &mut Recording,
    at_ms: Option<u64>,
    question: &RecordedQuestion<'_>,
) -> Result<RecordedAnswer, CommandFailure> {
    match at_ms {
        Some(at) => recording.seek_time(at),
        None => recording.seek(usize::MAX),
    }
    let views = recording.views_within(question.duration, (MIN_SNAPSHOTS, MAX_SNAPSHOTS));
    let window = EvidenceWindow::of_snapshots(views.into_iter().map(Arc::new));
    let diagnosis = diagnose(&window).ok_or_else(|| {
        CommandFailure::failed(
            "too few snapshots: the recording has fewer than two with rates there",
        )
        .with_advice("name another time with --at, or a longer window with --duration")
    })?;
    Ok(RecordedAnswer {
        text: diagnosis_text(&diagnosis, question.is_verbose),
        json: pretty_json(&DiagnosisDocument::new(&diagnosis))?,
        is_problem: diagnosis.is_problem(),
    })
}
