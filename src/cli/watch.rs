//! `diskscope watch`: prints the Live screen as text, NDJSON, CSV or OpenMetrics.

mod alerts;
mod writer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use self::alerts::Alerts;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::output::print_status_line;
use super::{config, pace, signals};
use crate::columns::program_totals::ProgramTotals;
use crate::engine::CancellationToken;
use crate::files::safe_text::SafeText;
use crate::probe::{SampleCollector, Wanted};
use crate::report::watch;
use crate::roots::SysPaths;
use crate::snapshot::ViewBuilder;
use crate::trace::by_process::ProcessIoTrace;
use crate::transfers::counting::JobCounter;

pub(super) use self::writer::SampleWriter;
use self::writer::WatchOutput;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Ndjson,
    OutputFormat::Csv,
    OutputFormat::OpenMetrics,
];

/// What is listed in addition.
const SWITCHES: [(&str, &str); 5] = [
    ("threads", "also list the threads of busy processes"),
    (
        "units",
        "also list services, containers and sessions (control groups); always in JSON",
    ),
    (
        "by-device",
        "trace requests: what each process does on each device, and IOPS (root)",
    ),
    (
        "all-devices",
        "also list partitions, idle loop devices and the layers below volumes; always in JSON",
    ),
    (
        "mounts",
        "also list mounted file systems: NFS, SMB, FUSE, ZFS, btrfs and those on devices",
    ),
];

pub(super) fn command() -> Command {
    Command::new("watch")
        .about("Print devices, processes and transfers at an interval")
        .arg(config::interval_argument())
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("stop after this many samples"),
        )
        .args(SWITCHES.map(|(name, help)| {
            Arg::new(name)
                .long(name)
                .action(ArgAction::SetTrue)
                .help(help)
        }))
        .args(alerts::arguments())
        .args(format_arguments(FORMATS))
        .after_help(
            "csv lists the devices; openmetrics has devices, units, pressure and memory: with -o FILE the file is \
             replaced at every sample, without it add --count 1.\n\n\
             Examples:\n  diskscope watch --interval 2\n  diskscope watch --json | jq .transfers\n  \
             diskscope watch --on 'await(sda)>50ms for 3s' --exec /usr/local/bin/page\n  \
             diskscope watch --interval 15 --format openmetrics -o /run/disks.prom",
        )
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let interval = config::effective(matches)?.interval;
    let count = matches.get_one::<u64>("count").copied();
    let format = selected_format(matches, FORMATS)?;
    let alerts = Alerts::from_options(matches)?;
    let control = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let mut session = WatchSession::start(matches, format, count, alerts)?;
    let mut exit = session.run(interval, count, &control);
    if exit.is_ok()
        && let Err(error) = session.output.finish(&session.totals)
    {
        exit = Err(error);
    }
    if let Some(alerts) = session.alerts {
        alerts.finish();
    }
    exit
}

/// A watch in progress.
struct WatchSession {
    collector: SampleCollector,
    view_builder: ViewBuilder,
    job_counter: JobCounter,
    trace: Option<ProcessIoTrace>,
    alerts: Option<Alerts>,
    output: WatchOutput,
    totals: ProgramTotals,
    printed_notices: Vec<SafeText>,
}

impl WatchSession {
    /// Takes the sample to which the first printed one is relative: a single sample has no rates.
    fn start(
        matches: &ArgMatches,
        format: OutputFormat,
        count: Option<u64>,
        alerts: Option<Alerts>,
    ) -> Result<Self, CommandFailure> {
        let needs = alerts.as_ref().map(Alerts::wanted).unwrap_or_default();
        let mut collector = SampleCollector::new(SysPaths::default());
        let is_exposition = format == OutputFormat::OpenMetrics;
        let units = matches.get_flag("units") || format == OutputFormat::Ndjson;
        collector.set_wanted(Wanted {
            threads: matches.get_flag("threads"),
            units: units || needs.units || is_exposition,
            mounts: matches.get_flag("mounts") || needs.mounts,
            blocked: needs.blocked || is_exposition,
            io_errors: needs.io_errors || is_exposition,
            ..Wanted::default()
        });
        let trace = match matches.get_flag("by-device") {
            true => Some(start_trace()?),
            false => None,
        };
        // Only now: where requests cannot be traced, no file is created.
        let output = WatchOutput::new(matches, format, count, alerts.is_some())?;
        let mut view_builder = ViewBuilder::default();
        view_builder.update(Arc::new(collector.collect()));
        let _ = trace.as_ref().map(ProcessIoTrace::take);
        Ok(Self {
            collector,
            view_builder,
            job_counter: JobCounter::new(SysPaths::default()),
            trace,
            alerts,
            output,
            totals: ProgramTotals::default(),
            printed_notices: Vec::new(),
        })
    }

    /// Prints samples until there are `count`, a signal arrives, or nobody reads them any more.
    fn run(
        &mut self,
        interval: Duration,
        count: Option<u64>,
        control: &CancellationToken,
    ) -> CommandResult {
        let mut due = Instant::now();
        let mut printed = 0;
        while count.is_none_or(|count| printed < count) {
            due = pace::next_due(due, interval);
            if !pace::wait_until_due(due, control) {
                return Ok(ExitStatus::Interrupted);
            }
            if !self.print_sample()? {
                break;
            }
            printed += 1;
        }
        Ok(ExitStatus::Success)
    }

    fn print_sample(&mut self) -> Result<bool, CommandFailure> {
        self.collector
            .follow_files(self.view_builder.followed_files());
        let sample = Arc::new(self.collector.collect());
        self.view_builder
            .set_job_counts(self.job_counter.update(&sample.processes));
        let traced = self.trace.as_ref().map(ProcessIoTrace::take);
        if let Some(reason) = traced.as_ref().and_then(|it| it.end_reason.as_ref()) {
            return Err(CommandFailure::failed(reason));
        }
        let live = self
            .view_builder
            .update_traced(Arc::clone(&sample), traced.as_ref());
        self.totals.add(&live);
        for notice in watch::new_notices(&live, &mut self.printed_notices).lines() {
            print_status_line(notice);
        }
        let triggers = match &mut self.alerts {
            Some(alerts) => alerts.observe(&live, sample.boot_time),
            None => Vec::new(),
        };
        let firing = self.alerts.as_ref();
        self.output.write((&sample, &live), &triggers, firing)
    }
}

fn start_trace() -> Result<ProcessIoTrace, CommandFailure> {
    ProcessIoTrace::start(&SysPaths::default())
        .map_err(|error| CommandFailure::failed(&error).with_advice(error.advice()))
}
