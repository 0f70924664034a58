//! `diskscope record`: views of the Live screen into a file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command, value_parser};

use super::{Exit, Failure, Result, duration, pace, say, signals};
use crate::engine::Control;
use crate::model::Modeler;
use crate::model::requests::Line;
use crate::probe::trace::{Capture, Then};
use crate::probe::{Collector, now};
use crate::recording::{Appended, Mark, Recorder, WriteError};
use crate::roots::Roots;
use crate::runtime::requests::{Detail, Scope, Told, follow};
use crate::units;

/// Batches of requests that may wait; written at least as often as views.
const WAITING: usize = 65_536;

pub(super) fn command() -> Command {
    let option =
        |name: &'static str, value, help| Arg::new(name).long(name).value_name(value).help(help);
    Command::new("record")
        .about("Keep views of the Live screen in a file, for `replay`")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("a new file; it can be replayed however the recording ends"),
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
            "keep also the single requests of this device (root); the file grows fast",
        ))
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let interval = pace::interval(matches)?;
    let end = duration(matches, "duration")?.map(|lasts| Instant::now() + lasts);
    let limit = limit(matches)?;
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("record needs a FILE"));
    };
    let control = Arc::new(Control::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let requests = matches
        .get_one::<String>("requests")
        .map(|device| Requests::start(device))
        .transpose()?;
    let recorder = Recorder::create(path, limit).map_err(failed)?;
    let mut session = Session {
        recorder,
        collector: Collector::new(Roots::default()),
        modeler: Modeler::default(),
        requests,
    };
    let reason = session.record(interval, end, &control)?;
    let size = units::capacity(session.recorder.size() as f64);
    let time_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
    session.recorder.finish(time_ms, reason).map_err(failed)?;
    say(&format!(
        "{}: {size}, ended because {reason}",
        path.display()
    ));
    if reason == NO_ROOM {
        let message = "the recording ended before its time: its file system is almost full";
        return Err(Failure::failed(message).advise(
            "make room, name a file elsewhere, or set --limit; what is there can be replayed",
        ));
    }
    Ok(if control.is_cancelled() {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

fn failed(error: WriteError) -> Failure {
    match error {
        WriteError::Output(_) => Failure::usage(&error),
        _ => Failure::failed(&error),
    }
    .advise(error.advice())
}

fn limit(matches: &ArgMatches) -> std::result::Result<Option<u64>, Failure> {
    let Some(text) = matches.get_one::<String>("limit") else {
        return Ok(None);
    };
    units::parse_size(text)
        .map(Some)
        .map_err(|error| Failure::usage(format!("--limit {text:?}: {error}")))
}

/// Why a recording ends that its file system has no more room for.
const NO_ROOM: &str = "the file system is almost full";

/// Why the recording ends, where a frame was left out.
fn end_of(appended: Appended) -> Option<&'static str> {
    match appended {
        Appended::Yes => None,
        Appended::Full => Some("the size limit was reached"),
        Appended::NoRoom => Some(NO_ROOM),
    }
}

/// A recording that goes on.
struct Session {
    recorder: Recorder,
    collector: Collector,
    modeler: Modeler,
    requests: Option<Requests>,
}

impl Session {
    /// Records until something ends it, and says what.
    fn record(
        &mut self,
        interval: Duration,
        end: Option<Instant>,
        control: &Control,
    ) -> std::result::Result<&'static str, Failure> {
        let mut due = Instant::now();
        loop {
            let live = self.modeler.update(Arc::new(self.collector.collect()));
            let mark = Mark {
                time_ms: u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0),
                bytes_per_s: None,
            };
            if let Some(requests) = &mut self.requests {
                let lines = requests.lines()?;
                if !lines.is_empty()
                    && let Some(reason) =
                        end_of(self.recorder.requests(mark, &lines).map_err(failed)?)
                {
                    return Ok(reason);
                }
            }
            if let Some(reason) = end_of(self.recorder.view(&live).map_err(failed)?) {
                return Ok(reason);
            }
            due += interval;
            if end.is_some_and(|end| due > end) {
                return Ok("the time was over");
            }
            if !pace::wait_until(due, control) {
                return Ok("of a signal");
            }
        }
    }
}

/// The requests of a device, as they come.
struct Requests {
    // Dropped before the capture, whose thread may wait for room in the channel.
    receiver: Receiver<Told>,
    _capture: Capture,
    drive: String,
    began: u64,
    lost: u64,
}

impl Requests {
    fn start(device: &str) -> std::result::Result<Self, Failure> {
        let roots = Roots::default();
        let scope = Scope::of(&roots, device)
            .map_err(|error| Failure::usage(&error).advise(error.advice()))?;
        let (sender, receiver) = sync_channel(WAITING);
        let drive = scope.drive_name.clone();
        let began = u64::try_from(now().as_nanos()).unwrap_or(0);
        let capture = follow(&roots, scope, Detail::Full, move |told: Told| {
            if !told.requests.is_empty() || told.ended.is_some() {
                // Nobody listens any more when the recording has ended.
                let _ = sender.send(told);
            }
            Then::Follow
        })
        .map_err(|error| Failure::failed(&error).advise(error.advice()))?;
        Ok(Self {
            receiver,
            _capture: capture,
            drive,
            began,
            lost: 0,
        })
    }

    /// Those that came since the last time.
    fn lines(&mut self) -> std::result::Result<Vec<u8>, Failure> {
        let mut lines = Vec::new();
        for told in self.receiver.try_iter() {
            for request in &told.requests {
                let line = Line::new(request, &self.drive, self.began);
                serde_json::to_writer(&mut lines, &line)
                    .map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
                lines.push(b'\n');
            }
            if told.lost > self.lost {
                say(&format!("note: {} events were lost", told.lost - self.lost));
                self.lost = told.lost;
            }
            if let Some(message) = told.ended {
                say(&format!("note: {message}"));
            }
        }
        Ok(lines)
    }
}
