//! `diskscope` without a subcommand: the terminal interface.

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};

use super::config;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use crate::tui;
use crate::tui::{InterfaceError, InterfaceOptions, LoopEnd};

pub(super) fn interface_arguments() -> [Arg; 4] {
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
            "use the mouse wheel; the terminal then selects text only with Shift",
        ),
        config::interval_argument(),
        config::theme_argument(),
    ]
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    if !io::stdout().is_terminal() {
        return Err(CommandFailure::usage_error(
            "the interface needs a terminal: see `diskscope --help`",
        ));
    }
    let config = config::effective(matches)?;
    let options = InterfaceOptions {
        ascii: matches.get_flag("ascii"),
        mouse: matches.get_flag("mouse"),
        interval: config.interval,
        theme: config.theme,
        preferences: config.preferences(),
    };
    exit_of_ending(tui::run(&options))
}

/// How a recording is shown: it sets its own pace, and no command that shows one takes the mouse.
pub(super) fn options_of_recording(
    matches: &ArgMatches,
) -> Result<InterfaceOptions, CommandFailure> {
    let config = config::effective(matches)?;
    Ok(InterfaceOptions {
        ascii: matches.get_flag("ascii"),
        mouse: false,
        interval: Duration::from_secs(1),
        theme: config.theme,
        preferences: config.preferences(),
    })
}

/// Converts the way in which the interface ended to an exit status.
pub(super) fn exit_of_ending(ending: Result<LoopEnd, InterfaceError>) -> CommandResult {
    match ending.map_err(CommandFailure::failed)? {
        LoopEnd::Quit => Ok(ExitStatus::Success),
        LoopEnd::Signal(_) => Ok(ExitStatus::Interrupted),
        LoopEnd::InputClosed => Ok(ExitStatus::Failed),
    }
}
