//! `diskscope record`: writes the views of the Live screen to a file.

mod destination;
mod requests;
mod triggers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use self::destination::RecordingFile;
use self::requests::RequestRecording;
use self::triggers::TriggerWatch;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::time_option;
use super::output::{NO_ROOM, print_status_line};
use super::{pace, signals};
use crate::alerts::ConditionSet;
use crate::engine::CancellationToken;
use crate::probe::SampleCollector;
use crate::recording::{AppendResult, FrameMark};
use crate::roots::SysPaths;
use crate::snapshot::ViewBuilder;
use crate::units;

pub(super) fn command() -> Command {
    let option =
        |name: &'static str, value, help| Arg::new(name).long(name).value_name(value).help(help);
    Command::new("record")
        .about("Record the views of the Live screen in a file, for `replay`")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("new file, or with --ring one to continue; a truncated recording can be replayed too"),
        )
        .arg(
            option("interval", "DURATION", "time between two views, such as 1s")
                .default_value("10s"),
        )
        .arg(option(
            "limit",
            "SIZE",
            "stop before the file is larger, such as 50MB",
        ))
        .arg(
            option(
                "ring",
                "SIZE",
                "keep the file at this size, such as 50MB, and overwrite its oldest part; an \
                 existing ring is continued",
            )
            .conflicts_with("limit"),
        )
        .arg(
            option(
                "on",
                "CONDITION",
                "keep requests, stacks and the diagnosis of the time around a trigger, such as \
                 'await(sda)>50ms for 3s'; may be given again",
            )
            .action(ArgAction::Append)
            .requires("ring"),
        )
        .arg(option(
            "duration",
            "DURATION",
            "stop after this time, such as 24h",
        ))
        .arg(option(
            "requests",
            "DEVICE",
            "also record the single requests of this device (root); the file grows fast",
        ))
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let interval = pace::interval_option(matches)?;
    let end = time_option(matches, "duration")?.map(|lasts| Instant::now() + lasts);
    let limit = size_option(matches, "limit")?;
    let ring = size_option(matches, "ring")?;
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(CommandFailure::usage_error("record needs a FILE"));
    };
    let conditions = condition_options(matches)?;
    let control = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let requests = matches
        .get_one::<String>("requests")
        .map(|device| RequestRecording::start(device))
        .transpose()?;
    let recorder = match ring {
        Some(size) => RecordingFile::open_ring(path, size)?,
        None => RecordingFile::create(path, limit)?,
    };
    let mut collector = SampleCollector::new(SysPaths::default());
    // Whatever the conditions need: `why` finds the causes of a recording in these.
    collector.set_show_units(true);
    collector.set_show_mounts(true);
    collector.set_show_blocked(true);
    collector.set_show_io_errors(true);
    let triggers = (!conditions.is_empty())
        .then(|| TriggerWatch::start(conditions, recorder.max_trigger_requests()));
    let mut session = RecordingSession {
        recorder,
        collector,
        triggers,
        view_builder: ViewBuilder::default(),
        requests,
    };
    let reason = session.record(interval, end, &control)?;
    session.finish_trigger()?;
    if session.recorder.is_empty() {
        return Err(nothing_recorded(path, reason));
    }
    let size = units::format_capacity(session.recorder.file_bytes() as f64);
    let time_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
    session.recorder.end_recording(time_ms, reason)?;
    print_status_line(&format!(
        "{}: {size}, ended because {reason}",
        path.display()
    ));
    if reason == NO_ROOM {
        return Err(CommandFailure::failed(format!("the recording ended early: {NO_ROOM}")).with_advice(
            "free some space, name a file on another file system, or set --limit; the part recorded so far can be replayed",
        ));
    }
    Ok(if control.is_cancelled() {
        ExitStatus::Interrupted
    } else {
        ExitStatus::Success
    })
}

