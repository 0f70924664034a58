//! Writes samples, triggers or expositions in one format.

use std::path::Path;

use super::alerts::Alerts;
use crate::alerts::{Trigger, trigger_text};
use crate::cli::destination::Destination;
use crate::cli::failure::CommandFailure;
use crate::cli::options::{FormatOption, OutputFormat, OutputOption};
use crate::cli::output::{converted, terminal_width};
use crate::columns::program_totals::ProgramTotals;
use crate::files::output::NewFileAccess;
use crate::probe::SystemSample;
use crate::report::csv::{csv_heading, csv_row};
use crate::report::openmetrics::SnapshotMetrics;
use crate::report::watch::{self, TextLayout};
use crate::snapshot::Snapshot;
use crate::snapshot::view::DeviceView;

/// Writes samples in one format.
pub(in crate::cli) struct SampleWriter {
    output: Destination,
    format: OutputFormat,
    layout: TextLayout,
}

impl SampleWriter {
    /// To stdout or to the file of `-o`.
    pub(in crate::cli) fn new(
        option: &FormatOption,
        all_devices: bool,
    ) -> Result<Self, CommandFailure> {
        let (mut output, format) = (option.output.growing()?, option.get());
        if format == OutputFormat::Csv {
            output.write(&csv_heading::<DeviceView>(&["time"]))?;
        }
        let layout = TextLayout {
            width: terminal_width(&output),
            all_devices,
        };
        Ok(Self {
            output,
            format,
            layout,
        })
    }

    /// Writes a sample; false if the reader closed stdout.
    pub(in crate::cli) fn write(&mut self, live: &Snapshot) -> Result<bool, CommandFailure> {
        let text = match self.format {
            OutputFormat::Text => watch::watch_text(live, self.layout),
            OutputFormat::Csv => {
                let rows = live.devices.iter();
                rows.map(|it| csv_row(&[&live.time], it)).collect()
            }
            _ => converted(watch::json_line(live))? + "\n",
        };
        Ok(self.output.write(&text)?)
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
        option: &FormatOption,
        all_devices: bool,
        count: Option<u64>,
        has_conditions: bool,
    ) -> Result<Self, CommandFailure> {
        Ok(match option.get() {
            OutputFormat::OpenMetrics => {
                Self::Exposition(Box::new(ExpositionWriter::new(&option.output, count)?))
            }
            OutputFormat::Csv if has_conditions => {
                let message = "--on: triggers have no CSV";
                return Err(
                    CommandFailure::usage_error(message).with_advice("use --format text or ndjson")
                );
            }
            format if has_conditions => Self::Triggers {
                output: option.output.growing()?,
                is_json: format == OutputFormat::Ndjson,
            },
            _ => Self::Samples(SampleWriter::new(option, all_devices)?),
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
                    if *is_json {
                        text += &converted(trigger_text::trigger_json(trigger))?;
                    } else {
                        text += &trigger_text::trigger_text(trigger);
                    }
                    text.push('\n');
                }
                Ok(output.write(&text)?)
            }
            Self::Exposition(writer) => {
                let firing = alerts.into_iter().flat_map(Alerts::firing);
                let text = writer.metrics.exposition(sample, live, firing);
                writer.write(&text)
            }
        }
    }

    /// Ends the text with what programs have done since the first sample.
    pub(super) fn finish(&mut self, totals: &ProgramTotals) -> Result<(), CommandFailure> {
        if let Self::Samples(writer) = self
            && writer.format == OutputFormat::Text
        {
            let text = watch::program_totals_text(totals, writer.layout.width);
            writer.output.write(&text)?;
        }
        Ok(())
    }
}

/// One exposition on stdout, or a file that is replaced at every sample.
pub(super) struct ExpositionWriter {
    option: OutputOption,
    /// Checked already; `None` once it has been written.
    next: Option<Destination>,
    metrics: SnapshotMetrics,
}

impl ExpositionWriter {
    fn new(option: &OutputOption, count: Option<u64>) -> Result<Self, CommandFailure> {
        let has_file = option
            .path
            .as_deref()
            .is_some_and(|path| path != Path::new("-"));
        if !has_file && count != Some(1) {
            let message = "--format openmetrics: an exposition on stdout is one sample";
            return Err(CommandFailure::usage_error(message)
                .with_advice("add --count 1, or -o FILE, which is replaced at every sample"));
        }
        Ok(Self {
            next: Some(option.whole(&[], NewFileAccess::Umask)?),
            option: option.clone(),
            metrics: SnapshotMetrics::default(),
        })
    }

    /// Writes a sample as a whole: whoever reads the file sees the previous one or this one. The
    /// checks of an output are made for each: the file may be another one by now.
    fn write(&mut self, text: &str) -> Result<bool, CommandFailure> {
        let mut output = match self.next.take() {
            Some(output) => output,
            None => self.option.whole(&[], NewFileAccess::Umask)?,
        };
        Ok(output.write(text)?)
    }
}
