//! `diskscope record`: keeps the snapshots of the Live screen in a file or a ring.

mod requests;
mod triggers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use self::requests::RequestRecording;
use self::triggers::TriggerWatch;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::time_option;
use super::output::{NO_ROOM, print_status_line};
use super::{pace, signals};
use crate::alerts::ConditionSet;
use crate::engine::CancellationToken;
use crate::probe::{SampleCollector, Wanted};
use crate::recording::{AppendResult, FileRecorder, Recorder, RecordingWriteError, RingRecorder};
use crate::roots::SysPaths;
use crate::snapshot::ViewBuilder;
use crate::transfers::counting::JobCounter;
use crate::units;

pub(super) fn command() -> Command {
    let option =
        |name: &'static str, value, help| Arg::new(name).long(name).value_name(value).help(help);
    let path = Arg::new("file").value_name("FILE").required(true);
    let conditions = option(
        "on",
        "CONDITION",
        "keep requests, stacks and the diagnosis of the time around a trigger, such as \
         'await(sda)>50ms for 3s'; may be given again",
    );
    Command::new("record")
        .about("Record the views of the Live screen, for `replay`")
        .arg(
            path.value_parser(value_parser!(PathBuf))
                .help("new file, or with --ring a directory, a new one or one to continue"),
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
                "keep a directory of files at this size, such as 50MB, and delete the oldest",
            )
            .conflicts_with("limit"),
        )
        .arg(conditions.action(ArgAction::Append).requires("ring"))
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
        .after_help(
            "A recording is what watch --json prints, in gzip: zcat FILE | jq -c . reads it.",
        )
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
    let (recorder, triggers): (Box<dyn Recorder>, _) = match ring {
        Some(size) => {
            let ring = RingRecorder::open(path, size).map_err(recording_failure)?;
            let triggers = (!conditions.is_empty())
                .then(|| TriggerWatch::start(conditions, ring.max_trigger_requests()));
            (Box::new(ring), triggers)
        }
        None => {
            let file = FileRecorder::create(path, limit).map_err(recording_failure)?;
            (Box::new(file), None)
        }
    };
    let mut session = RecordingSession {
        recorder,
        is_ring: ring.is_some(),
        is_omission_told: false,
        collector: collector(),
        view_builder: ViewBuilder::default(),
        job_counter: JobCounter::new(SysPaths::default()),
        requests,
        triggers,
    };
    let end = session.record(interval, end, &control)?;
    session.finish_trigger()?;
    session.close(path, end)
}

/// Samples whatever the conditions need: `why` finds the causes of a recording in it.
fn collector() -> SampleCollector {
    let mut collector = SampleCollector::new(SysPaths::default());
    collector.set_wanted(Wanted {
        units: true,
        mounts: true,
        blocked: true,
        io_errors: true,
        ..Wanted::default()
    });
    collector
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
    let texts = matches.get_many::<String>("on").unwrap_or_default();
    let texts: Vec<String> = texts.cloned().collect();
    ConditionSet::parse(&texts)
        .map_err(|error| CommandFailure::usage_error(format!("--on: {error}")))
}

/// Why a recording ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndReason {
    Signal,
    TimeLimit,
    SizeLimit,
    NoRoom,
}

impl EndReason {
    fn text(self) -> &'static str {
        match self {
            Self::Signal => "of a signal",
            Self::TimeLimit => "the time limit was reached",
            Self::SizeLimit => "the size limit was reached",
            Self::NoRoom => NO_ROOM,
        }
    }
}

/// A recording in progress.
struct RecordingSession {
    recorder: Box<dyn Recorder>,
    is_ring: bool,
    /// Whether the user was told that something was left out of the ring.
    is_omission_told: bool,
    collector: SampleCollector,
    view_builder: ViewBuilder,
    job_counter: JobCounter,
    requests: Option<RequestRecording>,
    triggers: Option<TriggerWatch>,
}

