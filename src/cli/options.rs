//! Options that several commands have.

use std::time::Duration;

use clap::ArgMatches;

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

/// The value of an option that is a time to wait, if given: a bare number is seconds, as in the
/// interval of iostat and the runtime of fio.
pub(super) fn time_option(
    matches: &ArgMatches,
    name: &str,
) -> Result<Option<Duration>, CommandFailure> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    units::parse_time(text)
        .map(Some)
        .map_err(|error| CommandFailure::usage_error(format!("--{name} {text:?}: {error}")))
}
