//! `diskscope show`: prints a saved session as text or JSON.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::failure::{CommandFailure, CommandResult, ExitStatus, session_load_failure};
use super::options::json_switch;
use super::output::{pretty_json, print_result};
use crate::report::text;
use crate::session::store;

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
        .arg(json_switch())
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(CommandFailure::usage_error("show needs a FILE"));
    };
    let session = store::load_session(path).map_err(session_load_failure)?;
    let shown = if matches.get_flag("json") {
        pretty_json(&session)?
    } else {
        text::session_text(&session)
    };
    print_result(&shown)?;
    Ok(ExitStatus::Success)
}
