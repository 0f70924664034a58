//! Reasons to doubt the metrics of a side.

use super::input::RepeatedRuns;
use crate::session::document::check::Check;
use crate::session::document::{BenchmarkRun, RunState, Severity, Verdict};
use crate::session::stability;

/// Made by comparisons.
pub const FAILED: Check = Check::warning("failed", "A compared run ended with an error.");
/// Made by comparisons.
pub const INTERRUPTED: Check = Check::warning("interrupted", "A compared run was interrupted.");

/// Reasons to doubt the metrics of these runs; each code once.
pub(super) fn collect_cautions(group: &RepeatedRuns<'_>) -> Vec<Verdict> {
    let mut cautions: Vec<Verdict> = Vec::new();
    let verdicts = group.iter().flat_map(|run| &run.findings.verdicts);
    let severe = verdicts
        .filter(|verdict| verdict.severity > Severity::Note)
        .cloned();
    let unfinished = group.iter().filter_map(|run| unfinished_check(run));
    let unstable = stability::find_instability(group, None);
    for caution in severe.chain(unfinished).chain(unstable) {
        if cautions.iter().all(|known| known.code != caution.code) {
            cautions.push(caution);
        }
    }
    cautions
}

fn unfinished_check(run: &BenchmarkRun) -> Option<Verdict> {
    let check = match run.state {
        RunState::Finished => return None,
        RunState::Failed => FAILED,
        RunState::Interrupted | RunState::Running => INTERRUPTED,
    };
    let error = run.error.as_ref().map(|error| &error.message);
    Some(check.found(
        error.map_or_else(|| "the run did not finish".to_owned(), String::from),
        "repeat the run",
        serde_json::json!({ "error": error }),
    ))
}
