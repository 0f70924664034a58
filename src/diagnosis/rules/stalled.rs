//! The server of a FUSE or network file system does not answer.

use std::time::Duration;

use super::awaited_server;
use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, Waiter};
use crate::diagnosis::blame::parties;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};

/// Sleep in one request from which the server does not answer; in a shorter window this fraction
/// of it, but not less than the last value.
const STALLED: Duration = Duration::from_secs(4);
const WHOLE_WINDOW: f64 = 0.7;
const LEAST: Duration = Duration::from_secs(2);

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    if !analysis.window.has_blocked_tasks() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let limit = STALLED
        .min(Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW))
        .max(LEAST);
    let stalled: Vec<&Waiter> = analysis
        .waiters
        .iter()
        .filter(|waiter| {
            waiter.longest >= limit && !waiter.is_kernel_thread && analysis.waits_for_server(waiter)
        })
        .collect();
    let Some(first) = stalled.first() else {
        let evidence =
            fuse_waiting(analysis).map(|it| Measurement::of_machine(Quantity::FuseWaiting, it));
        return Examination::RuledOut(evidence.into_iter().collect());
    };
    let (server, remedy) = awaited_server::search(analysis, &stalled);
    let detail = CauseDetail::Stalled { server };
    let mut cause = Cause::new(detail, Severity::Critical, analysis.begin());
    cause.certainty = Certainty::Confirmed;
    let slept = first.longest.as_nanos() as f64;
    cause.evidence = vec![
        Measurement::of(&first.command, Quantity::BlockedFor, slept),
        Measurement::of(&first.command, Quantity::BlockedTime, first.blocked),
        Measurement::of_machine(Quantity::WaitingTasks, stalled.len() as f64),
    ];
    cause.evidence.extend(
        fuse_waiting(analysis)
            .filter(|count| *count > 0.0)
            .map(|count| Measurement::of_machine(Quantity::FuseWaiting, count)),
    );
    cause.victims = parties(&stalled);
    cause.remedies = vec![remedy];
    Examination::Problem(vec![cause])
}

/// Requests that wait for FUSE servers at the end of the window.
fn fuse_waiting(analysis: &Analysis<'_>) -> Option<f64> {
    let Some((_, facts)) = &analysis.window.facts else {
        let mounts = analysis.last().mounts.as_ref()?;
        let counts = mounts.iter().filter_map(|mount| mount.waiting);
        return Some(counts.sum::<u64>() as f64);
    };
    let connections = facts.fuse.as_ref()?;
    let counts = connections.iter().filter_map(|it| it.waiting);
    Some(counts.sum::<u64>() as f64)
}
