//! `diskscope show`: prints a saved session as text or JSON.

use std::path::PathBuf;

use clap::Args;

use super::failure::{CommandFailure, CommandResult};
use super::options::FormatOption;
use super::options::OutputFormat::{self, Csv, Json, OpenMetrics, Text};
use super::output::pretty_json;
use super::subcommand::Arguments;
use crate::report::{csv, openmetrics, text};
use crate::session::document::Session;
use crate::session::store;

/// Print a saved session or the journal of an interrupted one
#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// session file: document (.json) or journal (.journal)
    file: PathBuf,
    #[command(flatten)]
    format: FormatOption,
}

impl Arguments for ShowArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Json, Csv, OpenMetrics];

    fn run(self) -> CommandResult {
        let (session, id) = store::load_session_with_id(&self.file)?;
        let output = &self.format.output;
        output.print(&[id], || match self.format.get() {
            Text => Ok(text::session_text(&session)),
            format => session_data(&session, format),
        })
    }
}

/// A session in a format for programs.
pub(super) fn session_data(
    session: &Session,
    format: OutputFormat,
) -> Result<String, CommandFailure> {
    match format {
        Csv => Ok(csv::session_csv(session)?),
        OpenMetrics => Ok(openmetrics::session_metrics(session)),
        _ => pretty_json(session),
    }
}
