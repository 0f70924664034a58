//! `diskscope trace`: prints the individual requests of a device.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use clap::Args;

use super::device_names;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::{converted, json_lines};
use super::pace::SIGNAL_POLL_INTERVAL;
use super::signals;
use super::subcommand::Arguments;
use crate::cli::destination::Destination;
use crate::engine::CancellationToken;
use crate::probe::boot_time;
use crate::report::csv::CsvTable;
use crate::report::requests::{LastLine, REQUEST_HEADING, request_row, summary_text};
use crate::roots::SysPaths;
use crate::trace::events::CaptureControl;
use crate::trace::requests::{RequestLine, RequestSummary, TracedRequest};
use crate::trace::stream::{RequestBatch, TraceDetail, TraceScope, follow_requests};
use crate::units;

/// Capacity of the queue of batches to print. If the reader is slower than the drive, the kernel's
/// buffer fills up next, and the events that it loses are counted.
const REQUEST_QUEUE_BATCHES: usize = 1024;

/// The requests; the keys are those of `--json`.
const REQUEST_TABLE: CsvTable = CsvTable {
    columns: &[
        "time_ns",
        "pid",
        "command",
        "device",
        "operation",
        "flags",
        "sector",
        "bytes",
        "q2g_ns",
        "g2i_ns",
        "i2d_ns",
        "q2d_ns",
        "d2c_ns",
        "q2c_ns",
        "error",
    ],
};

/// Trace the requests of a device, with latency by stage (root)
#[derive(Debug, Args)]
#[command(
    after_help = "ndjson ends with a line that has the summary; csv has the requests only.\n\n\
    Examples:\n  diskscope trace sda --duration 30\n  diskscope trace nvme0n1 --slower 20ms --json"
)]
pub(super) struct TraceArguments {
    /// a block device, such as /dev/sda or nvme0n1p2
    device: String,
    /// duration of the trace, such as 10s; a bare number is seconds
    #[arg(long, default_value = "10s", value_parser = units::parse_time)]
    duration: Duration,
    /// print only requests with a higher latency, such as 20ms; the summary covers all
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    slower: Option<Duration>,
    #[command(flatten)]
    format: FormatOption,
}

impl Arguments for TraceArguments {
    const FORMATS: &'static [OutputFormat] =
        &[OutputFormat::Text, OutputFormat::Ndjson, OutputFormat::Csv];

    fn run(self) -> CommandResult {
        let roots = SysPaths::default();
        let scope = TraceScope::of_device(&roots, &self.device).map_err(|error| {
            let nearest = device_names::did_you_mean(&roots, &self.device);
            let mut failure = CommandFailure::from(error);
            failure.details.splice(0..0, nearest);
            failure
        })?;
        let control = signals::cancelled_by_signals()?;
        let names = scope.device_names();
        let drive = scope.drive_name.clone();
        let start_ns = to_nanoseconds(boot_time());
        let (sender, receiver) = sync_channel(REQUEST_QUEUE_BATCHES);
        let capture = follow_requests(&roots, scope, TraceDetail::Full, move |batch| {
            // The receiver is gone once the reader has closed stdout.
            let _ = sender.send(batch);
            CaptureControl::Continue
        })?;
        // Moved here to be dropped before the capture, whose thread may be blocked on the full channel.
        let receiver = receiver;
        // Only now: where requests cannot be traced, no file is created.
        let mut printer = RequestPrinter {
            format: self.format.get(),
            output: self.format.output.growing()?,
            min_latency: self.slower,
            start_ns,
            drive,
            summary: RequestSummary::default(),
            last_event_ns: 0,
            end_reason: None,
        };
        printer.print_heading()?;
        let listening = printer.print_until(&receiver, Instant::now() + self.duration, &control)?;
        // The capture thread delivers its remaining requests and must not block on a full channel: keep
        // receiving while it stops.
        let stopper = std::thread::spawn(move || capture.stop());
        if listening {
            for batch in &receiver {
                printer.print_batch(&batch)?;
            }
        }
        drop(receiver);
        // The thread ended with the capture, whose panic has been reported.
        let _ = stopper.join();
        printer.print_summary(&names)?;
        match printer.end_reason {
            Some(reason) => Err(CommandFailure::failed(reason)),
            None => Ok(ExitStatus::of_end(&control)),
        }
    }
}

fn to_nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Prints requests as they arrive and summarizes them.
struct RequestPrinter {
    format: OutputFormat,
    output: Destination,
    min_latency: Option<Duration>,
    start_ns: u64,
    drive: String,
    summary: RequestSummary,
    last_event_ns: u64,
    end_reason: Option<String>,
}

type PrintResult = Result<bool, CommandFailure>;

impl RequestPrinter {
    fn print_heading(&mut self) -> PrintResult {
        match self.format {
            OutputFormat::Text => Ok(self.output.write(&format!("{REQUEST_HEADING}\n"))?),
            OutputFormat::Csv => Ok(self.output.write(&REQUEST_TABLE.heading())?),
            _ => Ok(true),
        }
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
                Ok(batch) => {
                    if !self.print_batch(&batch)? {
                        return Ok(false);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(true)
    }

    fn print_batch(&mut self, batch: &RequestBatch) -> PrintResult {
        let mut text = String::new();
        for request in &batch.requests {
            self.summary.record(request);
            if self.matches_filter(request) {
                text.push_str(&self.format_request(request)?);
            }
        }
        self.summary.lost_events = batch.lost_events;
        self.summary.match_errors = batch.match_errors;
        self.summary.in_flight = batch.in_flight;
        self.last_event_ns = batch.complete_until;
        self.end_reason.clone_from(&batch.end_reason);
        if text.is_empty() {
            return Ok(true);
        }
        Ok(self.output.write(&text)?)
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
        let line = || RequestLine::new(request, &self.drive, self.start_ns);
        match self.format {
            OutputFormat::Text => Ok(request_row(request, self.start_ns) + "\n"),
            OutputFormat::Csv => converted(REQUEST_TABLE.row(&line())),
            _ => json_lines([line()]),
        }
    }

    fn print_summary(&mut self, names: &crate::report::requests::DeviceNames) -> PrintResult {
        let elapsed = self.last_event_ns.saturating_sub(self.start_ns);
        let text = match self.format {
            OutputFormat::Text => format!("\n{}", summary_text(&self.summary, names, elapsed)),
            OutputFormat::Csv => return Ok(true),
            _ => json_lines([LastLine::new(&self.summary, names, elapsed)])?,
        };
        Ok(self.output.write(&text)?)
    }
}
