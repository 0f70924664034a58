//! `diskscope schema`: prints the JSON schema of a session.

use clap::Args;

use super::failure::CommandResult;
use super::options::OutputOption;
use super::subcommand::Arguments;

/// The schema. The tests compare it with the types of the document.
const SCHEMA: &str = include_str!("../../assets/session.schema.json");

/// Print the JSON schema of a session, as run --json and show --json write it
#[derive(Debug, Args)]
pub(super) struct SchemaArguments {
    #[command(flatten)]
    output: OutputOption,
}

impl Arguments for SchemaArguments {
    fn run(self) -> CommandResult {
        self.output.print(&[], || Ok(SCHEMA.to_owned()))
    }
}
