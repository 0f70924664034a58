//! `diskscope` without a command: the terminal interface.

use std::io::{self, IsTerminal};

use clap::{Arg, ArgAction, ArgMatches};

use super::{Exit, Failure, Result};

pub(super) fn arguments() -> [Arg; 3] {
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    [
        switch("ascii", "draw with ASCII characters only"),
        switch("mouse", "take mouse clicks and the wheel too"),
        Arg::new("interval")
            .long("interval")
            .value_name("DURATION")
            .default_value("1s")
            .help("time between two samples of the Live screen"),
    ]
}

pub(super) fn run(_matches: &ArgMatches) -> Result {
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "the interface needs a terminal: see `diskscope --help`",
        ));
    }
    Ok(Exit::Done)
}
