//! `diskscope` without a subcommand: the terminal interface.

use std::io::{self, IsTerminal};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};

use super::config;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::pace::interval_option;
use crate::config::Config;
use crate::nearest;
use crate::tui;
use crate::tui::{InterfaceError, InterfaceOptions, LoopEnd};
use crate::ui::theme::ThemeName;

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
        Arg::new("interval")
            .long("interval")
            .value_name("DURATION")
            .default_value("1s")
            .help("time between two samples of the Live screen; a bare number is seconds"),
        theme_option(),
    ]
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    if !io::stdout().is_terminal() {
        return Err(CommandFailure::usage_error(
            "the interface needs a terminal: see `diskscope --help`",
        ));
    }
    let config = config::load()?;
    let options = InterfaceOptions {
        ascii: matches.get_flag("ascii"),
        mouse: matches.get_flag("mouse"),
        interval: match is_on_command_line(matches, "interval") {
            true => interval_option(matches)?,
            false => config.interval.value,
        },
        theme: selected_theme(matches, &config)?,
        preferences: config.preferences(),
    };
    exit_of_ending(tui::run(&options))
}

/// The option of the colours.
pub(super) fn theme_option() -> Arg {
    Arg::new("theme")
        .long("theme")
        .value_name("THEME")
        .help(format!(
            "colours: {}",
            ThemeName::ALL.map(ThemeName::word).join(", ")
        ))
}

/// The theme of the command line, else that of the configuration.
pub(super) fn selected_theme(
    matches: &ArgMatches,
    config: &Config,
) -> Result<ThemeName, CommandFailure> {
    let Some(word) = matches.get_one::<String>("theme") else {
        return Ok(config.theme.value);
    };
    let words = ThemeName::ALL.map(ThemeName::word);
    let known = ThemeName::ALL
        .into_iter()
        .find(|theme| theme.word() == word);
    known.ok_or_else(|| {
        CommandFailure::usage_error(format!(
            "--theme {word:?}: there is no such theme{}",
            nearest::suggestion(word, words)
        ))
        .with_advice(format!("themes are {}", words.join(", ")))
    })
}

/// Whether an option with a default was given.
pub(super) fn is_on_command_line(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(ValueSource::CommandLine)
}

/// Converts the way in which the interface ended to an exit status.
pub(super) fn exit_of_ending(ending: Result<LoopEnd, InterfaceError>) -> CommandResult {
    match ending.map_err(CommandFailure::failed)? {
        LoopEnd::Quit => Ok(ExitStatus::Success),
        LoopEnd::Signal(_) => Ok(ExitStatus::Interrupted),
        LoopEnd::InputClosed | LoopEnd::Panicked => Ok(ExitStatus::Failed),
    }
}
