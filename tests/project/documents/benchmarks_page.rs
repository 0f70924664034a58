//! Generates `docs/tests.md` from the benchmarks' own descriptions.

use std::fmt::Write as _;

use diskscope::bench::{AnyParameter, BENCHMARKS, Description, ParameterValue};
use diskscope::drive::Target;

/// A parameter that at least this many benchmarks have with the same default and meaning is in the
/// table of common parameters.
const MIN_COMMON_USES: usize = 4;

/// The page, in Markdown.
fn benchmarks_page() -> String {
    let mut text = String::from(
        "# Benchmarks\n\n\
         What each benchmark measures, how to read its chart, and what it costs. Generated from the \
         program's own\ndescriptions, which the launcher and `diskscope tests` show too. Defaults are \
         those of an ordinary drive; some\ndepend on the target.\n\n\
         | benchmark | aliases | measures | writes |\n|---|---|---|---|\n",
    );
    for benchmark in BENCHMARKS {
        let benchmark = benchmark.description();
        let _ = writeln!(
            text,
            "| [{0}](#{0}) | {1} | {2} | {3} |",
            benchmark.name,
            benchmark.aliases.join(", "),
            benchmark.summary,
            if benchmark.may_write { "yes" } else { "" }
        );
    }
    let common = common_rows();
    text.push_str(
        "\n## Common parameters\n\nEach benchmark lists which of them it has.\n\n\
         | parameter | default | meaning |\n|---|---|---|\n",
    );
    common.iter().for_each(|row| text.push_str(row));
    for benchmark in BENCHMARKS {
        benchmark_section(&mut text, benchmark.description(), &common);
    }
    text
}

/// The rows of the parameters that many benchmarks have, in the order of the first that has them.
/// Of several defaults of one parameter the most frequent is common.
fn common_rows() -> Vec<String> {
    let mut uses: Vec<(&str, String, usize)> = Vec::new();
    let parameters = BENCHMARKS
        .iter()
        .flat_map(|benchmark| benchmark.description().parameters.iter());
    for parameter in parameters {
        let row = parameter_row(*parameter);
        match uses.iter_mut().find(|(_, known, _)| *known == row) {
            Some((.., count)) => *count += 1,
            None => uses.push((parameter.name(), row, 1)),
        }
    }
    let most = |name: &str| {
        let same = uses.iter().filter(|(other, ..)| *other == name);
        same.map(|(.., count)| *count).max().unwrap_or(0)
    };
    let common = uses
        .iter()
        .filter(|(name, _, count)| *count >= MIN_COMMON_USES && *count == most(name));
    common.map(|(_, row, _)| row.clone()).collect()
}

fn parameter_row(parameter: &dyn AnyParameter) -> String {
    format!(
        "| `--{}` | {} | {} |\n",
        parameter.name(),
        default_text(parameter),
        parameter.help()
    )
}

fn benchmark_section(text: &mut String, benchmark: &Description, common: &[String]) {
    let _ = writeln!(
        text,
        "\n## {}\n\n{}\n",
        benchmark.name,
        benchmark.explanation.trim_end()
    );
    let (shared, own): (Vec<&dyn AnyParameter>, Vec<&dyn AnyParameter>) = benchmark
        .parameters
        .iter()
        .copied()
        .partition(|parameter| common.contains(&parameter_row(*parameter)));
    if !own.is_empty() {
        text.push_str("| parameter | default | meaning |\n|---|---|---|\n");
        own.iter()
            .for_each(|parameter| text.push_str(&parameter_row(*parameter)));
        text.push('\n');
    }
    append_list(
        text,
        "[Common parameters](#common-parameters)",
        shared
            .iter()
            .map(|parameter| format!("`--{}`", parameter.name())),
    );
    append_list(
        text,
        "Headline metrics",
        benchmark
            .headline_metrics
            .iter()
            .map(|name| format!("`{name}`")),
    );
    for chart in benchmark.charts {
        let _ = writeln!(text, "\nChart: {}.", chart.title);
    }
}

/// Appends a paragraph such as `Headline metrics: a, b.`; nothing if the list is empty.
fn append_list(text: &mut String, heading: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    let _ = writeln!(text, "{heading}: {}.", items.join(", "));
}

fn default_text(parameter: &dyn AnyParameter) -> String {
    match parameter.default_value(&Target::example_drive()) {
        ParameterValue::Unset => String::new(),
        value => format!("`{value}`"),
    }
}

/// `DISKSCOPE_BLESS=1 cargo test` rewrites the page.
#[test]
fn benchmarks_page_in_docs_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tests.md");
    if std::env::var_os(crate::documents::BLESS_VARIABLE).is_some() {
        std::fs::write(path, benchmarks_page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == benchmarks_page(),
        "docs/tests.md is out of date: run DISKSCOPE_BLESS=1 cargo test benchmarks_page_in"
    );
}

#[test]
fn benchmarks_page_lists_every_benchmark_and_parameter() {
    let page = benchmarks_page();
    let sections: Vec<&str> = page.split("\n## ").collect();
    for benchmark in BENCHMARKS {
        let benchmark = benchmark.description();
        let heading = format!("{}\n", benchmark.name);
        let section = sections.iter().find(|it| it.starts_with(&heading)).unwrap();
        for parameter in benchmark.parameters {
            let name = format!("`--{}`", parameter.name());
            assert!(section.contains(&name), "{heading}{name}");
        }
    }
    assert!(page.matches("| `--window-begin` |").count() < 4);
}
