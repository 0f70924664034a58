//! `diskscope record`: writes the views of the Live screen to a file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command, value_parser};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::time_option;
use super::output::print_status_line;
use super::{pace, signals};
use crate::engine::CancellationToken;
use crate::model::ViewBuilder;
use crate::model::requests::RequestLine;
use crate::probe::trace::{CaptureControl, TraceCapture};
use crate::probe::{SampleCollector, boot_time};
use crate::recording::{AppendResult, FrameMark, RecordingWriteError, RecordingWriter};
use crate::request_trace::{RequestBatch, TraceDetail, TraceScope, follow_requests};
use crate::roots::SysPaths;
use crate::units;

/// Capacity of the queue of request batches, which is drained at least at every view.
const REQUEST_QUEUE_BATCHES: usize = 65_536;

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
                .help("new file; a truncated recording can be replayed too"),
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
    let limit = limit_option(matches)?;
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(CommandFailure::usage_error("record needs a FILE"));
    };
    let control = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let requests = matches
        .get_one::<String>("requests")
        .map(|device| RequestRecording::start(device))
        .transpose()?;
    let recorder = RecordingWriter::create(path, limit).map_err(recording_failure)?;
    let mut session = RecordingSession {
        recorder,
        collector: SampleCollector::new(SysPaths::default()),
        view_builder: ViewBuilder::default(),
        requests,
    };
    let reason = session.record(interval, end, &control)?;
    let size = units::format_capacity(session.recorder.written_bytes() as f64);
    let time_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
    session
        .recorder
        .end_recording(time_ms, reason)
        .map_err(recording_failure)?;
    print_status_line(&format!(
        "{}: {size}, ended because {reason}",
        path.display()
    ));
    if reason == NO_ROOM {
        let message = "the recording ended early: its file system is almost full";
        return Err(CommandFailure::failed(message).with_advice(
            "free some space, name a file on another file system, or set --limit; the part recorded so far can be replayed",
        ));
    }
    Ok(if control.is_cancelled() {
        ExitStatus::Interrupted
    } else {
        ExitStatus::Success
    })
}

fn recording_failure(error: RecordingWriteError) -> CommandFailure {
    match error {
        RecordingWriteError::Output(_) => CommandFailure::usage_error(&error),
        _ => CommandFailure::failed(&error),
    }
    .with_advice(error.advice())
}

fn limit_option(matches: &ArgMatches) -> Result<Option<u64>, CommandFailure> {
    let Some(text) = matches.get_one::<String>("limit") else {
        return Ok(None);
    };
    units::parse_size(text)
        .map(Some)
        .map_err(|error| CommandFailure::usage_error(format!("--limit {text:?}: {error}")))
}

/// The reason for ending a recording whose file system is full.
const NO_ROOM: &str = "the file system is almost full";

/// The reason for ending the recording, if a frame was omitted.
fn end_of(appended: AppendResult) -> Option<&'static str> {
    match appended {
        AppendResult::Written => None,
        AppendResult::LimitReached => Some("the size limit was reached"),
        AppendResult::NoRoom => Some(NO_ROOM),
    }
}

/// A recording in progress.
struct RecordingSession {
    recorder: RecordingWriter,
    collector: SampleCollector,
    view_builder: ViewBuilder,
    requests: Option<RequestRecording>,
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
            self.collector
                .follow_files(self.view_builder.followed_files());
            let live = self.view_builder.update(Arc::new(self.collector.collect()));
            let mark = FrameMark {
                time_ms: u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0),
                bytes_per_s: None,
            };
            if let Some(requests) = &mut self.requests {
                let lines = requests.take_lines()?;
                if !lines.is_empty()
                    && let Some(reason) = end_of(
                        self.recorder
                            .append_requests(mark, &lines)
                            .map_err(recording_failure)?,
                    )
                {
                    return Ok(reason);
                }
            }
            if let Some(reason) = end_of(
                self.recorder
                    .append_view(&live)
                    .map_err(recording_failure)?,
            ) {
                return Ok(reason);
            }
            due += interval;
            if end.is_some_and(|end| due > end) {
                return Ok("the time limit was reached");
            }
            if !pace::wait_until_due(due, control) {
                return Ok("of a signal");
            }
        }
    }
}

/// Traces the requests of a device.
struct RequestRecording {
    // Dropped first, before the capture: its thread may be blocked on the full channel.
    receiver: Receiver<RequestBatch>,
    _capture: TraceCapture,
    drive: String,
    start_ns: u64,
    lost_events: u64,
}

impl RequestRecording {
    fn start(device: &str) -> Result<Self, CommandFailure> {
        let roots = SysPaths::default();
        let scope = TraceScope::of_device(&roots, device)
            .map_err(|error| CommandFailure::usage_error(&error).with_advice(error.advice()))?;
        let (sender, receiver) = sync_channel(REQUEST_QUEUE_BATCHES);
        let drive = scope.drive_name.clone();
        let began = u64::try_from(boot_time().as_nanos()).unwrap_or(0);
        let capture = follow_requests(
            &roots,
            scope,
            TraceDetail::Full,
            move |told: RequestBatch| {
                if !told.requests.is_empty() || told.end_reason.is_some() {
                    // The receiver is gone once the recording has ended.
                    let _ = sender.send(told);
                }
                CaptureControl::Continue
            },
        )
        .map_err(|error| CommandFailure::failed(&error).with_advice(error.advice()))?;
        Ok(Self {
            receiver,
            _capture: capture,
            drive,
            start_ns: began,
            lost_events: 0,
        })
    }

    /// Takes the requests that were queued since the last call, as lines of JSON.
    fn take_lines(&mut self) -> Result<Vec<u8>, CommandFailure> {
        let mut lines = Vec::new();
        for told in self.receiver.try_iter() {
            for request in &told.requests {
                let line = RequestLine::new(request, &self.drive, self.start_ns);
                serde_json::to_writer(&mut lines, &line).map_err(|error| {
                    CommandFailure::failed(format!("cannot write JSON: {error}"))
                })?;
                lines.push(b'\n');
            }
            if told.lost_events > self.lost_events {
                print_status_line(&format!(
                    "note: {} events were lost",
                    told.lost_events - self.lost_events
                ));
                self.lost_events = told.lost_events;
            }
            if let Some(message) = told.end_reason {
                print_status_line(&format!("note: {message}"));
            }
        }
        Ok(lines)
    }
}
