//! Values and options that several commands have.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::destination::Destination;
use super::failure::{CommandFailure, CommandResult, ExitStatus, output_refused};
use super::output::print_status_line;
use crate::alerts::ConditionSet;
use crate::files::file_id::FileId;
use crate::files::output::NewFileAccess;
use crate::units;

/// Minimum interval: the kernel's own counters are in milliseconds.
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Parses an interval; a bare number is seconds, as in iostat.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse_interval(text: &str) -> Result<Duration, String> {
    match units::parse_time(text) {
        Ok(interval) if interval < MIN_INTERVAL => Err("the shortest interval is 100ms".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// Accepts the words of these values.
pub(super) fn choice<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    word: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let words = values.iter().map(move |value| word(*value));
    PossibleValuesParser::new(words).try_map(move |chosen| {
        let mut values = values.iter().copied();
        values.find(|value| word(*value) == chosen).ok_or(chosen)
    })
}

/// Parses the conditions of `--on`.
///
/// # Errors
/// A usage error for the first that is none.
pub(super) fn parse_conditions(texts: &[String]) -> Result<ConditionSet, CommandFailure> {
    ConditionSet::parse(texts).map_err(|error| {
        CommandFailure::usage_error(format!("--on {error}"))
            .with_advice("metrics and scopes: docs/alerts.md")
    })
}

/// Format of a command's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people.
    Text,
    /// One JSON document.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// Comma-separated values with a heading, RFC 4180.
    Csv,
    /// One exposition in the OpenMetrics text format, as Prometheus reads it.
    OpenMetrics,
}

impl OutputFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::Text,
        Self::Json,
        Self::Ndjson,
        Self::Csv,
        Self::OpenMetrics,
    ];

    /// The keyword of `--format`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::OpenMetrics => "openmetrics",
        }
    }
}

/// `--format` and `--json`. The formats of a command are those of its entry in the table of commands, which
/// also gives `--json` its meaning.
#[derive(Debug, Args)]
pub(super) struct FormatOption {
    /// format of the result [default: text]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json",
          value_parser = choice(&OutputFormat::ALL, OutputFormat::word))]
    pub(super) format: Option<OutputFormat>,
    /// the result as JSON, one object per line where it is a stream
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) output: OutputOption,
}

impl FormatOption {
    /// The selected format.
    pub(super) fn get(&self) -> OutputFormat {
        self.format.unwrap_or(OutputFormat::Text)
    }
}

/// `-o FILE`.
#[derive(Debug, Clone, Args)]
pub(super) struct OutputOption {
    /// write the result to this file instead of stdout; - is stdout
    #[arg(id = "output", short = 'o', long = "output", value_name = "FILE")]
    pub(super) path: Option<PathBuf>,
}

impl OutputOption {
    /// Where it sends a result that is written as a whole. `inputs` are the files that the command reads.
    pub(super) fn whole(
        &self,
        inputs: &[FileId],
        access: NewFileAccess,
    ) -> Result<Destination, CommandFailure> {
        let path = self.path.as_deref();
        let destination = Destination::whole(path, inputs, access).map_err(output_refused)?;
        if let Some(note) = destination.note() {
            print_status_line(&format!("note: {note}"));
        }
        Ok(destination)
    }

    /// Checks where the result goes, then makes and writes it. `inputs` are the files that the command reads.
    pub(super) fn print(
        &self,
        inputs: &[FileId],
        text: impl FnOnce() -> Result<String, CommandFailure>,
    ) -> CommandResult {
        let mut output = self.whole(inputs, NewFileAccess::Umask)?;
        output.write(&text()?)?;
        Ok(ExitStatus::Success)
    }

    /// Where it sends results that are written one after the other.
    pub(super) fn growing(&self) -> Result<Destination, CommandFailure> {
        Destination::growing(self.path.as_deref()).map_err(output_refused)
    }
}
