//! One benchmark in full, for `diskscope tests NAME` and `diskscope run NAME --help`.

use std::fmt::Write as _;

use clap::{Arg, Command};
use textwrap::{Options, fill};

use super::failure::CommandFailure;
use crate::bench::framework::metric_families;
use crate::bench::{
    self, AnyParameter, BENCHMARKS, Benchmark, Description, ParameterKind, ParameterValue,
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
    if let Some(benchmark) = bench::find_benchmark(name) {
        return Ok(benchmark);
    }
    let known = BENCHMARKS.iter().map(|it| it.description().name);
    let known: Vec<_> = known.collect();
    let nearest = bench::suggest_benchmark(name);
    let message = format!("there is no benchmark {name:?}{nearest}");
    let advice = format!("there are {}", known.join(", "));
    Err(CommandFailure::usage_error(message).with_advice(advice))
}

/// The default for an ordinary target; the form of the interface shows the one for the selected
/// target.
pub(super) fn default_value(parameter: &dyn AnyParameter) -> ParameterValue {
    parameter.default_value(&Target::example_drive())
}

/// The text about one benchmark. `run` is the definition of the command with the options of all.
pub(super) fn benchmark_help(run: Command, benchmark: &Description) -> String {
    let help = run
        .mut_args(|option| shown_option(option, benchmark))
        .before_help(explanation(benchmark))
        .after_help(format!(
            "Metrics:\n{}\n\nExample:\n  diskscope run {} {}",
            indented(&metric_families::describe(benchmark.metrics)),
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
            .value_name(value_name(parameter.kind()))
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
    let mut text = benchmark.name.to_owned();
    if !benchmark.aliases.is_empty() {
        let _ = write!(text, " ({})", benchmark.aliases.join(", "));
    }
    if benchmark.may_write {
        text.push_str("  WRITES");
    }
    let (summary, name) = (indented(benchmark.summary), benchmark.name);
    let _ = write!(
        text,
        "\n{summary}\n\nUsage: diskscope run {name} TARGET [OPTIONS]"
    );
    let headings = ["\n\nWhat it does:\n", "\n\nHow to read it:\n"].into_iter();
    let headings = headings.chain(std::iter::repeat("\n\n"));
    for (heading, paragraph) in headings.zip(benchmark.explanation.split("\n\n")) {
        text.push_str(heading);
        text.push_str(&indented(paragraph));
    }
    text
}

fn indented(paragraph: &str) -> String {
    let options = Options::new(WIDTH);
    fill(
        paragraph,
        options.initial_indent("  ").subsequent_indent("  "),
    )
}

/// The form of a value, in capitals.
fn value_name(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Size { .. } | ParameterKind::SizeOrRange { .. } => "SIZE",
        ParameterKind::Fraction => "PERCENT",
        ParameterKind::Duration | ParameterKind::NonZeroDuration | ParameterKind::Latency => "TIME",
        ParameterKind::Count { .. } | ParameterKind::Number { .. } => "N",
        ParameterKind::Rate => "RATE",
        ParameterKind::Position => "OFFSET",
        ParameterKind::Choice(_) => "WORD",
        ParameterKind::ChoiceOrPercent(_) => "WORD|PERCENT",
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

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn help_of_every_benchmark_has_its_options_with_defaults_and_fits_80_columns() {
        for benchmark in BENCHMARKS {
            let description = benchmark.description();
            let text = crate::cli::run::help_of(description);
            for parameter in description.parameters {
                assert!(text.contains(&format!("--{} ", parameter.name())), "{text}");
            }
            assert!(text.contains(&format!("Example:\n  diskscope run {} /", description.name)));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(WIDTH), "{text}");
        }
    }

    #[test]
    fn help_states_default_and_choices_of_an_option() {
        let benchmark = find_benchmark("random-write").unwrap();
        let text = crate::cli::run::help_of(benchmark.description());
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
