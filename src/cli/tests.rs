//! `diskscope tests`: what can be run.

use std::fmt::Write as _;

use clap::{ArgMatches, Command};
use serde_json::json;

use super::{Exit, Result, json as pretty, json_switch, print};
use crate::bench::{Description, Kind, Parameter, TESTS, Value};
use crate::drive::Target;

pub(super) fn command() -> Command {
    Command::new("tests")
        .about("List the tests: what each measures, whether it writes, its parameters")
        .arg(json_switch())
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let descriptions = || TESTS.iter().map(|test| test.description());
    if matches.get_flag("json") {
        let tests: Vec<_> = descriptions().map(as_json).collect();
        print(&pretty(&tests)?)?;
    } else {
        let text: Vec<String> = descriptions().map(as_text).collect();
        print(&text.join("\n"))?;
    }
    Ok(Exit::Done)
}

fn as_text(test: &Description) -> String {
    let aliases = match test.aliases {
        [] => String::new(),
        aliases => format!(" ({})", aliases.join(", ")),
    };
    let writes = if test.writes { "  WRITES" } else { "" };
    let mut text = format!("{}{aliases}{writes}\n  {}\n", test.name, test.summary);
    for parameter in test.parameters {
        let default = match default_of(parameter) {
            Value::Unset => String::new(),
            value => format!(" [{value}]"),
        };
        let _ = writeln!(
            text,
            "    --{:<14} {}{default}",
            parameter.name, parameter.help
        );
    }
    text
}

/// The default on an ordinary target; the form shows the one for the target at hand.
fn default_of(parameter: &Parameter) -> Value {
    (parameter.default)(&Target::ordinary())
}

fn as_json(test: &Description) -> serde_json::Value {
    let parameter = |parameter: &Parameter| {
        let choices = match parameter.kind {
            Kind::Word(words) | Kind::WordOrPercent(words) => json!(words),
            _ => serde_json::Value::Null,
        };
        json!({
            "name": parameter.name,
            "kind": kind_word(parameter.kind),
            "choices": choices,
            "default": default_of(parameter).to_json(),
            "help": parameter.help,
        })
    };
    json!({
        "name": test.name,
        "aliases": test.aliases,
        "summary": test.summary,
        "explanation": test.explanation,
        "writes": test.writes,
        "parameters": test.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Size { .. } => "size",
        Kind::SizeOrRange { .. } => "size-or-range",
        Kind::Share => "share",
        Kind::Duration | Kind::LimitDuration => "duration",
        Kind::Count { .. } => "count",
        Kind::Number { .. } => "number",
        Kind::Rate => "rate",
        Kind::Position => "position",
        Kind::Word(_) => "word",
        Kind::WordOrPercent(_) => "word-or-percent",
    }
}
