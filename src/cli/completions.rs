//! `diskscope completions SHELL`: prints a shell's completion script.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use clap_complete::{Shell, generate};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::output::print_result;
use crate::bench::BENCHMARKS;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "To load it into the running shell: source <(diskscope completions bash)")]
pub(super) struct CompletionsArguments {
    /// the shell
    shell: Shell,
}

/// Prints the script for this definition of the command line.
pub(super) fn run(matches: &ArgMatches, program: Command) -> CommandResult {
    let arguments = CompletionsArguments::from_arg_matches(matches);
    let shell = arguments.map_err(CommandFailure::usage_error)?.shell;
    print_result(&completion_script(shell, program))?;
    Ok(ExitStatus::Success)
}

fn completion_script(shell: Shell, program: Command) -> String {
    let mut text = Vec::new();
    generate(shell, &mut add_value_hints(program), "diskscope", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Adds the benchmarks' names, and hints where files are expected.
fn add_value_hints(program: Command) -> Command {
    let tests = BENCHMARKS.iter().flat_map(|test| {
        let test = test.description();
        let names = std::iter::once(&test.name).chain(test.aliases);
        names.map(|name| PossibleValue::new(*name).help(test.summary))
    });
    let tests = PossibleValuesParser::new(tests);
    program
        .mut_subcommand("run", |run| {
            run.mut_arg("test", |arg| arg.value_parser(tests))
                .mut_arg("target", |arg| arg.value_hint(ValueHint::AnyPath))
        })
        .mut_args(with_value_hint)
        .mut_subcommands(|command| command.mut_args(with_value_hint))
}

/// Without a hint, the script for bash completes names of files as they are: blanks split them, and a
/// shell expands what else is in them. The hint that lets it quote them is `FilePath`.
fn with_value_hint(arg: Arg) -> Arg {
    match arg.get_value_hint() {
        _ if arg.is_positional() || !arg.get_action().takes_values() => arg,
        ValueHint::AnyPath => arg.value_hint(ValueHint::FilePath),
        ValueHint::Unknown => arg.value_hint(ValueHint::Other),
        _ => arg,
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::requirement::{Requirement, skip};

    #[test]
    fn completions_cover_every_command_and_benchmark() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = completion_script(shell, crate::cli::command());
            for command in crate::cli::command().get_subcommands() {
                assert!(
                    text.contains(command.get_name()),
                    "{shell:?}: {}",
                    command.get_name()
                );
            }
            // The generator for fish leaves out the values of positional arguments.
            for test in BENCHMARKS.iter().filter(|_| shell != Shell::Fish) {
                let name = test.description().name;
                assert!(text.contains(name), "{shell:?}: {name}");
            }
        }
    }

    #[test]
    fn bash_completion_quotes_file_names() {
        let script = completion_script(Shell::Bash, crate::cli::command());
        let files = script.matches("compgen -f").count();
        let quoted = script.matches("compopt -o filenames").count();
        assert_eq!(files, quoted);
        assert!(files > 10, "{files} options are files");
    }

    #[test]
    fn bash_completion_script_is_valid() {
        let script = completion_script(Shell::Bash, crate::cli::command());
        let checked = std::process::Command::new("bash")
            .args(["-n", "-c", &script])
            .status();
        match checked {
            Ok(status) => assert!(status.success()),
            Err(error) => skip(
                Requirement::Program,
                format!("bash cannot be started: {error}"),
            ),
        }
    }
}
