//! `diskscope watch`: prints the Live screen as text or NDJSON.

use std::sync::Arc;
use std::time::Instant;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::output::{ResultOutput, StreamOutput, converted, print_status_line};
use super::{pace, signals};
use crate::engine::CancellationToken;
use crate::model::{Snapshot, ViewBuilder};
use crate::probe::SampleCollector;
use crate::process_io_trace::ProcessIoTrace;
use crate::report::csv::CsvTable;
use crate::report::{openmetrics, watch};
use crate::roots::SysPaths;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Ndjson,
    OutputFormat::Csv,
    OutputFormat::OpenMetrics,
];

/// The devices, a row for each and sample.
const DEVICE_TABLE: CsvTable = CsvTable {
    columns: &[
        "time",
        "name",
        "read_ios_per_s",
        "write_ios_per_s",
        "read_bytes_per_s",
        "write_bytes_per_s",
        "read_await_ns",
        "write_await_ns",
        "queue_size",
        "request_bytes",
        "in_flight",
        "busy",
    ],
};

pub(super) fn command() -> Command {
    Command::new("watch")
        .about("Print devices, processes and transfers at an interval")
        .arg(
            Arg::new("interval")
                .long("interval")
                .value_name("DURATION")
                .default_value("1s")
                .help("time between two samples, such as 500ms or 2s"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("stop after this many samples"),
        )
        .arg(
            Arg::new("threads")
                .long("threads")
                .action(ArgAction::SetTrue)
                .help("also list the threads of busy processes"),
        )
        .arg(
            Arg::new("units")
                .long("units")
                .action(ArgAction::SetTrue)
                .help("also list services, containers and sessions (control groups); always in JSON"),
        )
        .arg(
            Arg::new("by-device")
                .long("by-device")
                .action(ArgAction::SetTrue)
                .help("trace requests: what each process does on each device, and IOPS (root)"),
        )
        .arg(
            Arg::new("all-devices")
                .long("all-devices")
                .action(ArgAction::SetTrue)
                .help("also list partitions, idle loop devices and the layers below volumes; always in JSON"),
        )
        .args(format_arguments(FORMATS))
        .after_help(
            "csv lists the devices; openmetrics is one exposition of devices and memory and needs --count 1.\n\n\
             Examples:\n  diskscope watch --interval 2\n  diskscope watch --json | jq .transfers\n  \
             diskscope watch --count 1 --format openmetrics -o /var/lib/node_exporter/diskscope.prom",
        )
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let interval = pace::interval_option(matches)?;
    let count = matches.get_one::<u64>("count").copied();
    let format = selected_format(matches, FORMATS)?;
    let all_devices = matches.get_flag("all-devices");
    let mut writer = SampleWriter::new(matches, format, count, all_devices)?;
    let control = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let (mut collector, mut modeler) = (
        SampleCollector::new(SysPaths::default()),
        ViewBuilder::default(),
    );
    collector.set_show_threads(matches.get_flag("threads"));
    collector.set_show_units(matches.get_flag("units") || format == OutputFormat::Ndjson);
    let trace = match matches.get_flag("by-device") {
        true => Some(start_trace()?),
        false => None,
    };
    // The first printed sample is relative to this one: a single sample has no rates.
    modeler.update(Arc::new(collector.collect()));
    let _ = trace.as_ref().map(ProcessIoTrace::take);
    let mut due = Instant::now();
    let (mut printed, mut said) = (0, Vec::new());
    while count.is_none_or(|count| printed < count) {
        due += interval;
        if !pace::wait_until_due(due, &control) {
            return Ok(ExitStatus::Interrupted);
        }
        collector.follow_files(modeler.followed_files());
        let sample = Arc::new(collector.collect());
        let traced = trace.as_ref().map(ProcessIoTrace::take);
        if let Some(reason) = traced.as_ref().and_then(|it| it.end_reason.as_ref()) {
            return Err(CommandFailure::failed(format!(
                "the kernel has ended the trace: {reason}"
            )));
        }
        let live = modeler.update_traced(sample, traced.as_ref());
        for notice in watch::new_notices(&live, &mut said).lines() {
            print_status_line(notice);
        }
        if !writer.write(&live)? {
            break;
        }
        printed += 1;
    }
    Ok(ExitStatus::Success)
}

fn start_trace() -> Result<ProcessIoTrace, CommandFailure> {
    ProcessIoTrace::start(&SysPaths::default())
        .map_err(|error| CommandFailure::failed(&error).with_advice(error.advice()))
}

/// Writes samples in one format.
pub(super) enum SampleWriter {
    Text {
        output: StreamOutput,
        all_devices: bool,
    },
    JsonLines(StreamOutput),
    DeviceRows(StreamOutput),
    /// One exposition; the output is taken when it is written.
    Exposition(Option<ResultOutput>),
}

impl SampleWriter {
    pub(super) fn new(
        matches: &ArgMatches,
        format: OutputFormat,
        count: Option<u64>,
        all_devices: bool,
    ) -> Result<Self, CommandFailure> {
        if format == OutputFormat::OpenMetrics {
            return match count {
                Some(1) => Ok(Self::Exposition(Some(ResultOutput::from_options(
                    matches,
                    &[],
                )?))),
                _ => Err(CommandFailure::usage_error(
                    "--format openmetrics: an exposition is one sample",
                )
                .with_advice("add --count 1")),
            };
        }
        let mut output = StreamOutput::from_options(matches)?;
        Ok(match format {
            OutputFormat::Csv => {
                output.write(&DEVICE_TABLE.heading())?;
                Self::DeviceRows(output)
            }
            OutputFormat::Ndjson => Self::JsonLines(output),
            _ => Self::Text {
                output,
                all_devices,
            },
        })
    }

    /// Writes a sample; false if the reader closed stdout.
    pub(super) fn write(&mut self, live: &Snapshot) -> Result<bool, CommandFailure> {
        match self {
            Self::Text {
                output,
                all_devices,
            } => output.write(&watch::watch_text(live, *all_devices)),
            Self::JsonLines(output) => output.write(&(converted(watch::json_line(live))? + "\n")),
            Self::DeviceRows(output) => output.write(&device_rows(live)?),
            Self::Exposition(output) => match output.take() {
                Some(output) => output
                    .deliver(&openmetrics::snapshot_metrics(live))
                    .map(|()| true),
                None => Ok(false),
            },
        }
    }
}

fn device_rows(live: &Snapshot) -> Result<String, CommandFailure> {
    let mut text = String::new();
    for device in &live.devices {
        let mut record = serde_json::to_value(device).unwrap_or_default();
        record["time"] = live.time.as_str().into();
        text += &converted(DEVICE_TABLE.row(&record))?;
    }
    Ok(text)
}
