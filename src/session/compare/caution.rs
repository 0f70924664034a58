//! Reasons to doubt the metrics of a side.

use super::input::RepeatedRuns;
use crate::session::document::check::{CheckEvidence, EndedEarly};
use crate::session::document::{BenchmarkRun, RunState, Severity, Verdict};
use crate::session::stability;

/// Reasons to doubt the metrics of these runs; each code once.
pub(super) fn collect_cautions(group: &RepeatedRuns<'_>) -> Vec<Verdict> {
    let mut cautions: Vec<Verdict> = Vec::new();
    let verdicts = group.iter().flat_map(|run| &run.findings.verdicts);
    let severe = verdicts
        .filter(|verdict| verdict.severity > Severity::Note)
        .cloned();
    let unfinished = group.iter().filter_map(|run| unfinished_check(run));
    let unstable = stability::find_instability(group).map(CheckEvidence::Unstable);
    for caution in severe.chain(unfinished.chain(unstable).map(Verdict::from)) {
        if cautions.iter().all(|known| known.code != caution.code) {
            cautions.push(caution);
        }
    }
    cautions
}

fn unfinished_check(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let ended = EndedEarly {
        error: run.error.as_ref().map(|error| error.message.clone()),
    };
    match run.state {
        RunState::Finished => None,
        RunState::Failed => Some(CheckEvidence::Failed(ended)),
        RunState::Interrupted | RunState::Running => Some(CheckEvidence::Interrupted(ended)),
    }
}
