//! Writes samples, triggers or expositions in one format.

use std::path::{Path, PathBuf};

use clap::ArgMatches;

use super::alerts::Alerts;
use crate::alerts::{Trigger, trigger_text};
use crate::cli::destination::Destination;
use crate::cli::failure::CommandFailure;
use crate::cli::format::OutputFormat;
use crate::cli::output::{converted, growing_destination, terminal_width, whole_destination};
use crate::columns::program_totals::ProgramTotals;
use crate::files::output::NewFileAccess;
use crate::probe::SystemSample;
use crate::report::csv::{csv_heading, csv_row};
use crate::report::openmetrics::SnapshotMetrics;
use crate::report::watch::{self, TextLayout};
use crate::snapshot::Snapshot;
use crate::snapshot::view::DeviceView;

/// Writes samples in one format.
pub(in crate::cli) enum SampleWriter {
    Text {
        output: Destination,
        layout: TextLayout,
    },
    JsonLines(Destination),
    DeviceRows(Destination),
}

impl SampleWriter {
    /// To stdout or to the file of `-o`.
    pub(in crate::cli) fn new(
        matches: &ArgMatches,
        format: OutputFormat,
        all_devices: bool,
    ) -> Result<Self, CommandFailure> {
        let mut output = growing_destination(matches)?;
        Ok(match format {
            OutputFormat::Csv => {
                output.write(&csv_heading::<DeviceView>(&["time"]))?;
                Self::DeviceRows(output)
            }
            OutputFormat::Ndjson => Self::JsonLines(output),
            _ => {
                let layout = TextLayout {
                    width: terminal_width(&output),
                    all_devices,
                };
                Self::Text { output, layout }
            }
        })
    }

    /// Writes a sample; false if the reader closed stdout.
    pub(in crate::cli) fn write(&mut self, live: &Snapshot) -> Result<bool, CommandFailure> {
        Ok(match self {
            Self::Text { output, layout } => output.write(&watch::watch_text(live, *layout))?,
            Self::JsonLines(output) => {
                output.write(&(converted(watch::json_line(live))? + "\n"))?
            }
            Self::DeviceRows(output) => {
                let rows = live.devices.iter();
                let rows: String = rows.map(|it| csv_row(&[&live.time], it)).collect();
                output.write(&rows)?
            }
        })
    }
}

/// Where samples, triggers or expositions go.
pub(super) enum WatchOutput {
    Samples(SampleWriter),
    Triggers { output: Destination, is_json: bool },
    Exposition(Box<ExpositionWriter>),
}

impl WatchOutput {
    /// As the options demand it.
    pub(super) fn new(
        matches: &ArgMatches,
        format: OutputFormat,
        count: Option<u64>,
        has_conditions: bool,
    ) -> Result<Self, CommandFailure> {
        Ok(match format {
            OutputFormat::OpenMetrics => {
                Self::Exposition(Box::new(ExpositionWriter::new(matches, count)?))
            }
            OutputFormat::Csv if has_conditions => {
                let message = "--on: triggers have no CSV";
                return Err(
                    CommandFailure::usage_error(message).with_advice("use --format text or ndjson")
                );
            }
            _ if has_conditions => Self::Triggers {
                output: growing_destination(matches)?,
                is_json: format == OutputFormat::Ndjson,
            },
            _ => {
                let all_devices = matches.get_flag("all-devices");
                Self::Samples(SampleWriter::new(matches, format, all_devices)?)
            }
        })
    }

    /// Writes what there is of a sample; false if nobody reads it any more.
    pub(super) fn write(
        &mut self,
        (sample, live): (&SystemSample, &Snapshot),
        triggers: &[Trigger],
        alerts: Option<&Alerts>,
    ) -> Result<bool, CommandFailure> {
        match self {
            Self::Samples(writer) => writer.write(live),
            Self::Triggers { output, is_json } => {
                let mut text = String::new();
                for trigger in triggers {
                    text += &match is_json {
                        true => converted(trigger_text::trigger_json(trigger))?,
                        false => trigger_text::trigger_text(trigger),
                    };
                    text.push('\n');
                }
                Ok(output.write(&text)?)
            }
            Self::Exposition(writer) => writer.write((sample, live), alerts),
        }
    }

    /// Ends the text with what programs have done since the first sample.
    pub(super) fn finish(&mut self, totals: &ProgramTotals) -> Result<(), CommandFailure> {
        if let Self::Samples(SampleWriter::Text { output, layout }) = self {
            output.write(&watch::program_totals_text(totals, layout.width))?;
        }
        Ok(())
    }
}

/// One exposition on stdout, or a file that is replaced at every sample.
pub(super) struct ExpositionWriter {
    matches: ArgMatches,
    /// Checked already; `None` once it has been written.
    next: Option<Destination>,
    /// Whether there is a file, which is replaced.
    has_file: bool,
    metrics: SnapshotMetrics,
}

impl ExpositionWriter {
    fn new(matches: &ArgMatches, count: Option<u64>) -> Result<Self, CommandFailure> {
        let path = matches.get_one::<PathBuf>("output");
        let has_file = path.is_some_and(|path| path != Path::new("-"));
        if !has_file && count != Some(1) {
            let message = "--format openmetrics: an exposition on stdout is one sample";
            return Err(CommandFailure::usage_error(message)
                .with_advice("add --count 1, or -o FILE, which is replaced at every sample"));
        }
        Ok(Self {
            next: Some(whole_destination(matches, &[], NewFileAccess::Umask)?),
            matches: matches.clone(),
            has_file,
            metrics: SnapshotMetrics::default(),
        })
    }

    /// Writes a sample as a whole: whoever reads the file sees the previous one or this one. The
    /// checks of an output are made for each: the file may be another one by now.
    fn write(
        &mut self,
        (sample, live): (&SystemSample, &Snapshot),
        alerts: Option<&Alerts>,
    ) -> Result<bool, CommandFailure> {
        let mut output = match self.next.take() {
            Some(output) => output,
            None if self.has_file => whole_destination(&self.matches, &[], NewFileAccess::Umask)?,
            None => return Ok(false),
        };
        let firing = alerts.into_iter().flat_map(Alerts::firing);
        let text = self.metrics.exposition(sample, live, firing);
        Ok(output.write(&text)?)
    }
}
