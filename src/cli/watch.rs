//! `diskscope watch`: prints the Live screen as text, NDJSON, CSV or OpenMetrics.

mod alerts;
mod writer;

use std::time::{Duration, Instant};

use clap::{Args, value_parser};

use self::alerts::{AlertOptions, Alerts};
use self::writer::ExpositionWriter;
use super::config::{self, IntervalOption};
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::live_sampler::LiveSampler;
use super::options::FormatOption;
use super::options::OutputFormat::{self, Csv, Ndjson, OpenMetrics, Text};
use super::output::print_status_line;
use super::subcommand::Arguments;
use super::{pace, signals};
use crate::columns::program_totals::ProgramTotals;
use crate::engine::CancellationToken;
use crate::files::safe_text::SafeText;
use crate::probe::Wanted;
use crate::report::watch;
use crate::roots::SysPaths;
use crate::trace::by_process::ProcessIoTrace;

pub(super) use self::writer::SampleWriter;

/// Print devices, processes and transfers at an interval
#[derive(Debug, Args)]
#[command(
    after_help = "csv lists the devices; openmetrics has devices, units, pressure and memory: with -o FILE the \
    file is replaced at every sample, without it add --count 1.\n\n\
    Examples:\n  diskscope watch --interval 2\n  diskscope watch --json | jq .transfers\n  \
    diskscope watch --on 'await(sda)>50ms for 3s' --exec /usr/local/bin/page\n  \
    diskscope watch --interval 15 --format openmetrics -o /run/disks.prom"
)]
pub(super) struct WatchArguments {
    #[command(flatten)]
    interval: IntervalOption,
    /// stop after this many samples
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// also list the threads of busy processes
    #[arg(long)]
    threads: bool,
    /// also list services, containers and sessions (control groups); always in JSON
    #[arg(long)]
    units: bool,
    /// trace requests: what each process does on each device, and IOPS (root)
    #[arg(long)]
    by_device: bool,
    /// also list partitions, idle loop devices and the layers below volumes; always in JSON
    #[arg(long)]
    all_devices: bool,
    /// also list mounted file systems: NFS, SMB, FUSE, ZFS, btrfs and those on devices
    #[arg(long)]
    mounts: bool,
    #[command(flatten)]
    alerts: AlertOptions,
    #[command(flatten)]
    format: FormatOption,
}

impl Arguments for WatchArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Ndjson, Csv, OpenMetrics];

    fn run(self) -> CommandResult {
        let interval = config::effective(self.interval.interval, None)?.interval;
        let alerts = Alerts::from_options(&self.alerts)?;
        let control = signals::cancelled_by_signals()?;
        let mut session = WatchSession::start(&self, alerts)?;
        let mut exit = session.run(interval, self.count, &control);
        if exit.is_ok()
            && session.alerts.is_none()
            && let WatchOutput::Lines(writer) = &mut session.output
            && let Err(error) = writer.write_totals(&session.totals)
        {
            exit = Err(error);
        }
        if let Some(alerts) = session.alerts {
            alerts.finish();
        }
        exit
    }
}

impl WatchArguments {
    /// What samples contain, with what conditions need.
    fn wanted(&self, needs: Wanted) -> Wanted {
        let format = self.format.get();
        let is_exposition = format == OpenMetrics;
        Wanted {
            threads: self.threads,
            units: self.units || needs.units || is_exposition || format == Ndjson,
            mounts: self.mounts || needs.mounts,
            blocked: needs.blocked || is_exposition,
            io_errors: needs.io_errors || is_exposition,
            ..Wanted::default()
        }
    }

    fn output(&self, has_conditions: bool) -> Result<WatchOutput, CommandFailure> {
        let format = self.format.get();
        if format == OpenMetrics {
            let writer = ExpositionWriter::new(&self.format.output, self.count)?;
            return Ok(WatchOutput::Exposition(Box::new(writer)));
        }
        if format == Csv && has_conditions {
            let failure = CommandFailure::usage_error("--on: triggers have no CSV");
            return Err(failure.with_advice("use --format text or ndjson"));
        }
        let writer = SampleWriter::new(&self.format, self.all_devices)?;
        Ok(WatchOutput::Lines(Box::new(writer)))
    }
}

/// Where samples, triggers or expositions go.
enum WatchOutput {
    Lines(Box<SampleWriter>),
    Exposition(Box<ExpositionWriter>),
}

/// A watch in progress.
struct WatchSession {
    sampler: LiveSampler,
    trace: Option<ProcessIoTrace>,
    alerts: Option<Alerts>,
    output: WatchOutput,
    totals: ProgramTotals,
    printed_notices: Vec<SafeText>,
}

impl WatchSession {
    /// Takes the sample to which the first printed one is relative: a single sample has no rates.
    fn start(arguments: &WatchArguments, alerts: Option<Alerts>) -> Result<Self, CommandFailure> {
        let needs = alerts.as_ref().map(Alerts::wanted).unwrap_or_default();
        let mut sampler = LiveSampler::new(arguments.wanted(needs));
        let mut trace = None;
        if arguments.by_device {
            trace = Some(ProcessIoTrace::start(&SysPaths::default())?);
        }
        // Only now: where requests cannot be traced, no file is created.
        let output = arguments.output(alerts.is_some())?;
        sampler.sample(trace.as_ref())?;
        Ok(Self {
            sampler,
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
        let (sample, live) = self.sampler.sample(self.trace.as_ref())?;
        self.totals.add(&live);
        for notice in watch::new_notices(&live, &mut self.printed_notices).lines() {
            print_status_line(notice);
        }
        let alerts = self.alerts.as_mut();
        let triggers = alerts.map(|alerts| alerts.observe(&live, sample.boot_time));
        match (&mut self.output, triggers) {
            (WatchOutput::Lines(writer), Some(triggers)) => writer.write_triggers(&triggers),
            (WatchOutput::Lines(writer), None) => writer.write(&live),
            (WatchOutput::Exposition(writer), _) => {
                writer.write(&sample, &live, self.alerts.as_ref())
            }
        }
    }
}
