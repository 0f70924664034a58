//! The server of a FUSE or network file system does not answer.

use std::time::Duration;

use super::awaited_server::AwaitedServer;
use super::prelude::*;

/// Sleep in one request from which the server does not answer; in a shorter window this fraction
/// of it, but not less than the last value.
const STALLED: Duration = Duration::from_secs(4);
const WHOLE_WINDOW: f64 = 0.7;
const LEAST: Duration = Duration::from_secs(2);

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    if !analysis.window.has_blocked_tasks() {
        return Err(NotExamined::NotRecorded);
    }
    let whole = Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW);
    let limit = STALLED.min(whole).max(LEAST);
    let stalled = analysis.blocked(0.0).filter(|it| it.longest >= limit);
    let stalled = stalled.filter(|it| analysis.waits_for_server(it));
    let stalled: Vec<&Waiter> = stalled.collect();
    let Some(first) = stalled.first() else {
        return Ok(Vec::new());
    };
    let server = AwaitedServer::search(analysis, &stalled);
    let mut cause = analysis.proven(Severity::Critical);
    analysis.prove_sleep(&mut cause, first);
    suffer(&mut cause, &stalled);
    let count = stalled.len() as f64;
    cause
        .evidence
        .push(Evidence::of_machine(WAITING_TASKS, count));
    let waiting = evidence(analysis).into_iter();
    cause.evidence.extend(waiting.filter(|it| it.value > 0.0));
    cause.remedies = server.remedies;
    let who = names(&cause.victims, stalled.len(), "");
    let slept = units::format_latency(first.longest_ns());
    cause.sentence = format!(
        "{who} waits for {}, which has not answered for {slept}{}.",
        server.text, server.candidates
    );
    Ok(vec![cause])
}

/// Requests that wait for FUSE servers at the end of the window.
pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let counted = analysis.facts().and_then(|facts| facts.fuse.as_ref());
    let waiting = counted.map(|all| all.iter().filter_map(|it| it.waiting).sum::<u64>() as f64);
    known_values([(FUSE_WAITING, waiting)])
}
