//! `diskscope show`: a saved session as text or JSON.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::{Exit, Failure, Result, json, json_switch, not_loaded, print};
use crate::report::text;
use crate::session::store;

pub(super) fn command() -> Command {
    Command::new("show")
        .about("Print a saved session, or the journal of one that was cut off")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("a session: a document or a journal"),
        )
        .arg(json_switch())
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("show needs a FILE"));
    };
    let session = store::load(path).map_err(not_loaded)?;
    let shown = if matches.get_flag("json") {
        json(&session)?
    } else {
        text::session(&session)
    };
    print(&shown)?;
    Ok(Exit::Done)
}
