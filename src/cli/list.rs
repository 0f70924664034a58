//! `diskscope tests`: lists the benchmarks, or shows one in full.

use std::fmt::Write as _;

use clap::{Arg, ArgMatches, Command};
use serde_json::json;
use textwrap::{Options, fill};

use super::benchmark_help::{benchmark_help, default_value};
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::output::{json_lines, pretty_json, whole_destination};
use crate::bench::{
    self, AnyParameter, BENCHMARKS, BenchmarkGroup, Description, ParameterKind, ParameterValue,
};
use crate::files::output::NewFileAccess;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] =
    &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Ndjson];

pub(super) fn command() -> Command {
    Command::new("tests")
        .visible_alias("benchmarks")
        .about("List the benchmarks, or show one in full: what it does, its options, an example")
        .arg(
            Arg::new("name")
                .value_name("BENCHMARK")
                .help("show this benchmark in full"),
        )
        .args(format_arguments(FORMATS))
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let format = selected_format(matches, FORMATS)?;
    let mut output = whole_destination(matches, &[], NewFileAccess::Umask)?;
    let all = || BENCHMARKS.iter().map(|benchmark| benchmark.description());
    let text = match (matches.get_one::<String>("name"), format) {
        (Some(name), OutputFormat::Text) => benchmark_help(find_described(name)?),
        (Some(name), OutputFormat::Json) => pretty_json(&benchmark_json(find_described(name)?))?,
        (Some(name), _) => json_lines([benchmark_json(find_described(name)?)])?,
        (None, OutputFormat::Text) => list_text(),
        (None, OutputFormat::Json) => pretty_json(&all().map(benchmark_json).collect::<Vec<_>>())?,
        (None, _) => json_lines(all().map(benchmark_json))?,
    };
    output.write(&text)?;
    Ok(ExitStatus::Success)
}

/// The description of a benchmark, or the failure that names the nearest.
pub(super) fn find_described(name: &str) -> Result<&'static Description, CommandFailure> {
    bench::find_benchmark(name)
        .map(|benchmark| benchmark.description())
        .ok_or_else(|| unknown_benchmark(name))
}

/// The failure for a name that no benchmark has.
pub(super) fn unknown_benchmark(name: &str) -> CommandFailure {
    let known: Vec<_> = BENCHMARKS
        .iter()
        .map(|benchmark| benchmark.description().name)
        .collect();
    CommandFailure::usage_error(format!(
        "there is no benchmark {name:?}{}",
        bench::suggest_benchmark(name)
    ))
    .with_advice(format!("there are {}", known.join(", ")))
}

/// All benchmarks by group, with their options and defaults.
fn list_text() -> String {
    let mut text = String::new();
    for group in BenchmarkGroup::ALL {
        let mut members = BENCHMARKS
            .iter()
            .map(|benchmark| benchmark.description())
            .filter(|description| description.group == group)
            .peekable();
        if members.peek().is_some() {
            let _ = writeln!(text, "{}:", group.title());
        }
        for description in members {
            append_benchmark(&mut text, description);
        }
    }
    text.push_str("one benchmark in full: diskscope tests NAME\n");
    text
}

fn append_benchmark(text: &mut String, benchmark: &Description) {
    let aliases = match benchmark.aliases {
        [] => String::new(),
        aliases => format!(" ({})", aliases.join(", ")),
    };
    let writes = if benchmark.may_write { "  WRITES" } else { "" };
    let _ = writeln!(
        text,
        "  {}{aliases}{writes}\n    {}",
        benchmark.name, benchmark.summary
    );
    let options: Vec<String> = benchmark
        .parameters
        .iter()
        .map(|parameter| match default_value(*parameter) {
            ParameterValue::Unset => format!("--{}", parameter.name()),
            value => format!("--{}\u{a0}{value}", parameter.name()),
        })
        .collect();
    let wrapping = Options::new(80)
        .initial_indent("      ")
        .subsequent_indent("      ")
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let options = fill(&options.join(" "), wrapping).replace('\u{a0}', " ");
    let _ = writeln!(text, "{options}\n");
}

fn benchmark_json(benchmark: &Description) -> serde_json::Value {
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
        "name": benchmark.name,
        "aliases": benchmark.aliases,
        "group": benchmark.group.title(),
        "summary": benchmark.summary,
        "explanation": benchmark.explanation,
        "writes": benchmark.may_write,
        "example": format!("diskscope run {} {}", benchmark.name, benchmark.example),
        "parameters": benchmark.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn kind_name(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Size { .. } => "size",
        ParameterKind::SizeOrRange { .. } => "size-or-range",
        ParameterKind::Fraction => "share",
        ParameterKind::Duration | ParameterKind::NonZeroDuration | ParameterKind::Latency => {
            "duration"
        }
        ParameterKind::Count { .. } => "count",
        ParameterKind::Number { .. } => "number",
        ParameterKind::Rate => "rate",
        ParameterKind::Position => "position",
        ParameterKind::Choice(_) => "word",
        ParameterKind::ChoiceOrPercent(_) => "word-or-percent",
    }
}
