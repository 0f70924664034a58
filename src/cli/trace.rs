//! `diskscope trace`: prints the individual requests of a device.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::{duration_option, json_switch};
use super::output::print_result;
use super::pace::SIGNAL_POLL_INTERVAL;
use super::signals;
use crate::engine::CancellationToken;
use crate::model::requests::{RequestLine, RequestSummary, TracedRequest};
use crate::probe::boot_time;
use crate::probe::trace::CaptureControl;
use crate::report::requests::{LastLine, REQUEST_HEADING, request_row, summary_text};
use crate::request_trace::{RequestBatch, TraceDetail, TraceScope, follow_requests};
use crate::roots::SysPaths;

/// Capacity of the queue of batches to print. If the reader is slower than the drive, the kernel's
/// buffer fills up next, and the events that it loses are counted.
const REQUEST_QUEUE_BATCHES: usize = 1024;

pub(super) fn command() -> Command {
    Command::new("trace")
        .about("Trace the requests of a device, with latency by stage (root)")
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
                .help("duration of the trace, such as 10s"),
        )
        .arg(
            Arg::new("slower")
                .long("slower")
                .value_name("DURATION")
                .help("print only requests with a higher latency, such as 20ms; the summary covers all"),
        )
        .arg(json_switch().help("one JSON object per request and line, the summary last"))
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let device = matches
        .get_one::<String>("device")
        .map_or("", String::as_str);
    let lasts = duration_option(matches, "duration")?.unwrap_or(Duration::from_secs(10));
    let slower = duration_option(matches, "slower")?;
    let scope = TraceScope::of_device(&SysPaths::default(), device)
        .map_err(|error| CommandFailure::usage_error(&error).with_advice(error.advice()))?;
    let control = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let mut printer = RequestPrinter {
        as_json: matches.get_flag("json"),
        min_latency: slower,
        start_ns: to_nanoseconds(boot_time()),
        drive: scope.drive_name.clone(),
        summary: RequestSummary::default(),
        last_event_ns: 0,
        end_reason: None,
    };
    let names = scope.device_names();
    let (sender, receiver) = sync_channel(REQUEST_QUEUE_BATCHES);
    let capture = follow_requests(
        &SysPaths::default(),
        scope,
        TraceDetail::Full,
        move |told| {
            // The receiver is gone once the reader has closed stdout.
            let _ = sender.send(told);
            CaptureControl::Continue
        },
    )
    .map_err(|error| CommandFailure::failed(&error).with_advice(error.advice()))?;
    // Moved here to be dropped before the capture, whose thread may be blocked on the full channel.
    let receiver = receiver;
    printer.print_heading()?;
    let listening = printer.print_until(&receiver, Instant::now() + lasts, &control)?;
    // The capture thread delivers its remaining requests and must not block on a full channel: keep
    // receiving while it stops.
    let stopper = std::thread::spawn(move || capture.stop());
    if listening {
        for told in &receiver {
            printer.print_batch(&told)?;
        }
    }
    drop(receiver);
    // The thread ended with the capture, whose panic has been reported.
    let _ = stopper.join();
    printer.print_summary(&names)?;
    if let Some(message) = printer.end_reason {
        return Err(CommandFailure::failed(message));
    }
    Ok(if control.is_cancelled() {
        ExitStatus::Interrupted
    } else {
        ExitStatus::Success
    })
}

fn to_nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Prints requests as they arrive and summarizes them.
struct RequestPrinter {
    as_json: bool,
    min_latency: Option<Duration>,
    start_ns: u64,
    drive: String,
    summary: RequestSummary,
    last_event_ns: u64,
    end_reason: Option<String>,
}

type PrintResult = Result<bool, CommandFailure>;

impl RequestPrinter {
    fn print_heading(&self) -> PrintResult {
        if self.as_json {
            return Ok(true);
        }
        print_result(&format!("{REQUEST_HEADING}\n"))
    }

    /// Prints until the deadline or a signal; false if the reader closed stdout.
    fn print_until(
        &mut self,
        receiver: &Receiver<RequestBatch>,
        end: Instant,
        control: &CancellationToken,
    ) -> PrintResult {
        while !control.is_cancelled() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match receiver.recv_timeout(left.min(SIGNAL_POLL_INTERVAL)) {
                Ok(told) => {
                    if !self.print_batch(&told)? {
                        return Ok(false);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(true)
    }

    fn print_batch(&mut self, told: &RequestBatch) -> PrintResult {
        let mut text = String::new();
        for request in &told.requests {
            self.summary.record(request);
            if self.matches_filter(request) {
                text.push_str(&self.format_request(request)?);
                text.push('\n');
            }
        }
        self.summary.lost_events = told.lost_events;
        self.summary.match_errors = told.match_errors;
        self.summary.in_flight = told.in_flight;
        self.last_event_ns = told.complete_until;
        self.end_reason.clone_from(&told.end_reason);
        if text.is_empty() {
            return Ok(true);
        }
        print_result(&text)
    }

    fn matches_filter(&self, request: &TracedRequest) -> bool {
        let Some(slower) = self.min_latency else {
            return true;
        };
        let stages = request.timestamps.stages();
        stages
            .q2c
            .or(stages.d2c)
            .is_some_and(|taken| u128::from(taken) > slower.as_nanos())
    }

    fn format_request(&self, request: &TracedRequest) -> Result<String, CommandFailure> {
        if !self.as_json {
            return Ok(request_row(request, self.start_ns));
        }
        json_line(&RequestLine::new(request, &self.drive, self.start_ns))
    }

    fn print_summary(&self, names: &crate::report::requests::DeviceNames) -> PrintResult {
        let elapsed = self.last_event_ns.saturating_sub(self.start_ns);
        if self.as_json {
            return print_result(
                &(json_line(&LastLine::new(&self.summary, names, elapsed))? + "\n"),
            );
        }
        print_result(&format!(
            "\n{}",
            summary_text(&self.summary, names, elapsed)
        ))
    }
}

fn json_line(line: &impl serde::Serialize) -> Result<String, CommandFailure> {
    crate::safe_text::json::to_string(line)
        .map_err(|error| CommandFailure::failed(format!("cannot write JSON: {error}")))
}
