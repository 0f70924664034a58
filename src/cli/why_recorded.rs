//! `diskscope why --from FILE`: why it was slow at a time of a recording.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::ArgMatches;

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::OutputFormat;
use super::output::{pretty_json, whole_destination};
use super::replay_triggers::read_failure;
use crate::files::input::{InputKind, open_input};
use crate::files::output::NewFileAccess;
use crate::recording::{
    BEFORE_TRIGGER, LONGEST_AFTER_TRIGGER, RecordedDiagnosis, Recording, RecordingCursor,
    TriggerMark,
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

/// Prints the diagnosis of a trigger, which was made with all evidence, or else one from the
/// snapshots of the recording.
pub(super) fn run(
    matches: &ArgMatches,
    format: OutputFormat,
    path: &Path,
    duration: Duration,
) -> CommandResult {
    let (file, input) =
        open_input(path, InputKind::RegularFile).map_err(|error| read_failure(error.into()))?;
    let mut output = whole_destination(matches, &[input], NewFileAccess::Private)?;
    let recording = Recording::from_file(path, file).map_err(read_failure)?;
    let mut cursor = RecordingCursor::new(recording);
    let at_ms = wanted_time(matches, &mut cursor)?;
    let answer = match trigger_at(&cursor, at_ms) {
        Some(trigger) => answer_of_trigger(&mut cursor, trigger, at_ms)?,
        None => None,
    };
    let answer = match answer {
        Some(answer) => answer,
        None => answer_of_snapshots(&mut cursor, at_ms, duration, matches.get_flag("verbose"))?,
    };
    output.write(match format {
        OutputFormat::Json => &answer.json,
        _ => &answer.text,
    })?;
    Ok(match answer.is_problem && matches.get_flag("exit-code") {
        true => ExitStatus::ProblemFound,
        false => ExitStatus::Success,
    })
}

/// The time of `--at` in milliseconds since 1970.
fn wanted_time(
    matches: &ArgMatches,
    cursor: &mut RecordingCursor,
) -> Result<Option<u64>, CommandFailure> {
    let (Some(text), Some(times)) = (
        matches.get_one::<String>("at"),
        cursor.times().map_err(read_failure)?,
    ) else {
        return Ok(None);
    };
    let time = times
        .parse(text)
        .map_err(|error| CommandFailure::usage_error(format!("--at: {error}")))?;
    Ok(Some(time))
}

/// The trigger whose requests cover a time, the nearest; without a time the last one.
fn trigger_at(cursor: &RecordingCursor, at_ms: Option<u64>) -> Option<usize> {
    let before = whole_milliseconds(BEFORE_TRIGGER);
    let after = whole_milliseconds(LONGEST_AFTER_TRIGGER);
    let covers = |mark: &TriggerMark, at: u64| {
        (mark.time_ms.saturating_sub(before)..=mark.time_ms.saturating_add(after)).contains(&at)
    };
    let marks = cursor.recording().trigger_marks().enumerate();
    let found = match at_ms {
        None => marks.last(),
        Some(at) => marks
            .filter(|(_, mark)| covers(mark, at))
            .min_by_key(|(_, mark)| mark.time_ms.abs_diff(at)),
    };
    found.map(|(index, _)| index)
}

fn answer_of_trigger(
    cursor: &mut RecordingCursor,
    trigger: usize,
    at_ms: Option<u64>,
) -> Result<Option<RecordedAnswer>, CommandFailure> {
    let record = cursor.read_trigger(trigger).map_err(read_failure)?;
    let Some(record) = record.filter(|it| at_ms.is_none_or(|at| at <= it.end_ms())) else {
        return Ok(None);
    };
    let heading = format!("trigger {} {}\n\n", record.time, record.summary());
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
    cursor: &mut RecordingCursor,
    at_ms: Option<u64>,
    duration: Duration,
    verbose: bool,
) -> Result<RecordedAnswer, CommandFailure> {
    match at_ms {
        Some(at) => cursor.seek_time(at),
        None => cursor.seek(usize::MAX),
    }
    let end = cursor.position();
    let end_ms = cursor.current_mark().map_or(0, |mark| mark.time_ms);
    let from_ms = end_ms.saturating_sub(whole_milliseconds(duration));
    let marks = cursor.recording().view_marks().take(end + 1);
    let in_time = marks.filter(|mark| mark.time_ms >= from_ms).count();
    let count = in_time.clamp(MIN_SNAPSHOTS, MAX_SNAPSHOTS).min(end + 1);
    let mut window = EvidenceWindow::default();
    for view in end + 1 - count..=end {
        cursor.seek(view);
        if let Some(live) = cursor.read_view().map_err(read_failure)?
            && live.interval.is_some()
        {
            window.snapshots.push(Arc::new(live));
        }
    }
    let diagnosis = diagnose(&window).ok_or_else(|| {
        CommandFailure::failed(
            "too few snapshots: the recording has fewer than two with rates there",
        )
        .with_advice("name another time with --at, or a longer window with --duration")
    })?;
    Ok(RecordedAnswer {
        text: diagnosis_text(&diagnosis, verbose),
        json: pretty_json(&DiagnosisDocument::new(&diagnosis))?,
        is_problem: diagnosis.is_problem(),
    })
}
