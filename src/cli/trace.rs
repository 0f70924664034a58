//! `diskscope trace`: prints the individual requests of a device.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use clap::Args;

use super::device_names;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::json_lines;
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

/// Requests that are listed after the summary, at most.
const MAX_LISTED_REQUESTS: usize = 100_000;

/// The requests; the keys are those of `--json`.
const REQUEST_TABLE: CsvTable = CsvTable(
    "time_ns,pid,command,device,operation,flags,sector,bytes,q2g_ns,g2i_ns,i2d_ns,\
    q2d_ns,d2c_ns,q2c_ns,error",
);

/// Trace the requests of a device, with latency by stage (root)
#[derive(Debug, Args)]
#[command(
    after_help = "ndjson prints each request when it completes, and ends with a line that has the summary; csv has \
    the requests only.\n\n\
    Examples:\n  diskscope trace sda --duration 30\n  diskscope trace nvme0n1 --slower 20ms --json"
)]
pub(super) struct TraceArguments {
    /// a block device, such as /dev/sda or nvme0n1p2
    device: String,
    /// duration of the trace, such as 10s; a bare number is seconds
    #[arg(long, default_value = "10s", value_parser = units::parse_time)]
    duration: Duration,
    /// list only requests with a higher latency, such as 20ms; the summary covers all
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    slower: Option<Duration>,
    /// list the single requests after the summary; ndjson and csv always have them
    #[arg(long)]
    requests: bool,
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
        let format = self.format.get();
        let control = signals::cancelled_by_signals()?;
        let drive = scope.drive_name.clone();
        let start_ns = u64::try_from(boot_time().as_nanos()).unwrap_or(0);
        let (sender, receiver) = sync_channel(REQUEST_QUEUE_BATCHES);
        let capture = follow_requests(&roots, scope, TraceDetail::Full, move |batch| {
            // The receiver is gone once the reader has closed stdout.
            let _ = sender.send(batch);
            CaptureControl::Continue
        })?;
        // Moved here to be dropped before the capture, whose thread may be blocked on the full channel.
        let receiver = receiver;
        let is_text = format == OutputFormat::Text;
        let mut printer = RequestPrinter {
            format,
            lists_requests: !is_text || self.slower.is_some() || self.requests,
            // Only now: where requests cannot be traced, no file is created.
            output: self.format.output.growing()?,
            min_latency_ns: self.slower.map_or(0, |slower| slower.as_nanos()),
            start_ns,
            drive,
            summary: RequestSummary::default(),
            listed: Vec::new(),
            unlisted: 0,
            last_event_ns: 0,
            end_reason: None,
        };
        let mut listening = true;
        if format == OutputFormat::Csv {
            listening = printer.output.write(&REQUEST_TABLE.heading())?;
        }
        listening &= printer.print_until(&receiver, Instant::now() + self.duration, &control)?;
        // The capture thread delivers its remaining requests and must not block on a full channel: keep
        // receiving while it stops.
        let stopper = std::thread::spawn(move || capture.stop());
        if listening {
            for batch in &receiver {
                printer.add_batch(&batch)?;
            }
        }
        drop(receiver);
        // The thread ended with the capture, whose panic has been reported.
        let _ = stopper.join();
        printer.print_summary()?;
        match printer.end_reason {
            Some(reason) => Err(CommandFailure::failed(reason)),
            None => Ok(ExitStatus::of_end(&control)),
        }
    }
}

/// Prints requests and sums them up.
struct RequestPrinter {
    format: OutputFormat,
    lists_requests: bool,
    output: Destination,
    min_latency_ns: u128,
    start_ns: u64,
    drive: String,
    summary: RequestSummary,
    /// The rows that follow the summary of text, and how many more there were.
    listed: Vec<String>,
    unlisted: u64,
    last_event_ns: u64,
    end_reason: Option<String>,
}

impl RequestPrinter {
    /// Prints until the deadline or a signal; false if the reader closed stdout.
    fn print_until(
        &mut self,
        receiver: &Receiver<RequestBatch>,
        end: Instant,
        control: &CancellationToken,
    ) -> Result<bool, CommandFailure> {
        while !control.is_cancelled() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match receiver.recv_timeout(left.min(SIGNAL_POLL_INTERVAL)) {
                Ok(batch) => {
                    if !self.add_batch(&batch)? {
                        return Ok(false);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(true)
    }

    fn add_batch(&mut self, batch: &RequestBatch) -> Result<bool, CommandFailure> {
        let mut text = String::new();
        for request in &batch.requests {
            self.summary.record(request);
            if self.lists_requests && self.is_slow(request) {
                text += &self.add_request(request)?;
            }
        }
        self.summary.lost_events = batch.status.lost_events;
        self.summary.match_errors = batch.match_errors;
        self.summary.in_flight = batch.in_flight;
        self.last_event_ns = batch.status.complete_until;
        self.end_reason.clone_from(&batch.status.end_reason);
        if text.is_empty() {
            return Ok(true);
        }
        Ok(self.output.write(&text)?)
    }

    fn is_slow(&self, request: &TracedRequest) -> bool {
        let stages = request.timestamps.stages();
        let latency = stages.q2c.or(stages.d2c).map(u128::from);
        self.min_latency_ns == 0 || latency.is_some_and(|taken| taken > self.min_latency_ns)
    }

    /// Keeps the row of a request, or returns its line.
    fn add_request(&mut self, request: &TracedRequest) -> Result<String, CommandFailure> {
        let line = RequestLine::new(request, &self.drive, self.start_ns);
        match self.format {
            OutputFormat::Csv => return Ok(REQUEST_TABLE.row(&line)?),
            OutputFormat::Text if self.listed.len() < MAX_LISTED_REQUESTS => {
                self.listed.push(request_row(request, self.start_ns));
            }
            OutputFormat::Text => self.unlisted += 1,
            _ => return json_lines([line]),
        }
        Ok(String::new())
    }

    fn print_summary(&mut self) -> Result<bool, CommandFailure> {
        let elapsed = self.last_event_ns.saturating_sub(self.start_ns);
        let mut text = match self.format {
            OutputFormat::Text => summary_text(&self.summary, &self.drive, elapsed),
            OutputFormat::Csv => return Ok(true),
            _ => json_lines([LastLine::new(&self.summary, &self.drive, elapsed)])?,
        };
        if self.lists_requests && self.format == OutputFormat::Text {
            text += &format!("\n{REQUEST_HEADING}\n");
            for row in &self.listed {
                text += row;
                text.push('\n');
            }
        }
        if self.unlisted > 0 {
            let more = self.unlisted;
            text += &format!("{more} more requests: --json prints each when it completes\n");
        }
        Ok(self.output.write(&text)?)
    }
}
