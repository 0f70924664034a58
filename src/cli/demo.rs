//! `diskscope demo`: the interface on a recording that the program contains.

use std::io::{self, IsTerminal};

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::config;
use super::failure::{CommandFailure, CommandResult};
use super::interface;
use crate::tui;
use crate::tui::demo_content::DemoContent;

pub(super) fn command() -> Command {
    Command::new("demo")
        .about("Show the screens on a recording inside the program: nothing is measured or written")
        .arg(
            Arg::new("ascii")
                .long("ascii")
                .action(ArgAction::SetTrue)
                .help("draw with ASCII characters only"),
        )
        .arg(config::theme_argument())
        .after_help(
            "The recording was made in a virtual machine whose hard disk is limited to 120 requests \
             and 25 MB per second: a nightly copy slows a database down that writes to the same disk. \
             Space pauses, the arrow keys step, ? lists all keys.",
        )
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    if !io::stdout().is_terminal() {
        return Err(CommandFailure::usage_error(
            "the demo needs a terminal: see `diskscope --help`",
        ));
    }
    let options = interface::options_of_recording(matches)?;
    let content = DemoContent::load().map_err(CommandFailure::failed)?;
    interface::exit_of_ending(tui::demo(&options, content))
}
