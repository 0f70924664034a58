//! `diskscope` without a subcommand: the terminal interface. `diskscope demo`: the interface on a recording
//! that the program contains.

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;

use super::config::{self, IntervalOption, ThemeOption};
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::subcommand::Arguments;
use crate::tui;
use crate::tui::demo_content::DemoContent;
use crate::tui::{InterfaceError, InterfaceOptions, LoopEnd};

/// What every command that opens a screen has.
#[derive(Debug, Args)]
pub(super) struct ScreenOptions {
    /// draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    theme: ThemeOption,
}

impl ScreenOptions {
    fn with(
        &self,
        interval: Option<Duration>,
        mouse: bool,
    ) -> Result<InterfaceOptions, CommandFailure> {
        let config = config::effective(interval, self.theme.theme)?;
        Ok(InterfaceOptions {
            ascii: self.ascii,
            mouse,
            interval: config.interval,
            theme: config.theme,
            preferences: config.preferences(),
        })
    }

    /// How a recording is shown: it sets its own pace, and no command that shows one takes the mouse.
    pub(super) fn for_recording(&self) -> Result<InterfaceOptions, CommandFailure> {
        self.with(Some(Duration::from_secs(1)), false)
    }
}

/// The options without a subcommand.
#[derive(Debug, Args)]
pub(super) struct InterfaceArguments {
    #[command(flatten)]
    screen: ScreenOptions,
    /// use the mouse wheel; the terminal then selects text only with Shift
    #[arg(long)]
    mouse: bool,
    #[command(flatten)]
    interval: IntervalOption,
}

impl Arguments for InterfaceArguments {
    fn run(self) -> CommandResult {
        check_terminal("the interface")?;
        let options = self.screen.with(self.interval.interval, self.mouse)?;
        exit_of_ending(tui::run(&options))
    }
}

/// Show the screens on a recording inside the program: nothing is measured or written
#[derive(Debug, Args)]
#[command(
    after_help = "The recording was made in a virtual machine whose hard disk is limited to 120 requests \
    and 25 MB per second: a nightly copy slows a database down that writes to the same disk. \
    Space pauses, the arrow keys step, ? lists all keys."
)]
pub(super) struct DemoArguments {
    #[command(flatten)]
    screen: ScreenOptions,
}

impl Arguments for DemoArguments {
    fn run(self) -> CommandResult {
        check_terminal("the demo")?;
        let options = self.screen.for_recording()?;
        let content = DemoContent::load().map_err(CommandFailure::failed)?;
        exit_of_ending(tui::demo(&options, content))
    }
}

fn check_terminal(what: &str) -> Result<(), CommandFailure> {
    if io::stdout().is_terminal() {
        return Ok(());
    }
    let message = format!("{what} needs a terminal: see `diskscope --help`");
    Err(CommandFailure::usage_error(message))
}

/// Converts the way in which the interface ended to an exit status.
pub(super) fn exit_of_ending(ending: Result<LoopEnd, InterfaceError>) -> CommandResult {
    match ending.map_err(CommandFailure::failed)? {
        LoopEnd::Quit => Ok(ExitStatus::Success),
        LoopEnd::Signal(_) => Ok(ExitStatus::Interrupted),
        LoopEnd::InputClosed => Ok(ExitStatus::Failed),
    }
}
