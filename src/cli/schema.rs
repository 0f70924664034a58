//! `diskscope schema`: prints the JSON schema of a session.

use clap::{ArgMatches, Command};

use super::failure::{CommandResult, ExitStatus};
use super::format::output_option;
use super::output::{ResultOutput, pretty_json};
use crate::session;

pub(super) fn command() -> Command {
    Command::new("schema")
        .about("Print the JSON schema of a session, as run --json and show --json write it")
        .arg(output_option())
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let output = ResultOutput::from_options(matches, &[])?;
    output.deliver(&pretty_json(&session::session_schema())?)?;
    Ok(ExitStatus::Success)
}
