//! `diskscope why`: watches, or reads a recording, then says who waits on what, and why.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::live_sampler::LiveSampler;
use super::options::FormatOption;
use super::options::OutputFormat::{self, Json, Text};
use super::output::{pretty_json, print_status_line};
use super::replay::wanted_time;
use super::subcommand::Arguments;
use super::{pace, signals};
use crate::engine::CancellationToken;
use crate::files::output::NewFileAccess;
use crate::probe::Wanted;
use crate::recording::{AFTER_TRIGGER, BEFORE_TRIGGER, RecordedDiagnosis, Recording, TriggerMark};
use crate::report::watch;
use crate::roots::SysPaths;
use crate::units::{self, whole_milliseconds};
use crate::why::recorder::{SCAN_INTERVAL, WindowRecorder};
use crate::why::{Diagnosis, DiagnosisDocument, EvidenceWindow, diagnose, diagnosis_text};

/// The shortest window: a few samples.
const SHORTEST: Duration = Duration::from_secs(2);
/// Longest time between two samples; a short window has at least [`LEAST_SAMPLES`].
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
const LEAST_SAMPLES: u32 = 8;
/// Snapshots of a recording that are diagnosed at least, whatever its interval, and at most.
const RECORDED_SNAPSHOTS: (usize, usize) = (3, 600);

/// Watch, then say who waits on what, because of whom, with proof and remedy
#[derive(Debug, Args)]
#[command(
    after_help = "With root's rights, the requests of the busiest device are traced while it watches: they \
    prove who is ahead of whom. Without root the sentence says `probably`.\n\n\
    Examples:\n  diskscope why\n  diskscope why --duration 60 --json | jq '.causes[0]'\n  \
    diskscope why --duration 10 --exit-code || mail -s 'disk trouble' root"
)]
pub(super) struct WhyArguments {
    /// how long to watch, such as 10s; a bare number is seconds
    #[arg(long, default_value = "20s", value_parser = parse_window)]
    duration: Duration,
    /// diagnose a recording at its last trigger, or at its end
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// diagnose the recording at this time, HH:MM:SS or with the date before it
    #[arg(long, value_name = "TIME", requires = "from")]
    at: Option<String>,
    /// exit with status 5 if a problem was found
    #[arg(long)]
    exit_code: bool,
    /// also print all values, what was ruled out and what was not examined
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: FormatOption,
}

