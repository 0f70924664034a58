//! `diskscope trace`: the single requests of a device.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command};

use super::pace::ATTENTION;
use super::{Exit, Failure, Result, duration, json_switch, print, signals};
use crate::engine::Control;
use crate::model::requests::{Line, Request, Summary};
use crate::probe::now;
use crate::probe::trace::Then;
use crate::report::requests::{HEADING, LastLine, row, summary};
use crate::roots::Roots;
use crate::runtime::requests::{Detail, Scope, Told, follow};

/// Batches that may wait to be printed. When the reader is slower than the drive the kernel's
/// buffer fills up next, and what it loses is counted.
const WAITING: usize = 1024;

pub(super) fn command() -> Command {
    Command::new("trace")
        .about("Follow the single requests of a device (root)")
        .arg(
            Arg::new("device")
                .value_name("DEVICE")
                .required(true)
                .help("a block device, such as /dev/sda or nvme0n1p2"),
        )
        .arg(
            Arg::new("duration")
                .long("duration")
                .value_name("DURATION")
                .default_value("10s")
                .help("how long, such as 10s"),
        )
        .arg(
            Arg::new("slower")
                .long("slower")
                .value_name("DURATION")
                .help("print only requests that took longer, such as 20ms; all are summed up"),
        )
        .arg(json_switch().help("one JSON object per request and line, the summary last"))
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let device = matches
        .get_one::<String>("device")
        .map_or("", String::as_str);
    let lasts = duration(matches, "duration")?.unwrap_or(Duration::from_secs(10));
    let slower = duration(matches, "slower")?;
    let scope = Scope::of(&Roots::default(), device)
        .map_err(|error| Failure::usage(&error).advise(error.advice()))?;
    let control = Arc::new(Control::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let mut printer = Printer {
        as_json: matches.get_flag("json"),
        slower,
        began: nanoseconds(now()),
        drive: scope.drive_name.clone(),
        summary: Summary::default(),
        until: 0,
        ended: None,
    };
    let names = scope.names();
    let (sender, receiver) = sync_channel(WAITING);
    let capture = follow(&Roots::default(), scope, Detail::Full, move |told| {
        // Nobody listens any more when the reader of stdout has gone.
        let _ = sender.send(told);
        Then::Follow
    })
    .map_err(|error| Failure::failed(&error).advise(error.advice()))?;
    // Dropped before the capture, whose thread may wait for room in the channel.
    let receiver = receiver;
    printer.begin()?;
    let listening = printer.listen(&receiver, Instant::now() + lasts, &control)?;
    // The thread hands over what is left, and must not wait for a full channel meanwhile.
    let stopper = std::thread::spawn(move || capture.stop());
    if listening {
        for told in &receiver {
            printer.take(&told)?;
        }
    }
    drop(receiver);
    // It ended with the capture, whose panic was reported.
    let _ = stopper.join();
    printer.end(&names)?;
    if let Some(message) = printer.ended {
        return Err(Failure::failed(message));
    }
    Ok(if control.is_cancelled() {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Prints requests as they come and sums them up.
struct Printer {
    as_json: bool,
    slower: Option<Duration>,
    began: u64,
    drive: String,
    summary: Summary,
    until: u64,
    ended: Option<String>,
}

type Printed = std::result::Result<bool, Failure>;

impl Printer {
    fn begin(&self) -> Printed {
        if self.as_json {
            return Ok(true);
        }
        print(&format!("{HEADING}\n"))
    }

    /// Until it is time, or a signal comes; false when nobody reads any more.
    fn listen(&mut self, receiver: &Receiver<Told>, end: Instant, control: &Control) -> Printed {
        while !control.is_cancelled() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match receiver.recv_timeout(left.min(ATTENTION)) {
                Ok(told) => {
                    if !self.take(&told)? {
                        return Ok(false);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(true)
    }

    fn take(&mut self, told: &Told) -> Printed {
        let mut text = String::new();
        for request in &told.requests {
            self.summary.record(request);
            if self.is_wanted(request) {
                text.push_str(&self.line(request)?);
                text.push('\n');
            }
        }
        self.summary.lost = told.lost;
        self.summary.gaps = told.gaps;
        self.summary.under_way = told.under_way;
        self.until = told.until;
        self.ended.clone_from(&told.ended);
        if text.is_empty() {
            return Ok(true);
        }
        print(&text)
    }

    fn is_wanted(&self, request: &Request) -> bool {
        let Some(slower) = self.slower else {
            return true;
        };
        let stages = request.times.stages();
        stages
            .q2c
            .or(stages.d2c)
            .is_some_and(|taken| u128::from(taken) > slower.as_nanos())
    }

    fn line(&self, request: &Request) -> std::result::Result<String, Failure> {
        if !self.as_json {
            return Ok(row(request, self.began));
        }
        to_json(&Line::new(request, &self.drive, self.began))
    }

    fn end(&self, names: &crate::report::requests::Names) -> Printed {
        let elapsed = self.until.saturating_sub(self.began);
        if self.as_json {
            return print(&(to_json(&LastLine::new(&self.summary, names, elapsed))? + "\n"));
        }
        print(&format!("\n{}", summary(&self.summary, names, elapsed)))
    }
}

fn to_json(line: &impl serde::Serialize) -> std::result::Result<String, Failure> {
    crate::safe_json::to_string(line)
        .map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))
}
