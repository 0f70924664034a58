//! One benchmark in full, for `diskscope tests NAME` and `diskscope run NAME --help`.

use std::fmt::Write as _;

use textwrap::{Options, fill};

use crate::bench::framework::metric_families;
use crate::bench::framework::{ENGINE, SCRATCH_SIZE};
use crate::bench::{AnyParameter, Description, ParameterKind, ParameterValue};
use crate::drive::Target;
use crate::units;

/// Width of the text in columns.
const WIDTH: usize = 80;
/// Column at which the description of an option begins.
const HELP_COLUMN: usize = 32;
/// A space at which no line ends.
const NO_BREAK_SPACE: &str = "\u{a0}";

/// Options of every run that are not parameters: names, and what they do.
const RUN_OPTIONS: [(&str, &str); 6] = [
    (
        "--goal GOAL",
        "a service goal such as iops>=1000 or p95<=500ms; repeatable",
    ),
    ("--repeat N", "number of runs, one after the other"),
    (
        "--json FILE",
        "write the session document to this file; - is stdout",
    ),
    ("--format FORMAT", "text, json, csv or openmetrics"),
    (
        "-o, --output FILE",
        "write the result to this file instead of stdout",
    ),
    (
        "--overwrite PATH",
        "consent to overwrite the data on TARGET; must equal TARGET",
    ),
];

/// The default for an ordinary target; the form of the interface shows the one for the selected
/// target.
pub(super) fn default_value(parameter: &dyn AnyParameter) -> ParameterValue {
    parameter.default_value(&Target::example_drive())
}

/// The text about one benchmark.
pub(super) fn benchmark_help(benchmark: &Description) -> String {
    let mut text = benchmark.name.to_owned();
    if !benchmark.aliases.is_empty() {
        let _ = write!(text, " ({})", benchmark.aliases.join(", "));
    }
    text.push_str(if benchmark.may_write {
        "  WRITES\n"
    } else {
        "\n"
    });
    append_indented(&mut text, benchmark.summary, 2);
    let _ = writeln!(
        text,
        "\nUsage: diskscope run {} TARGET [OPTIONS]",
        benchmark.name
    );
    let mut paragraphs = benchmark.explanation.split("\n\n");
    for heading in ["What it does", "How to read it"] {
        let _ = writeln!(text, "\n{heading}:");
        if let Some(paragraph) = paragraphs.next() {
            append_indented(&mut text, paragraph, 2);
        }
    }
    for paragraph in paragraphs {
        text.push('\n');
        append_indented(&mut text, paragraph, 2);
    }
    append_options(&mut text, benchmark);
    let _ = writeln!(text, "\nMetrics:");
    append_indented(&mut text, &metric_families::describe(benchmark.metrics), 2);
    let _ = writeln!(
        text,
        "\nExample:\n  diskscope run {} {}",
        benchmark.name, benchmark.example
    );
    text
}

fn append_options(text: &mut String, benchmark: &Description) {
    let _ = writeln!(text, "\nOptions of this benchmark:");
    for parameter in benchmark.parameters {
        let default = match default_value(*parameter) {
            ParameterValue::Unset => String::new(),
            value => format!(" [default: {value}]"),
        };
        let choices = choices_text(parameter.kind());
        // Choices and default are not divided between lines.
        let values: Vec<String> = [choices, default]
            .iter()
            .filter(|values| values.len() < WIDTH - HELP_COLUMN)
            .map(|values| format!(" {}", values.trim().replace(' ', NO_BREAK_SPACE)))
            .collect();
        append_option(
            text,
            &option_term(*parameter),
            &format!("{}{}", parameter.help(), values.concat().trim_end()),
        );
    }
    let _ = writeln!(text, "\nOptions of every run:");
    for parameter in [&ENGINE as &dyn AnyParameter, &SCRATCH_SIZE] {
        append_option(text, &option_term(parameter), parameter.help());
    }
    for (term, help) in RUN_OPTIONS {
        append_option(text, term, help);
    }
}

fn option_term(parameter: &dyn AnyParameter) -> String {
    format!("--{} {}", parameter.name(), value_name(parameter.kind()))
}

/// The form of a value, in capitals.
fn value_name(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Size { .. } => "SIZE",
        ParameterKind::SizeOrRange { .. } => "SIZE[-SIZE]",
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
fn choices_text(kind: ParameterKind) -> String {
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

fn append_option(text: &mut String, term: &str, help: &str) {
    let first = format!("  {term:<width$}", width = HELP_COLUMN - 2);
    let rest = " ".repeat(HELP_COLUMN);
    let first = match first.len() > HELP_COLUMN {
        true => format!("  {term}  "),
        false => first,
    };
    let options = Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&rest);
    let _ = writeln!(text, "{}", fill(help, options).replace(NO_BREAK_SPACE, " "));
}

fn append_indented(text: &mut String, paragraph: &str, indent: usize) {
    let indent = " ".repeat(indent);
    let options = Options::new(WIDTH)
        .initial_indent(&indent)
        .subsequent_indent(&indent);
    let _ = writeln!(text, "{}", fill(paragraph, options));
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::bench::BENCHMARKS;

    #[test]
    fn help_of_every_benchmark_has_its_options_with_defaults_and_fits_80_columns() {
        for benchmark in BENCHMARKS {
            let description = benchmark.description();
            let text = benchmark_help(description);
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
        let benchmark = crate::bench::find_benchmark("random-write").unwrap();
        let text = benchmark_help(benchmark.description());
        for part in [
            "random-write (rndwrite, randwrite)  WRITES",
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
