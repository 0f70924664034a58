//! The server of a FUSE or network file system does not answer.

use std::time::Duration;

use super::awaited_server::{self, AwaitedServer};
use crate::units;
use crate::why::analysis::{Analysis, Waiter};
use crate::why::blame::parties;
use crate::why::cause::{Cause, NotExamined, Severity};
use crate::why::evidence::{BLOCKED, BLOCKED_FOR, Evidence, Metric, WAITING_TASKS, count};
use crate::why::parties::{names, who_waits};
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "fuse-or-network-stalled",
    explains: &[],
    examine,
};

/// Sleep in one request from which the server does not answer; in a shorter window this fraction
/// of it, but not less than the last value.
const STALLED: Duration = Duration::from_secs(4);
const WHOLE_WINDOW: f64 = 0.7;
const LEAST: Duration = Duration::from_secs(2);
/// Requests that wait for a FUSE server.
const FUSE_WAITING: Metric = count(
    "fuse_waiting",
    "requests to FUSE servers waiting",
    "/sys/fs/fuse/connections",
);

fn examine(analysis: &Analysis<'_>) -> Examination {
    if !analysis.window.has_blocked_tasks() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let limit = STALLED
        .min(Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW))
        .max(LEAST);
    let waiters = analysis.waiters.iter();
    let stalled: Vec<&Waiter> = waiters
        .filter(|waiter| waiter.longest >= limit && !waiter.is_kernel_thread)
        .filter(|waiter| analysis.waits_for_server(waiter))
        .collect();
    let waiting = fuse_waiting(analysis).map(|it| it as f64);
    let Some(first) = stalled.first() else {
        let evidence = waiting.map(|it| Evidence::of_machine(FUSE_WAITING, it));
        return Examination::RuledOut(evidence.into_iter().collect());
    };
    let (server, remedy) = awaited_server::search(analysis, &stalled);
    let mut cause = analysis.cause(RULE.code, Severity::Critical).confirmed();
    cause.prove(&first.command, BLOCKED_FOR, first.longest_ns());
    cause.prove(&first.command, BLOCKED, first.blocked);
    cause.prove_of_machine(WAITING_TASKS, stalled.len() as f64);
    cause.prove_of_machine(FUSE_WAITING, waiting.filter(|count| *count > 0.0));
    cause.victims = parties(&stalled);
    cause.remedies = vec![remedy];
    tell(&mut cause, &stalled, &server);
    Examination::Found(vec![cause])
}

fn tell(cause: &mut Cause, stalled: &[&Waiter], server: &AwaitedServer) {
    let (place, candidates) = match server {
        AwaitedServer::Of(mount) => (format!("the server of {mount}"), String::new()),
        AwaitedServer::Among(mounts) => (
            "the server of a FUSE or network file system".to_owned(),
            awaited_server::alternatives(mounts),
        ),
    };
    let who = names(&cause.victims, stalled.len()).unwrap_or_default();
    let slept = units::format_latency(stalled.first().map_or(0.0, |it| it.longest_ns()));
    cause.sentence =
        format!("{who} waits for {place}, which has not answered for {slept}{candidates}.");
    let whose = match server {
        AwaitedServer::Of(mount) => mount.mount_point.as_str(),
        AwaitedServer::Among(_) => "a file system",
    };
    cause.headline = format!(
        "{}: the server of {whose} does not answer",
        who_waits(cause)
    );
}

/// Requests that wait for FUSE servers at the end of the window.
fn fuse_waiting(analysis: &Analysis<'_>) -> Option<u64> {
    let Some((_, facts)) = &analysis.window.facts else {
        let mounts = analysis.last().mounts.as_ref()?;
        return Some(mounts.iter().filter_map(|mount| mount.waiting).sum());
    };
    let connections = facts.fuse.as_ref()?;
    Some(connections.iter().filter_map(|it| it.waiting).sum())
}
