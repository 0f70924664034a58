//! Generates the tables of `docs/trust.md` from the checks' own descriptions.

use std::fmt::Write as _;

use super::text::severity_word;
use crate::session::checks::of_benchmarks::BENCHMARK_VERDICTS;
use crate::session::checks::{CheckRule, ProvokedBy, RULE_GROUPS};

/// All checks, in Markdown: those that apply to any run, by subject, then those of individual
/// benchmarks.
#[must_use]
pub fn verdict_tables() -> String {
    let mut text = String::new();
    for (group, rules) in RULE_GROUPS {
        let _ = writeln!(text, "### {group}\n");
        rules.iter().for_each(|rule| append_rule(&mut text, rule));
    }
    text.push_str("### Given by tests themselves\n\n| code | test | means |\n|---|---|---|\n");
    for known in BENCHMARK_VERDICTS {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            known.code, known.benchmarks, known.meaning
        );
    }
    text
}

fn append_rule(text: &mut String, rule: &CheckRule) {
    let _ = writeln!(
        text,
        "**`{}`** ({}). {}\n*When:* {}. *Do:* {}. *Provoked* {}.\n",
        rule.code,
        severity_word(rule.severity).to_lowercase(),
        rule.meaning,
        rule.condition,
        rule.advice,
        match rule.provoked {
            ProvokedBy::ByIntegrationTest(name) => format!("by the test `{name}`"),
            ProvokedBy::InVirtualMachine =>
                "in a virtual machine by `tests/guest/verdicts.sh`".to_owned(),
        }
    );
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    const TABLES_BEGIN: &str =
        "<!-- made from src/session/verdicts: DISKSCOPE_BLESS=1 cargo test -->\n";
    const TABLES_END: &str = "<!-- end -->\n";

    #[test]
    fn verdict_tables_in_docs_are_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/trust.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once(TABLES_BEGIN).unwrap();
        let (_, after) = rest.split_once(TABLES_END).unwrap();
        let current = format!(
            "{before}{TABLES_BEGIN}\n{}{TABLES_END}{after}",
            verdict_tables()
        );
        if std::env::var_os("DISKSCOPE_BLESS").is_some() {
            std::fs::write(path, &current).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap();
        assert!(
            written == current,
            "docs/trust.md is out of date: run DISKSCOPE_BLESS=1 cargo test the_tables_in"
        );
    }

    /// Whether a text provokes a verdict: it names the verdict as one that must be present.
    fn provokes_verdict(text: &str, code: &str) -> bool {
        text.contains(&format!("\"{code}\"")) || text.contains(&format!("/{code}\""))
    }

    #[test]
    fn every_verdict_is_provoked_by_named_test() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let read = |name: &str| std::fs::read_to_string(tests.join(name)).unwrap();
        let sources = ["paused", "real", "shared", "simulated"]
            .map(|name| read(&format!("verdicts/{name}.rs")));
        let script = read("guest/verdicts.sh");
        for rule in RULE_GROUPS.iter().flat_map(|(_, rules)| *rules) {
            match rule.provoked {
                ProvokedBy::ByIntegrationTest(name) => {
                    let begin = format!("\nfn {name}() {{");
                    let body = sources.iter().find_map(|source| {
                        let (_, rest) = source.split_once(&begin)?;
                        rest.split("\n#[test]").next()
                    });
                    let body = body.unwrap_or_else(|| panic!("there is no test {name}"));
                    assert!(
                        provokes_verdict(body, rule.code),
                        "{name} does not provoke {}",
                        rule.code
                    );
                }
                ProvokedBy::InVirtualMachine => {
                    let expected = |line: &str| {
                        line.starts_with("run ") && line.split(' ').any(|word| word == rule.code)
                    };
                    assert!(
                        script.lines().any(expected),
                        "nothing provokes {}",
                        rule.code
                    );
                }
            }
        }
    }

    /// Codes of verdicts in the sources: a lower-case word followed by a severity.
    fn collect_verdict_codes(directory: &Path, codes: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                collect_verdict_codes(&path, codes);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let source = std::fs::read_to_string(&path).unwrap();
                let program = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
                let parts: Vec<&str> = program.split('"').collect();
                let is_code = |word: &str| {
                    let letters = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
                    !word.is_empty() && word.chars().all(letters)
                };
                let followed = parts.windows(2).filter(|pair| {
                    let next = pair[1].trim_start_matches([',', ' ', '\n']);
                    is_code(pair[0]) && next.starts_with("Severity::")
                });
                codes.extend(followed.map(|pair| pair[0].to_owned()));
            }
        }
    }

    #[test]
    fn every_verdict_code_is_documented_and_used() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut codes = BTreeSet::new();
        for room in ["bench", "session"] {
            collect_verdict_codes(&sources.join(room), &mut codes);
        }
        assert!(codes.len() > 30, "{codes:?}");
        let tables = verdict_tables();
        for code in &codes {
            assert!(
                tables.contains(&format!("`{code}`")),
                "{code} is not documented: add it to session/verdicts/of_tests.rs"
            );
        }
        // Verdicts whose codes are composed at run time.
        let built = [
            "left-out",
            "advice-block-size",
            "advice-full-copy",
            "advice-queue-depth",
        ];
        for known in BENCHMARK_VERDICTS
            .iter()
            .filter(|known| !built.contains(&known.code))
        {
            assert!(codes.contains(known.code), "nobody gives {}", known.code);
        }
    }
}