fn parse_window(text: &str) -> Result<Duration, String> {
    match units::parse_time(text) {
        Ok(window) if window < SHORTEST => Err("the shortest window is 2s".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

impl Arguments for WhyArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Json];

    fn run(self) -> CommandResult {
        let mut recording = self.from.as_deref().map(Recording::open).transpose()?;
        let inputs = recording.as_ref().map(Recording::file_ids);
        let inputs = inputs.unwrap_or_default();
        let mut output = self.format.output.whole(&inputs, NewFileAccess::Private)?;
        let control = signals::cancelled_by_signals()?;
        let answer = match &mut recording {
            Some(recording) => self.answer_of_recording(recording)?,
            None => match watch_window(self.duration, &control)? {
                Some(diagnosis) => self.answer_of(&diagnosis)?,
                None if control.is_cancelled() => return Ok(ExitStatus::Interrupted),
                None => {
                    let message = "too few samples: the window ended before two of them";
                    let advice = "watch longer: --duration 20s";
                    return Err(CommandFailure::failed(message).with_advice(advice));
                }
            },
        };
        output.write(&answer.text)?;
        if self.exit_code && answer.is_problem && !control.is_cancelled() {
            return Ok(ExitStatus::ProblemFound);
        }
        Ok(ExitStatus::of_end(&control))
    }
}

/// A diagnosis in the wanted format.
struct Answer {
    text: String,
    is_problem: bool,
}

impl WhyArguments {
    fn answer_of(&self, diagnosis: &Diagnosis) -> Result<Answer, CommandFailure> {
        let text = match self.format.get() {
            Json => pretty_json(&DiagnosisDocument::new(diagnosis))?,
            _ => diagnosis_text(diagnosis, self.verbose),
        };
        let is_problem = diagnosis.is_problem();
        Ok(Answer { text, is_problem })
    }

    /// The diagnosis of a trigger, which was made with all evidence, or else one from the snapshots of the
    /// recording.
    fn answer_of_recording(&self, recording: &mut Recording) -> Result<Answer, CommandFailure> {
        let at_ms = wanted_time(self.at.as_deref(), recording)?;
        if let Some(trigger) = trigger_at(recording, at_ms)
            && let Some(answer) = self.answer_of_trigger(recording, trigger)?
        {
            return Ok(answer);
        }
        self.answer_of_snapshots(recording, at_ms)
    }

    fn answer_of_trigger(
        &self,
        recording: &mut Recording,
        trigger: usize,
    ) -> Result<Option<Answer>, CommandFailure> {
        let Some(record) = recording.read_trigger(trigger)? else {
            return Ok(None);
        };
        let heading = format!("trigger {} {}\n\n", record.first.time, record.summary());
        let Some(RecordedDiagnosis { text, document, .. }) = record.diagnosis else {
            return Ok(None);
        };
        let lines: Vec<String> = text.iter().map(ToString::to_string).collect();
        Ok(Some(Answer {
            text: match self.format.get() {
                Json => pretty_json(&document)?,
                _ => heading + &lines.join("\n") + "\n",
            },
            is_problem: document["problem"] == true,
        }))
    }

    fn answer_of_snapshots(
        &self,
        recording: &mut Recording,
        at_ms: Option<u64>,
    ) -> Result<Answer, CommandFailure> {
        match at_ms {
            Some(at) => recording.seek_time(at),
            None => recording.seek(usize::MAX),
        }
        let views = recording.views_within(self.duration, RECORDED_SNAPSHOTS);
        let window = EvidenceWindow::of_snapshots(views.into_iter().map(Arc::new));
        let Some(diagnosis) = diagnose(&window) else {
            let message = "too few snapshots: the recording has fewer than two with rates there";
            let advice = "name another time with --at, or a longer window with --duration";
            return Err(CommandFailure::failed(message).with_advice(advice));
        };
        self.answer_of(&diagnosis)
    }
}

/// The trigger whose requests cover a time, the nearest; without a time the last one.
fn trigger_at(recording: &Recording, at_ms: Option<u64>) -> Option<usize> {
    let before = whole_milliseconds(BEFORE_TRIGGER);
    let after = whole_milliseconds(AFTER_TRIGGER);
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

/// Watches for that time, or until a signal arrives: then what was seen until then is examined.
fn watch_window(
    duration: Duration,
    control: &CancellationToken,
) -> Result<Option<Diagnosis>, CommandFailure> {
    let interval = SAMPLE_INTERVAL.min(duration / LEAST_SAMPLES);
    let mut sampler = LiveSampler::new(Wanted {
        units: true,
        ..Wanted::default()
    });
    // The first snapshot has no rates; its notices say what is missing.
    let (_, first) = sampler.sample(None)?;
    for notice in watch::new_notices(&first, &mut Vec::new()).lines() {
        print_status_line(notice);
    }
    let mut recorder = WindowRecorder::begin(SysPaths::default(), true);
    let begun = Instant::now();
    let (mut sample_due, mut scan_due) = (begun + interval, begun);
    let end = begun + duration;
    let mut is_over = false;
    while !is_over && pace::wait_until_due(sample_due.min(scan_due).min(end), control) {
        let now = Instant::now();
        // The last snapshot is taken after the whole time, however late this is.
        is_over = now >= end;
        if now >= scan_due {
            recorder.scan();
            scan_due = now + SCAN_INTERVAL;
        }
        if now >= sample_due || is_over {
            recorder.add_snapshot(Arc::new(sampler.sample(None)?.1));
            sample_due = next_sample(now, interval, end);
        }
    }
    Ok(diagnose(&recorder.finish()))
}

/// When the next sample is due. On a busy machine the samples are late: the last interval is made
/// longer, as one that is much shorter than the others can end before a slow request does.
fn next_sample(now: Instant, interval: Duration, end: Instant) -> Instant {
    let due = now + interval;
    if due + interval / 2 > end { end } else { due }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_interval_is_never_much_shorter_than_the_others() {
        let (begun, interval) = (Instant::now(), Duration::from_secs(1));
        let end = begun + Duration::from_secs(10);
        let next = |at: f64| next_sample(begun + Duration::from_secs_f64(at), interval, end);
        assert_eq!(next(3.2), begun + Duration::from_secs_f64(4.2));
        assert_eq!(next(8.4), begun + Duration::from_secs_f64(9.4));
        assert_eq!(next(8.6), end);
        assert_eq!(next(9.9), end);
    }
}
