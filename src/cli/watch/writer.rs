//! Writes samples, triggers or expositions in one format.

use super::alerts::Alerts;
use crate::alerts::{Trigger, trigger_text};
use crate::cli::destination::Destination;
use crate::cli::failure::CommandFailure;
use crate::cli::options::OutputFormat::{self, Csv, Ndjson, Text};
use crate::cli::options::{FormatOption, OutputOption};
use crate::cli::output::terminal_width;
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
        if format == Csv {
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
            Text => watch::watch_text(live, self.layout),
            Csv => {
                let rows = live.devices.iter();
                rows.map(|it| csv_row(&[&live.time], it)).collect()
            }
            _ => watch::json_line(live)? + "\n",
        };
        Ok(self.output.write(&text)?)
    }

    /// Writes triggers instead of samples, one per line.
    pub(super) fn write_triggers(&mut self, triggers: &[Trigger]) -> Result<bool, CommandFailure> {
        let mut text = String::new();
        for trigger in triggers {
            text += &if self.format == Ndjson {
                trigger_text::trigger_json(trigger)?
            } else {
                trigger_text::trigger_text(trigger)
            };
            text.push('\n');
        }
        Ok(self.output.write(&text)?)
    }

    /// Ends the text with what programs have done since the first sample.
    pub(super) fn write_totals(&mut self, totals: &ProgramTotals) -> Result<(), CommandFailure> {
        if self.format == Text {
            let text = watch::program_totals_text(totals, self.layout.width);
            self.output.write(&text)?;
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
    pub(super) fn new(option: &OutputOption, count: Option<u64>) -> Result<Self, CommandFailure> {
        let next = option.whole(&[], NewFileAccess::Umask)?;
        if next.is_stdout() && count != Some(1) {
            let message = "--format openmetrics: an exposition on stdout is one sample";
            return Err(CommandFailure::usage_error(message)
                .with_advice("add --count 1, or -o FILE, which is replaced at every sample"));
        }
        Ok(Self {
            next: Some(next),
            option: option.clone(),
            metrics: SnapshotMetrics::default(),
        })
    }

    /// Writes a sample as a whole: whoever reads the file sees the previous one or this one. The
    /// checks of an output are made for each: the file may be another one by now.
    pub(super) fn write(
        &mut self,
        sample: &SystemSample,
        live: &Snapshot,
        alerts: Option<&Alerts>,
    ) -> Result<bool, CommandFailure> {
        let mut output = match self.next.take() {
            Some(output) => output,
            None => self.option.whole(&[], NewFileAccess::Umask)?,
        };
        let firing = alerts.into_iter().flat_map(Alerts::firing);
        Ok(output.write(&self.metrics.exposition(sample, live, firing))?)
    }
}
