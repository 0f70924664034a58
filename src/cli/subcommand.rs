//! What a subcommand is: its arguments, its formats and its function.

use clap::builder::ArgPredicate;
use clap::{ArgMatches, Args, Command};

use super::failure::{CommandFailure, CommandResult};
use super::options::OutputFormat::{self, Json, Ndjson};
use super::options::choice;

/// The arguments of a subcommand, and what it does.
pub(super) trait Arguments: Args {
    /// Formats of `--format`, the default first; empty if it has no such option.
    const FORMATS: &'static [OutputFormat] = &[];

    /// Executes the command.
    fn run(self) -> CommandResult;
}

/// The titles of the groups in which the help lists the subcommands, in listing order.
pub(super) const GROUPS: [&str; 4] = [WATCH, MEASURE, RESULTS, SETUP];
pub(super) const WATCH: &str = "What happens on this machine";
pub(super) const MEASURE: &str = "How good a drive is";
pub(super) const RESULTS: &str = "Results of earlier runs";
pub(super) const SETUP: &str = "The program itself";

/// A subcommand.
pub(super) struct Subcommand {
    /// One of [`GROUPS`].
    pub(super) group: &'static str,
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
    pub(super) const fn new<A: Arguments>(group: &'static str, name: &'static str) -> Self {
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
        let json = formats.find(|it| has_switch && matches!(it, Json | Ndjson));
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
