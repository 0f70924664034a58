//! What the checks and the goals say of runs, as blocks.

use super::{Align, Block, Cell, Table, Tone, push_section};
use crate::report::goals;
use crate::report::words::severity_word;
use crate::session::document::{BenchmarkRun, Severity, SloResult, Verdict};
use crate::stats::sorting::SortList as _;

/// A verdict; `whose` follows its code, such as `, runs 1 and 3`.
fn verdict_block(verdict: &Verdict, whose: &str) -> Block {
    Block::Verdict {
        severity: verdict.severity,
        lead: format!(
            "{} {}{whose}",
            severity_word(verdict.severity),
            verdict.code
        ),
        sentence: verdict.evidence.to_string(),
        advice: verdict.advice.to_string(),
    }
}

fn error_block(run: &BenchmarkRun, whose: &str) -> Option<Block> {
    let error = run.error.as_ref()?;
    Some(Block::Verdict {
        severity: Severity::Invalid,
        lead: format!("FAILED{whose}"),
        sentence: error.message.to_string(),
        advice: error.advice.to_string(),
    })
}

/// The error that stopped the run and the checks of severity warning or invalid, the most severe first;
/// says so if there are none.
pub(super) fn problems(run: &BenchmarkRun) -> Vec<Block> {
    let verdicts = run.findings.verdicts_by_severity().into_iter();
    let grave = verdicts.filter(|verdict| verdict.severity > Severity::Note);
    let found = grave.map(|verdict| verdict_block(verdict, ""));
    checks_section(error_block(run, "").into_iter().chain(found).collect())
}

fn checks_section(mut found: Vec<Block>) -> Vec<Block> {
    if found.is_empty() {
        let passed = Cell {
            text: "no problems detected".to_owned(),
            tone: Tone::Good,
        };
        found.push(Block::Sentences(vec![passed]));
    }
    let mut blocks = Vec::new();
    push_section(&mut blocks, "Checks", found);
    blocks
}

/// Each error, and each check once with the numbers of the runs that it found something in.
pub(super) fn problems_of_repeats(runs: &[&BenchmarkRun]) -> Vec<Block> {
    let numbered = || {
        runs.iter()
            .enumerate()
            .map(|(index, run)| (index + 1, *run))
    };
    let errors =
        numbered().filter_map(|(number, run)| error_block(run, &format!(", run {number}")));
    let mut found: Vec<(&Verdict, Vec<String>)> = Vec::new();
    for (number, run) in numbered() {
        for verdict in run.findings.verdicts_by_severity() {
            match found.iter_mut().find(|(it, _)| it.code == verdict.code) {
                Some((worst, numbers)) => {
                    if verdict.severity > worst.severity {
                        *worst = verdict;
                    }
                    numbers.push(number.to_string());
                }
                None => found.push((verdict, vec![number.to_string()])),
            }
        }
    }
    found.sort_list_by_key(|(verdict, _)| std::cmp::Reverse(verdict.severity));
    let found = found.into_iter().map(|(verdict, numbers)| {
        let whose = match numbers.as_slice() {
            [one] => format!(", run {one}"),
            several if several.len() == runs.len() => ", all runs".to_owned(),
            several => format!(", runs {}", several.join(", ")),
        };
        verdict_block(verdict, &whose)
    });
    checks_section(errors.chain(found).collect())
}

/// Checks of severity note.
pub(super) fn notes(verdicts: &[Verdict]) -> Vec<Block> {
    let notes = verdicts.iter().filter(|it| it.severity == Severity::Note);
    let notes = notes.map(|verdict| verdict_block(verdict, "")).collect();
    let mut blocks = Vec::new();
    push_section(&mut blocks, "Notes", notes);
    blocks
}

/// Goals and whether they were met.
pub(super) fn goals(results: &[SloResult]) -> Vec<Block> {
    goals_section(results.iter().map(|goal| goal_row(goal, String::new())))
}

/// Goals of each run.
pub(super) fn goals_of_repeats(runs: &[&BenchmarkRun]) -> Vec<Block> {
    let each = runs.iter().enumerate().flat_map(|(index, run)| {
        let goals = run.findings.goals.iter();
        goals.map(move |goal| goal_row(goal, format!("run {}", index + 1)))
    });
    goals_section(each)
}

fn goal_row(goal: &SloResult, whose: String) -> Vec<Cell> {
    let (word, tone) = match goal.met {
        Some(true) => ("met", Tone::Good),
        Some(false) => ("MISSED", Tone::Trouble),
        None => ("not determined", Tone::Soft),
    };
    let status = Cell {
        text: word.to_owned(),
        tone,
    };
    let outcome = goals::outcome_text(goal).map(|outcome| format!("measured {outcome}"));
    let reason = goals::undetermined_reason(goal).unwrap_or_default();
    let outcome = outcome.unwrap_or_else(|| reason.to_owned());
    vec![
        goal.goal.to_string().into(),
        whose.into(),
        status,
        outcome.into(),
    ]
}

fn goals_section(rows: impl Iterator<Item = Vec<Cell>>) -> Vec<Block> {
    let rows: Vec<Vec<Cell>> = rows.collect();
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        let table = Table::new([("", Align::Left); 4], rows);
        push_section(&mut blocks, "Goals", vec![Block::Table(table)]);
    }
    blocks
}
