//! What single requests prove: whose requests were served while others waited.

use std::collections::BTreeMap;

use crate::files::safe_text::SafeText;
use crate::trace::requests::{RequestActor, TracedRequest};

/// The traced requests of one device by process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestEvidence {
    /// The drive.
    pub device: SafeText,
    /// Requests that were traced.
    pub requests: u64,
    /// Begin and end of each request, by the process that caused it, in order of the ends.
    by_process: BTreeMap<u32, Vec<(u64, u64)>>,
    /// Share of each process in the time that the device served it.
    shares: BTreeMap<u32, f64>,
}

/// A request.
struct Span {
    begin: u64,
    end: u64,
    pid: Option<u32>,
}

impl RequestEvidence {
    /// Sums requests up; `process_of` names the process of a thread.
    pub fn new(
        device: SafeText,
        requests: &[TracedRequest],
        process_of: impl Fn(u32) -> u32,
    ) -> Self {
        let mut known: BTreeMap<u32, u32> = BTreeMap::new();
        let mut span = |request: &TracedRequest| {
            // Whoever dirtied the pages is meant, not the thread that writes them back.
            let actor = request.dirtied_by.or(request.submitter);
            let tid = actor.map(|RequestActor { pid: tid, .. }| tid);
            Span {
                begin: request.timestamps.first_timestamp(),
                end: request.timestamps.completed,
                pid: tid.map(|tid| *known.entry(tid).or_insert_with(|| process_of(tid))),
            }
        };
        let mut spans: Vec<Span> = requests.iter().map(&mut span).collect();
        spans.sort_unstable_by_key(|it| it.end);
        let mut by_process: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for Span { begin, end, pid } in &spans {
            if let Some(pid) = pid {
                by_process.entry(*pid).or_default().push((*begin, *end));
            }
        }
        Self {
            device,
            requests: requests.len() as u64,
            by_process,
            shares: shares(&spans),
        }
    }

    /// The share of a process in the time that the device served it while others waited; in all the time
    /// that it served, where nobody waited. A few large requests keep others waiting longer than many small
    /// ones.
    pub fn share_of(&self, pid: u32) -> Option<f64> {
        self.shares.get(&pid).copied()
    }

    /// The share of the culprit in the requests of others that completed while the victim's waited.
    pub fn share_ahead(&self, victim: u32, culprit: u32) -> Option<f64> {
        let waiting = self.by_process.get(&victim)?;
        let served_meanwhile = |spans: &[(u64, u64)]| -> usize {
            let completed_by = |at: u64| spans.partition_point(|(_, end)| *end <= at);
            let within =
                |(begin, end): &(u64, u64)| completed_by(*end) - completed_by(*begin.min(end));
            waiting.iter().map(within).sum()
        };
        let others = self.by_process.iter().filter(|(pid, _)| **pid != victim);
        let of: usize = others.map(|(_, spans)| served_meanwhile(spans)).sum();
        let ahead = served_meanwhile(self.by_process.get(&culprit)?);
        (of > 0).then(|| ahead as f64 / of as f64)
    }
}

/// The share of each process; the requests are in order of their ends.
fn shares(spans: &[Span]) -> BTreeMap<u32, f64> {
    let are_waited_for = others_wait(spans);
    let contended = are_waited_for.contains(&true);
    let mut times: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    let mut served_until = 0;
    for (span, is_waited_for) in spans.iter().zip(are_waited_for) {
        if is_waited_for || !contended {
            let served = span.end.saturating_sub(span.begin.max(served_until));
            *times.entry(span.pid).or_default() += served;
        }
        served_until = span.end;
    }
    let all: u64 = times.values().sum();
    let share = |(pid, time): (Option<u32>, u64)| Some((pid?, time as f64 / all.max(1) as f64));
    times.into_iter().filter_map(share).collect()
}

/// Whether a request of another process was in flight when each of these ended.
fn others_wait(spans: &[Span]) -> Vec<bool> {
    // Of the requests that end later: the earliest begin, whose it is, and the earliest of all others.
    let mut first: (Option<u32>, u64) = (None, u64::MAX);
    let mut of_others = u64::MAX;
    let mut wait = vec![false; spans.len()];
    for (span, waits) in spans.iter().zip(&mut wait).rev() {
        let earliest = if span.pid == first.0 {
            of_others
        } else {
            first.1
        };
        *waits = earliest < span.end;
        if span.pid == first.0 {
            first.1 = first.1.min(span.begin);
        } else if span.begin < first.1 {
            of_others = first.1;
            first = (span.pid, span.begin);
        } else {
            of_others = of_others.min(span.begin);
        }
    }
    wait
}
