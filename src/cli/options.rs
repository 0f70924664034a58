//! Options that several commands have.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};

use super::failure::CommandFailure;
use crate::units;

/// The value of an option of type duration, if given.
pub(super) fn duration_option(
    matches: &ArgMatches,
    name: &str,
) -> Result<Option<Duration>, CommandFailure> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    units::parse_duration(text)
        .map(Some)
        .map_err(|error| CommandFailure::usage_error(format!("--{name} {text:?}: {error}")))
}

/// The `--json` option of commands that print a list.
pub(super) fn json_switch() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("print JSON instead of text")
}
