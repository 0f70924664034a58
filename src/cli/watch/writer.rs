//! Writes samples in one format.

use clap::ArgMatches;

use crate::cli::destination::Destination;
use crate::cli::failure::CommandFailure;
use crate::cli::format::OutputFormat;
use crate::cli::output::{converted, growing_destination};
use crate::report::csv::CsvTable;
use crate::report::watch;
use crate::snapshot::Snapshot;

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

/// Writes samples in one format.
pub(in crate::cli) enum SampleWriter {
    Text {
        output: Destination,
        all_devices: bool,
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
    pub(in crate::cli) fn write(&mut self, live: &Snapshot) -> Result<bool, CommandFailure> {
        Ok(match self {
            Self::Text {
                output,
                all_devices,
            } => output.write(&watch::watch_text(live, *all_devices))?,
            Self::JsonLines(output) => {
                output.write(&(converted(watch::json_line(live))? + "\n"))?
            }
            Self::DeviceRows(output) => output.write(&device_rows(live)?)?,
        })
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
