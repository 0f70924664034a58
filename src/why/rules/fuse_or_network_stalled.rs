//! The server of a FUSE or network file system does not answer.

use std::time::Duration;

use super::awaited_server;
use super::prelude::*;

/// Sleep in one request from which the server does not answer; in a shorter window this fraction
/// of it, but not less than the last value.
const STALLED: Duration = Duration::from_secs(4);
const WHOLE_WINDOW: f64 = 0.7;
const LEAST: Duration = Duration::from_secs(2);

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    if !analysis.window.has_blocked_tasks() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let whole = Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW);
    let limit = STALLED.min(whole).max(LEAST);
    let stalled = analysis.blocked(0.0).filter(|it| it.longest >= limit);
    let stalled = stalled.filter(|it| analysis.waits_for_server(it));
    let stalled: Vec<&Waiter> = stalled.collect();
    let waiting = fuse_waiting(analysis);
    let Some(first) = stalled.first() else {
        let evidence = waiting.map(|it| Evidence::of_machine(FUSE_WAITING, it));
        return Examination::RuledOut(evidence.into_iter().collect());
    };
    let server = awaited_server::search(analysis, &stalled);
    let mut cause = analysis.cause(Severity::Critical).confirmed();
    analysis.prove_sleep(&mut cause, first);
    suffer(&mut cause, &stalled);
    cause.prove_of_machine(WAITING_TASKS, stalled.len() as f64);
    cause.prove_of_machine(FUSE_WAITING, waiting.filter(|count| *count > 0.0));
    cause.remedies = server.remedies;
    let who = names(&cause.victims, stalled.len()).unwrap_or_default();
    let slept = units::format_latency(first.longest_ns());
    cause.sentence = format!(
        "{who} waits for {}, which has not answered for {slept}{}.",
        server.text, server.candidates
    );
    Examination::Found(vec![cause])
}

/// Requests that wait for FUSE servers at the end of the window.
fn fuse_waiting(analysis: &Analysis<'_>) -> Option<f64> {
    let waiting: u64 = match analysis.facts() {
        Some(facts) => facts
            .fuse
            .iter()
            .flatten()
            .filter_map(|it| it.waiting)
            .sum(),
        None => {
            let mounts = analysis.last.mounts.as_ref()?;
            mounts.iter().filter_map(|mount| mount.waiting).sum()
        }
    };
    Some(waiting as f64)
}
