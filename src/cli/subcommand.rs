//! What a subcommand is: its arguments, its formats and its function.

use clap::builder::ArgPredicate;
use clap::{ArgMatches, Args, Command};

use super::failure::{CommandFailure, CommandResult};
use super::options::{OutputFormat, choice};

/// The arguments of a subcommand, and what it does.
pub(super) trait Arguments: Args {
    /// Formats of `--format`, the default first; empty if it has no such option.
    const FORMATS: &'static [OutputFormat] = &[];

    /// Executes the command.
    fn run(self) -> CommandResult;
}

/// The groups in which the help lists the subcommands, in listing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandGroup {
    Watch,
    Measure,
    Results,
    Setup,
}

impl CommandGroup {
    pub(super) const ALL: [Self; 4] = [Self::Watch, Self::Measure, Self::Results, Self::Setup];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Watch => "What happens on this machine",
            Self::Measure => "How good a drive is",
            Self::Results => "Results of earlier runs",
            Self::Setup => "The program itself",
        }
    }
}

/// A subcommand.
pub(super) struct Subcommand {
    pub(super) group: CommandGroup,
    pub(super) name: &'static str,
    /// Formats of `--format`, the default first; empty if it has no such option.
    pub(super) formats: &'static [OutputFormat],
    /// Whether it may wait for devices, or for file systems with files that the user names or that the
    /// program keeps, any of which may never respond; writes outputs, during which signals are held
    /// back; or traces, which has to be ended whatever ends the program.
    pub(super) may_block: bool,
    pub(super) define: fn(Command) -> Command,
    pub(super) run: fn(&ArgMatches) -> CommandResult,
}

impl Subcommand {
    pub(super) const fn new<A: Arguments>(group: CommandGroup, name: &'static str) -> Self {
        Self {
            group,
            name,
            formats: A::FORMATS,
            may_block: true,
            define: A::augment_args,
            run: run_parsed::<A>,
        }
    }

    /// The definition for clap.
    pub(super) fn command(&self) -> Command {
        let command = (self.define)(Command::new(self.name));
        if self.formats.is_empty() {
            return command;
        }
        let has_switch = command.get_arguments().any(|it| it.get_id() == "json");
        let mut formats = self.formats.iter().copied();
        let json = formats
            .find(|it| has_switch && matches!(it, OutputFormat::Json | OutputFormat::Ndjson));
        command.mut_arg("format", |format| {
            let format = format.value_parser(choice(self.formats, OutputFormat::word));
            let given = ArgPredicate::Equals("true".into());
            format.default_value_if("json", given, json.map(OutputFormat::word))
        })
    }
}

/// Executes what was parsed.
pub(super) fn run_parsed<A: Arguments>(matches: &ArgMatches) -> CommandResult {
    A::from_arg_matches(matches)
        .map_err(CommandFailure::usage_error)?
        .run()
}
