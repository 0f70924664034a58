//! `diskscope` without a command: the terminal interface.

use std::io::{self, IsTerminal};

use clap::{Arg, ArgAction, ArgMatches};

use super::pace::interval;
use super::{Exit, Failure, Result};
use crate::runtime::{self, Ending, InterfaceError, Options};

pub(super) fn arguments() -> [Arg; 3] {
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    [
        switch("ascii", "draw with ASCII characters only"),
        switch(
            "mouse",
            "take the mouse wheel too: the terminal then selects text only with Shift",
        ),
        Arg::new("interval")
            .long("interval")
            .value_name("DURATION")
            .default_value("1s")
            .help("time between two samples of the Live screen"),
    ]
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "the interface needs a terminal: see `diskscope --help`",
        ));
    }
    let options = Options {
        ascii: matches.get_flag("ascii"),
        mouse: matches.get_flag("mouse"),
        interval: interval(matches)?,
    };
    end(runtime::run(&options))
}

/// What the end of the interface means for the exit status.
pub(super) fn end(ending: std::result::Result<Ending, InterfaceError>) -> Result {
    match ending.map_err(Failure::failed)? {
        Ending::Quit => Ok(Exit::Done),
        Ending::Signal(_) => Ok(Exit::Interrupted),
        Ending::InputClosed | Ending::Panicked => Ok(Exit::Failed),
    }
}
