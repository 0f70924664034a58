//! `diskscope record`: keeps the snapshots of the Live screen in a file or a ring.

mod requests;
mod triggers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use self::requests::RequestRecording;
use self::triggers::TriggerWatch;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::live_sampler::LiveSampler;
use super::options::{parse_conditions, parse_interval};
use super::output::{NO_ROOM, print_status_line};
use super::subcommand::Arguments;
use super::{pace, signals};
use crate::engine::CancellationToken;
use crate::probe::Wanted;
use crate::recording::{AppendResult, FileRecorder, Recorder, RecordingWriteError, RingRecorder};
use crate::units;

/// Record the views of the Live screen, for `replay`
#[derive(Debug, Args)]
#[command(
    after_help = "A recording is what watch --json prints, in gzip: zcat FILE | jq -c . reads it."
)]
pub(super) struct RecordArguments {
    /// new file, or with --ring a directory, a new one or one to continue
    file: PathBuf,
    /// time between two views, such as 1s
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_interval)]
    interval: Duration,
    /// stop before the file is larger, such as 50MB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    limit: Option<u64>,
    /// keep a directory of files at this size, such as 50MB, and delete the oldest
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, conflicts_with = "limit")]
    ring: Option<u64>,
    /// keep requests, stacks and the diagnosis of the time around a trigger, such as 'await(sda)>50ms for 3s';
    /// may be given again
    #[arg(long, value_name = "CONDITION", requires = "ring")]
    on: Vec<String>,
    /// stop after this time, such as 24h
    #[arg(long, value_parser = units::parse_time)]
    duration: Option<Duration>,
    /// also record the single requests of this device (root); the file grows fast
    #[arg(long, value_name = "DEVICE")]
    requests: Option<String>,
}

impl Arguments for RecordArguments {
    fn run(self) -> CommandResult {
        let conditions = parse_conditions(&self.on)?;
        let control = signals::cancelled_by_signals()?;
        let requests = self.requests.as_deref().map(RequestRecording::start);
        let requests = requests.transpose()?;
        let mut triggers = None;
        let recorder: Box<dyn Recorder> = if let Some(size) = self.ring {
            let ring = RingRecorder::open(&self.file, size)?;
            if !conditions.is_empty() {
                triggers = Some(TriggerWatch::start(conditions, ring.max_trigger_requests()));
            }
            Box::new(ring)
        } else {
            Box::new(FileRecorder::create(&self.file, self.limit)?)
        };
        let mut session = RecordingSession {
            recorder,
            is_ring: self.ring.is_some(),
            is_omission_told: false,
            // Whatever the conditions need: `why` finds the causes of a recording in it.
            sampler: LiveSampler::new(Wanted {
                units: true,
                mounts: true,
                blocked: true,
                io_errors: true,
                ..Wanted::default()
            }),
            requests,
            triggers,
        };
        let end = self.duration.map(|lasts| Instant::now() + lasts);
        let end = session.record(self.interval, end, &control)?;
        session.finish_trigger()?;
        session.close(&self.file, end)
    }
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
    sampler: LiveSampler,
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
        let (sample, live) = self.sampler.sample(None)?;
        let live = Arc::new(live);
        if let Some(requests) = &mut self.requests {
            let lines: Vec<String> = requests.take_lines().collect::<Result<_, _>>()?;
            for lines in lines {
                let appended = self.recorder.append(lines.as_bytes());
                if let Some(reason) = self.end_of(appended)? {
                    return Ok(Some(reason));
                }
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
        match appended? {
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
        self.recorder.end()?;
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
