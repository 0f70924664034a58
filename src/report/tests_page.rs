//! Generates `docs/tests.md` from the benchmarks' own descriptions.

use std::fmt::Write as _;

use crate::bench::{AnyParameter, BENCHMARKS, Description, ParameterValue};
use crate::drive::Target;

/// The page, in Markdown.
#[must_use]
pub fn benchmarks_page() -> String {
    let mut text = String::from(
        "# The tests\n\n\
         What each test does, how to read its chart, and what it costs. Written from the program's \
         own descriptions,\nwhich the launcher and `diskscope tests` show too. Defaults are those of \
         an ordinary drive; some depend on the target.\n\n\
         | test | other names | measures | writes |\n|---|---|---|---|\n",
    );
    for test in BENCHMARKS {
        let test = test.description();
        let _ = writeln!(
            text,
            "| [{0}](#{0}) | {1} | {2} | {3} |",
            test.name,
            test.aliases.join(", "),
            test.summary,
            if test.may_write { "yes" } else { "" }
        );
    }
    for test in BENCHMARKS {
        benchmark_section(&mut text, test.description());
    }
    text
}

fn benchmark_section(text: &mut String, test: &Description) {
    let _ = writeln!(
        text,
        "\n## {}\n\n{}\n",
        test.name,
        test.explanation.trim_end()
    );
    text.push_str("| parameter | default | meaning |\n|---|---|---|\n");
    for parameter in test.parameters {
        let _ = writeln!(
            text,
            "| `--{}` | {} | {} |",
            parameter.name(),
            default_text(*parameter),
            parameter.help()
        );
    }
    if !test.headline_metrics.is_empty() {
        let names: Vec<String> = test
            .headline_metrics
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let _ = writeln!(text, "\nFigures first: {}.", names.join(", "));
    }
    for chart in test.charts {
        let _ = writeln!(text, "\nChart: {}.", chart.title);
    }
}

fn default_text(parameter: &dyn AnyParameter) -> String {
    match parameter.default_value(&Target::example_drive()) {
        ParameterValue::Unset => String::new(),
        value => format!("`{value}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `DISKSCOPE_BLESS=1 cargo test` rewrites the page.
    #[test]
    fn benchmarks_page_in_docs_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tests.md");
        if std::env::var_os("DISKSCOPE_BLESS").is_some() {
            std::fs::write(path, benchmarks_page()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == benchmarks_page(),
            "docs/tests.md is out of date: run DISKSCOPE_BLESS=1 cargo test the_page_in"
        );
    }

    #[test]
    fn benchmarks_page_lists_every_benchmark_and_parameter() {
        let page = benchmarks_page();
        for test in BENCHMARKS {
            let test = test.description();
            assert!(page.contains(&format!("\n## {}\n", test.name)));
            for parameter in test.parameters {
                assert!(page.contains(&format!("`--{}`", parameter.name())));
            }
        }
    }
}
