//! The benchmarks as text and as JSON: all in a list, or one in full, for `tests` and `run --help`.

use std::fmt::Write as _;

use clap::{Arg, Command};
use serde_json::json;
use textwrap::{Options, WordSplitter, fill};

use super::failure::CommandFailure;
use crate::bench::framework::metric_families;
use crate::bench::{
    self, AnyParameter, BENCHMARKS, Benchmark, BenchmarkGroup, Description, ParameterKind,
    ParameterValue,
};
use crate::drive::Target;
use crate::units;

/// Width of the text in columns.
const WIDTH: usize = 80;
/// Heading of all parameters in the help of `run`.
pub(super) const PARAMETERS_HEADING: &str =
    "Parameters of the benchmarks: `diskscope run BENCHMARK --help` lists its own";

/// The benchmark of this name, or the failure that names the nearest.
pub(super) fn find_benchmark(name: &str) -> Result<&'static dyn Benchmark, CommandFailure> {
    bench::find_benchmark(name).ok_or_else(|| {
        let known = BENCHMARKS.iter().map(|it| it.description().name);
        let known: Vec<_> = known.collect();
        let nearest = bench::suggest_benchmark(name);
        let message = format!("there is no benchmark {name:?}{nearest}");
        let advice = format!("there are {}", known.join(", "));
        CommandFailure::usage_error(message).with_advice(advice)
    })
}

/// All benchmarks by group, with their options and defaults.
pub(super) fn list_text() -> String {
    let mut text = String::new();
    for group in BenchmarkGroup::ALL {
        let all = BENCHMARKS.iter().map(|benchmark| benchmark.description());
        let mut members = all.filter(|it| it.group == group).peekable();
        if members.peek().is_some() {
            let _ = writeln!(text, "{}:", group.title());
        }
        for benchmark in members {
            let (title, summary) = (title_of(benchmark), benchmark.summary);
            let _ = writeln!(text, "  {title}\n    {summary}");
            let options = benchmark.parameters.iter().map(|it| option_text(*it));
            let options = wrapped(&options.collect::<Vec<_>>().join(" "), "      ");
            let _ = writeln!(text, "{}\n", options.replace('\u{a0}', " "));
        }
    }
    text.push_str("one benchmark in full: diskscope tests NAME\n");
    text
}

/// Its name, its aliases, and whether it writes.
fn title_of(benchmark: &Description) -> String {
    let aliases = match benchmark.aliases {
        [] => String::new(),
        aliases => format!(" ({})", aliases.join(", ")),
    };
    let writes = if benchmark.may_write { "  WRITES" } else { "" };
    format!("{}{aliases}{writes}", benchmark.name)
}

/// An option with its default, which no line break separates.
fn option_text(parameter: &dyn AnyParameter) -> String {
    match default_value(parameter) {
        ParameterValue::Unset => format!("--{}", parameter.name()),
        value => format!("--{}\u{a0}{value}", parameter.name()),
    }
}

/// The default for an ordinary target; the form of the interface shows the one for the selected
/// target.
fn default_value(parameter: &dyn AnyParameter) -> ParameterValue {
    parameter.default_value(&Target::example_drive())
}

fn wrapped(paragraph: &str, indent: &str) -> String {
    let wrapping = Options::new(WIDTH)
        .initial_indent(indent)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    fill(paragraph, wrapping)
}

/// A benchmark with its parameters.
pub(super) fn benchmark_json(benchmark: &Description) -> serde_json::Value {
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

/// The form of a value, in JSON, and in capitals in the help.
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

/// The accepted values, where they are limited.
fn values_text(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Choice(words) => format!(" [{}]", words.join(", ")),
        ParameterKind::ChoiceOrPercent(words) => format!(" [{}, 0 to 100]", words.join(", ")),
        ParameterKind::Count { min, max: u64::MAX } => format!(" [{min} or more]"),
        ParameterKind::Count { min, max } => format!(" [{min} to {max}]"),
        ParameterKind::Number { min, max } => format!(" [{min} to {max}]"),
        ParameterKind::Size { min } | ParameterKind::SizeOrRange { min } if min > 1 => {
            format!(" [{} or more]", units::format_exact_size(min))
        }
        ParameterKind::Position => " [such as 10% or 5GB]".to_owned(),
        _ => String::new(),
    }
}

/// The text about one benchmark: its own options, then those of every run. `run` is the definition of the
/// command with the options of all.
pub(super) fn benchmark_help(run: Command, benchmark: &Description) -> String {
    let help = run
        .mut_args(|option| shown_option(option, benchmark))
        .before_help(explanation(benchmark))
        .after_help(format!(
            "Metrics:\n{}\n\nExample:\n  diskscope run {} {}",
            wrapped(&metric_families::describe(benchmark.metrics), "  "),
            benchmark.name,
            benchmark.example
        ))
        .help_template("{before-help}{all-args}{after-help}")
        .term_width(WIDTH)
        .render_help();
    help.to_string()
}

/// An option as the help of this benchmark shows it.
fn shown_option(option: Arg, benchmark: &Description) -> Arg {
    let mut own = benchmark.parameters.iter().enumerate();
    if let Some((place, parameter)) = own.find(|(_, it)| option.get_id() == it.name()) {
        let default = match default_value(*parameter) {
            ParameterValue::Unset => String::new(),
            value => format!(" [default: {value}]"),
        };
        let values = values_text(parameter.kind());
        return option
            .value_name(kind_name(parameter.kind()).to_uppercase())
            .help(format!("{}{values}{default}", parameter.help()))
            .help_heading("Options of this benchmark")
            .display_order(place);
    }
    let is_of_others = option.get_help_heading() == Some(PARAMETERS_HEADING);
    if is_of_others || option.is_positional() || option.get_id() == "help" {
        return option.hide(true);
    }
    option.help_heading("Options of every run")
}

/// What stands before the options.
fn explanation(benchmark: &Description) -> String {
    let mut text = format!(
        "{}\n{}\n\nUsage: diskscope run {} TARGET [OPTIONS]",
        title_of(benchmark),
        wrapped(benchmark.summary, "  "),
        benchmark.name
    );
    let headings = ["\n\nWhat it does:\n", "\n\nHow to read it:\n"].into_iter();
    let headings = headings.chain(std::iter::repeat("\n\n"));
    for (heading, paragraph) in headings.zip(benchmark.explanation.split("\n\n")) {
        text.push_str(heading);
        text.push_str(&wrapped(paragraph, "  "));
    }
    text
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn help_of_every_benchmark_has_its_options_with_defaults_and_fits_80_columns() {
        for benchmark in BENCHMARKS {
            let description = benchmark.description();
            let text = benchmark_help(crate::cli::run::definition(), description);
            for parameter in description.parameters {
                assert!(text.contains(&format!("--{}", parameter.name())), "{text}");
            }
            assert!(text.contains(&format!("Example:\n  diskscope run {} /", description.name)));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(WIDTH), "{text}");
        }
    }

    #[test]
    fn help_states_default_and_choices_of_an_option() {
        let benchmark = find_benchmark("random-write").unwrap();
        let text = benchmark_help(crate::cli::run::definition(), benchmark.description());
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        for part in [
            "random-write (rndwrite, randwrite) WRITES",
            "[1 to 4096]",
            "[default: 32]",
            "dsync, sync]",
            "What it does:",
            "How to read it:",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
