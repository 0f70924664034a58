//! `diskscope tests`: lists the benchmarks, or shows one in full.

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;
use textwrap::{Options, fill};

use super::benchmark_help::{default_value, find_benchmark};
use super::failure::{CommandResult, ExitStatus};
use super::options::{
    FormatOption,
    OutputFormat::{self, Json, Ndjson, Text},
};
use super::output::{json_lines, pretty_json};
use super::run::help_of;
use super::subcommand::Arguments;
use crate::bench::{
    AnyParameter, BENCHMARKS, BenchmarkGroup, Description, ParameterKind, ParameterValue,
};
use crate::files::output::NewFileAccess;

/// List the benchmarks, or show one in full: what it does, its options, an example
#[derive(Debug, Args)]
#[command(visible_alias = "benchmarks")]
pub(super) struct TestsArguments {
    /// show this benchmark in full
    #[arg(value_name = "BENCHMARK")]
    name: Option<String>,
    #[command(flatten)]
    format: FormatOption,
}

impl Arguments for TestsArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Json, Ndjson];

    fn run(self) -> CommandResult {
        let mut output = self.format.output.whole(&[], NewFileAccess::Umask)?;
        let one = self.name.as_deref().map(find_benchmark).transpose()?;
        let one = one.map(|benchmark| benchmark.description());
        let all = || BENCHMARKS.iter().map(|benchmark| benchmark.description());
        let text = match (one, self.format.get()) {
            (Some(one), Text) => help_of(one),
            (Some(one), Json) => pretty_json(&benchmark_json(one))?,
            (Some(one), _) => json_lines([benchmark_json(one)])?,
            (None, Text) => list_text(),
            (None, Json) => pretty_json(&all().map(benchmark_json).collect::<Vec<_>>())?,
            (None, _) => json_lines(all().map(benchmark_json))?,
        };
        output.write(&text)?;
        Ok(ExitStatus::Success)
    }
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