impl RecordingSession {
    /// Records until an end condition.
    fn record(
        &mut self,
        interval: Duration,
        end: Option<Instant>,
        control: &CancellationToken,
    ) -> Result<EndReason, CommandFailure> {
        let mut due = Instant::now();
        loop {
            if let Some(reason) = self.append_sample()? {
                return Ok(reason);
            }
            due = pace::next_due(due, interval);
            if end.is_some_and(|end| due > end) {
                return Ok(EndReason::TimeLimit);
            }
            if !self.wait_until_due(due, control)? {
                return Ok(EndReason::Signal);
            }
        }
    }

    /// Appends the requests and the snapshot of now. Returns why the recording ends, if it does.
    fn append_sample(&mut self) -> Result<Option<EndReason>, CommandFailure> {
        self.collector
            .follow_files(self.view_builder.followed_files());
        let sample = Arc::new(self.collector.collect());
        self.view_builder
            .set_job_counts(self.job_counter.update(&sample.processes));
        let live = Arc::new(self.view_builder.update(Arc::clone(&sample)));
        if let Some(requests) = &mut self.requests {
            let lines = requests.take_lines()?;
            let appended = self.recorder.append_requests(&lines);
            if let Some(reason) = self.end_of(appended)? {
                return Ok(Some(reason));
            }
        }
        let appended = self.recorder.append_snapshot(&live);
        if let Some(triggers) = &mut self.triggers {
            triggers.observe(&live, sample.boot_time);
        }
        self.end_of(appended)
    }

    /// Why the recording ends if something was left out. A ring goes on.
    fn end_of(
        &mut self,
        appended: Result<AppendResult, RecordingWriteError>,
    ) -> Result<Option<EndReason>, CommandFailure> {
        match appended.map_err(recording_failure)? {
            AppendResult::Written => Ok(None),
            AppendResult::LimitReached => Ok(Some(EndReason::SizeLimit)),
            AppendResult::NoRoom if self.is_ring => {
                if !std::mem::replace(&mut self.is_omission_told, true) {
                    let note = "what found no room is left out of the ring, which goes on";
                    print_status_line(&format!("note: {NO_ROOM}: {note}"));
                }
                Ok(None)
            }
            AppendResult::NoRoom => Ok(Some(EndReason::NoRoom)),
        }
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
        if let Some((trigger, requests)) = finished {
            let appended = self.recorder.append_trigger(&trigger, &requests);
            self.end_of(appended)?;
        }
        Ok(())
    }

    /// Completes the recording, and says how it ended.
    fn close(mut self, path: &Path, end: EndReason) -> CommandResult {
        let (name, reason) = (path.display(), end.text());
        if self.recorder.size_bytes() == 0 {
            // No file stays, so that the same command can be repeated.
            let message = format!("{name}: nothing is recorded, because {reason}");
            return Err(CommandFailure::failed(message).with_advice(
                "free some space, name a file on another file system, or raise --limit where it is set",
            ));
        }
        self.recorder.end().map_err(recording_failure)?;
        let size = units::format_capacity(self.recorder.size_bytes() as f64);
        print_status_line(&format!("{name}: {size}, ended because {reason}"));
        match end {
            EndReason::NoRoom => {
                let message = format!("the recording ended early: {NO_ROOM}");
                Err(CommandFailure::failed(message).with_advice(
                    "free some space, name a file on another file system, or set --limit; the part \
                     recorded so far can be replayed",
                ))
            }
            EndReason::Signal => Ok(ExitStatus::Interrupted),
            EndReason::TimeLimit | EndReason::SizeLimit => Ok(ExitStatus::Success),
        }
    }
}

fn recording_failure(error: RecordingWriteError) -> CommandFailure {
    match error {
        RecordingWriteError::Output(_) | RecordingWriteError::RingSize(_) => {
            CommandFailure::usage_error(&error)
        }
        _ => CommandFailure::failed(&error),
    }
    .with_advice(error.advice())
}
