//! `diskscope why`: watches, then says who waits on what, and why.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::{pretty_json, print_status_line};
use super::subcommand::Arguments;
use super::why_recorded::RecordedQuestion;
use super::{pace, signals};
use crate::engine::CancellationToken;
use crate::files::output::NewFileAccess;
use crate::probe::{SampleCollector, Wanted};
use crate::report::watch;
use crate::roots::SysPaths;
use crate::snapshot::ViewBuilder;
use crate::units;
use crate::why::recorder::{SCAN_INTERVAL, WindowRecorder};
use crate::why::{Diagnosis, diagnose};
use crate::why::{DiagnosisDocument, diagnosis_text};

/// The shortest window: a few samples.
const SHORTEST: Duration = Duration::from_secs(2);
/// Longest time between two samples; a short window has at least [`LEAST_SAMPLES`].
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
const LEAST_SAMPLES: u32 = 8;

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
    const FORMATS: &'static [OutputFormat] = &[OutputFormat::Text, OutputFormat::Json];

    fn run(self) -> CommandResult {
        if let Some(path) = &self.from {
            let question = RecordedQuestion {
                at: self.at.as_deref(),
                duration: self.duration,
                is_verbose: self.verbose,
                tells_problem: self.exit_code,
            };
            return question.answer(path, &self.format);
        }
        let mut output = self.format.output.whole(&[], NewFileAccess::Private)?;
        let control = signals::cancelled_by_signals()?;
        let Some(diagnosis) = watch_window(self.duration, &control) else {
            if control.is_cancelled() {
                print_status_line("diskscope: interrupted before there were two samples");
                return Ok(ExitStatus::Interrupted);
            }
            let message = "too few samples: the window ended before two of them";
            return Err(CommandFailure::failed(message).with_advice("watch longer: --duration 20s"));
        };
        let text = match self.format.get() {
            OutputFormat::Json => pretty_json(&DiagnosisDocument::new(&diagnosis))?,
            _ => diagnosis_text(&diagnosis, self.verbose),
        };
        output.write(&text)?;
        if self.exit_code && diagnosis.is_problem() && !control.is_cancelled() {
            return Ok(ExitStatus::ProblemFound);
        }
        Ok(ExitStatus::of_end(&control))
    }
}

/// Watches for that time, or until a signal arrives: then what was seen until then is examined.
fn watch_window(duration: Duration, control: &CancellationToken) -> Option<Diagnosis> {
    let roots = SysPaths::default();
    let interval = SAMPLE_INTERVAL.min(duration / LEAST_SAMPLES);
    let mut collector = SampleCollector::new(roots.clone());
    let mut views = ViewBuilder::default();
    collector.set_wanted(Wanted {
        units: true,
        ..Wanted::default()
    });
    let mut said = Vec::new();
    // The first snapshot has no rates; its notices say what is missing.
    let first = views.update(Arc::new(collector.collect()));
    for notice in watch::new_notices(&first, &mut said).lines() {
        print_status_line(notice);
    }
    let mut recorder = WindowRecorder::begin(roots, true);
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
            recorder.add_snapshot(Arc::new(views.update(Arc::new(collector.collect()))));
            sample_due = next_sample(now, interval, end);
        }
    }
    diagnose(&recorder.finish())
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
