//! `diskscope schema`: prints the JSON schema of a session.

use clap::{ArgMatches, Command};

use super::failure::{CommandResult, ExitStatus};
use super::format::output_option;
use super::output::whole_destination;
use crate::files::output::NewFileAccess;

/// The schema. The tests compare it with the types of the document.
const SCHEMA: &str = include_str!("../../assets/session.schema.json");

pub(super) fn command() -> Command {
    Command::new("schema")
        .about("Print the JSON schema of a session, as run --json and show --json write it")
        .arg(output_option())
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let mut output = whole_destination(matches, &[], NewFileAccess::Umask)?;
    output.write(SCHEMA)?;
    Ok(ExitStatus::Success)
}