/// Not even the first snapshot fits. No file stays, so that the same command can be repeated.
fn nothing_recorded(path: &Path, reason: &str) -> CommandFailure {
    let message = format!("{}: nothing is recorded, because {reason}", path.display());
    CommandFailure::failed(message).with_advice(
        "free some space, name a file on another file system, or raise --limit where it is set",
    )
}

fn size_option(matches: &ArgMatches, name: &str) -> Result<Option<u64>, CommandFailure> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    units::parse_size(text)
        .map(Some)
        .map_err(|error| CommandFailure::usage_error(format!("--{name} {text:?}: {error}")))
}

fn condition_options(matches: &ArgMatches) -> Result<ConditionSet, CommandFailure> {
    let texts: Vec<String> = matches
        .get_many::<String>("on")
        .unwrap_or_default()
        .cloned()
        .collect();
    ConditionSet::parse(&texts)
        .map_err(|error| CommandFailure::usage_error(format!("--on: {error}")))
}

/// The reason for ending the recording, if a frame was omitted.
fn end_of(appended: AppendResult) -> Option<&'static str> {
    match appended {
        AppendResult::Written | AppendResult::TooLarge => None,
        AppendResult::LimitReached => Some("the size limit was reached"),
        AppendResult::NoRoom => Some(NO_ROOM),
    }
}

/// A recording in progress.
struct RecordingSession {
    recorder: RecordingFile,
    collector: SampleCollector,
    view_builder: ViewBuilder,
    requests: Option<RequestRecording>,
    triggers: Option<TriggerWatch>,
}

impl RecordingSession {
    /// Records until an end condition, and returns its description.
    fn record(
        &mut self,
        interval: Duration,
        end: Option<Instant>,
        control: &CancellationToken,
    ) -> Result<&'static str, CommandFailure> {
        let mut due = Instant::now();
        loop {
            if let Some(reason) = self.append_sample()? {
                return Ok(reason);
            }
            due = pace::next_due(due, interval);
            if end.is_some_and(|end| due > end) {
                return Ok("the time limit was reached");
            }
            if !self.wait_until_due(due, control)? {
                return Ok("of a signal");
            }
        }
    }

    /// Appends the requests and the snapshot of now. Returns why the recording ends, if it does.
    fn append_sample(&mut self) -> Result<Option<&'static str>, CommandFailure> {
        self.collector
            .follow_files(self.view_builder.followed_files());
        let sample = Arc::new(self.collector.collect());
        let live = Arc::new(self.view_builder.update(Arc::clone(&sample)));
        let mark = FrameMark {
            time_ms: u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0),
            bytes_per_s: None,
        };
        if let Some(requests) = &mut self.requests {
            let lines = requests.take_lines()?;
            if !lines.is_empty()
                && let Some(reason) = end_of(self.recorder.append_requests(mark, &lines)?)
            {
                return Ok(Some(reason));
            }
        }
        let appended = self.recorder.append_view(&live)?;
        if let Some(triggers) = &mut self.triggers {
            triggers.observe(&live, sample.boot_time);
        }
        Ok(end_of(appended))
    }

    /// Waits until the next sample is due: earlier than `due` while a trigger is pending. False if a
    /// signal arrived.
    fn wait_until_due(
        &mut self,
        due: Instant,
        control: &CancellationToken,
    ) -> Result<bool, CommandFailure> {
        let Some(triggers) = &mut self.triggers else {
            return Ok(pace::wait_until_due(due, control));
        };
        let has_waited = triggers.wait_until_due(due, control);
        if triggers.is_due() {
            self.finish_trigger()?;
        }
        Ok(has_waited)
    }

    /// Records the pending trigger, if there is one.
    fn finish_trigger(&mut self) -> Result<(), CommandFailure> {
        let finished = self.triggers.as_mut().and_then(TriggerWatch::finish);
        if let Some(trigger) = finished {
            self.recorder.append_trigger(trigger)?;
        }
        Ok(())
    }
}
