//! `diskscope show`: prints a saved session as text or JSON.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::failure::{CommandFailure, CommandResult, ExitStatus, session_load_failure};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::output::{converted, pretty_json, whole_destination};
use crate::files::output::NewFileAccess;
use crate::report::{csv, openmetrics, text};
use crate::session::document::Session;
use crate::session::store;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Json,
    OutputFormat::Csv,
    OutputFormat::OpenMetrics,
];

pub(super) fn command() -> Command {
    Command::new("show")
        .about("Print a saved session or the journal of an interrupted one")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("session file: document (.json) or journal (.journal)"),
        )
        .args(format_arguments(FORMATS))
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(CommandFailure::usage_error("show needs a FILE"));
    };
    let format = selected_format(matches, FORMATS)?;
    let (session, id) = store::load_session_with_id(path).map_err(session_load_failure)?;
    let mut output = whole_destination(matches, &[id], NewFileAccess::Umask)?;
    output.write(&match format {
        OutputFormat::Text => text::session_text(&session),
        format => session_data(&session, format)?,
    })?;
    Ok(ExitStatus::Success)
}

/// A session in a format for programs.
pub(super) fn session_data(
    session: &Session,
    format: OutputFormat,
) -> Result<String, CommandFailure> {
    match format {
        OutputFormat::Csv => converted(csv::session_csv(session)),
        OutputFormat::OpenMetrics => Ok(openmetrics::session_metrics(session)),
        _ => pretty_json(session),
    }
}
