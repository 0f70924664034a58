//! `diskscope tests`: lists the benchmarks.

use std::fmt::Write as _;

use clap::{ArgMatches, Command};
use serde_json::json;

use super::failure::{CommandResult, ExitStatus};
use super::options::json_switch;
use super::output::{pretty_json as pretty, print_result};
use crate::bench::{AnyParameter, BENCHMARKS, Description, ParameterKind, ParameterValue};
use crate::drive::Target;

pub(super) fn command() -> Command {
    Command::new("tests")
        .about("List the benchmarks: what each measures, whether it writes, its parameters")
        .arg(json_switch())
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let descriptions = || BENCHMARKS.iter().map(|test| test.description());
    if matches.get_flag("json") {
        let tests: Vec<_> = descriptions().map(benchmark_json).collect();
        print_result(&pretty(&tests)?)?;
    } else {
        let text: Vec<String> = descriptions().map(benchmark_text).collect();
        print_result(&text.join("\n"))?;
    }
    Ok(ExitStatus::Success)
}

fn benchmark_text(test: &Description) -> String {
    let aliases = match test.aliases {
        [] => String::new(),
        aliases => format!(" ({})", aliases.join(", ")),
    };
    let writes = if test.may_write { "  WRITES" } else { "" };
    let mut text = format!("{}{aliases}{writes}\n  {}\n", test.name, test.summary);
    for parameter in test.parameters {
        let default = match default_value(*parameter) {
            ParameterValue::Unset => String::new(),
            value => format!(" [{value}]"),
        };
        let _ = writeln!(
            text,
            "    --{:<14} {}{default}",
            parameter.name(),
            parameter.help()
        );
    }
    text
}

/// The default for an ordinary target; the form in the TUI shows the one for the selected target.
fn default_value(parameter: &dyn AnyParameter) -> ParameterValue {
    parameter.default_value(&Target::example_drive())
}

fn benchmark_json(test: &Description) -> serde_json::Value {
    let parameter = |parameter: &&dyn AnyParameter| {
        json!({
            "name": parameter.name(),
            "kind": kind_name(parameter.kind()),
            "choices": parameter.kind().words(),
            "default": default_value(*parameter).to_json(),
            "help": parameter.help(),
        })
    };
    json!({
        "name": test.name,
        "aliases": test.aliases,
        "summary": test.summary,
        "explanation": test.explanation,
        "writes": test.may_write,
        "parameters": test.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn kind_name(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Size { .. } => "size",
        ParameterKind::SizeOrRange { .. } => "size-or-range",
        ParameterKind::Fraction => "share",
        ParameterKind::Duration | ParameterKind::NonZeroDuration => "duration",
        ParameterKind::Count { .. } => "count",
        ParameterKind::Number { .. } => "number",
        ParameterKind::Rate => "rate",
        ParameterKind::Position => "position",
        ParameterKind::Choice(_) => "word",
        ParameterKind::ChoiceOrPercent(_) => "word-or-percent",
    }
}
