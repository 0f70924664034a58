//! What single requests prove: whose requests were served while others waited.

use std::collections::BTreeMap;

use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;
use crate::trace::requests::{RequestActor, TracedRequest};

/// Actors that are compared with each other, those with the most requests.
const MAX_ACTORS: usize = 12;

/// The traced requests of one device, summed up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestEvidence {
    /// The drive.
    pub device: SafeText,
    /// Requests that were traced.
    pub requests: u64,
    /// The processes, those with the most requests first.
    pub actors: Vec<ActorRequests>,
    /// For each pair of actors: how many requests of the second completed while those of the first
    /// waited.
    pub ahead: Vec<RequestsAhead>,
}

/// The requests of one process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ActorRequests {
    /// Process id.
    pub pid: u32,
    /// Number of requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their mean latency in nanoseconds.
    pub mean_latency_ns: f64,
}

/// Requests of one process that were served while those of another waited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestsAhead {
    /// Process id of the one that waited.
    pub victim: u32,
    /// Process id of the one that was served.
    pub culprit: u32,
    /// Requests of the culprit.
    pub requests: u64,
    /// Requests of all.
    pub of: u64,
}

impl RequestEvidence {
    /// Sums requests up; `process_of` names the process of a thread.
    #[must_use]
    pub fn new(
        device: SafeText,
        requests: &[TracedRequest],
        process_of: impl Fn(u32) -> u32,
    ) -> Self {
        // Whoever dirtied the pages is meant, not the thread that writes them back.
        let actor = |request: &TracedRequest| request.dirtied_by.or(request.submitter);
        let mut by_process: BTreeMap<u32, Vec<(u64, u64, u64)>> = BTreeMap::new();
        let mut known: BTreeMap<u32, u32> = BTreeMap::new();
        for request in requests {
            let Some(RequestActor { pid: tid, .. }) = actor(request) else {
                continue;
            };
            let pid = *known.entry(tid).or_insert_with(|| process_of(tid));
            let times = request.timestamps;
            let line = (times.first_timestamp(), times.completed, request.bytes);
            by_process.entry(pid).or_default().push(line);
        }
        let mut actors: Vec<ActorRequests> = by_process.iter().map(actor_requests).collect();
        actors.sort_list_by_key(|actor| std::cmp::Reverse(actor.requests));
        actors.truncate(MAX_ACTORS);
        let completions: BTreeMap<u32, Vec<u64>> = by_process
            .iter()
            .map(|(pid, lines)| {
                let mut ends: Vec<u64> = lines.iter().map(|(_, end, _)| *end).collect();
                ends.sort_unstable();
                (*pid, ends)
            })
            .collect();
        let ahead = actors
            .iter()
            .flat_map(|victim| requests_ahead(victim.pid, &by_process, &completions))
            .collect();
        Self {
            device,
            requests: requests.len() as u64,
            actors,
            ahead,
        }
    }

    /// The share of a process in the requests.
    #[must_use]
    pub fn share_of(&self, pid: u32) -> Option<f64> {
        let own = self.actors.iter().find(|actor| actor.pid == pid)?;
        (self.requests > 0).then(|| own.requests as f64 / self.requests as f64)
    }

    /// The share of the culprit in the requests that completed while the victim's waited.
    #[must_use]
    pub fn share_ahead(&self, victim: u32, culprit: u32) -> Option<f64> {
        let mut pairs = self.ahead.iter();
        let pair = pairs.find(|pair| pair.victim == victim && pair.culprit == culprit)?;
        (pair.of > 0).then(|| pair.requests as f64 / pair.of as f64)
    }
}

fn actor_requests((pid, lines): (&u32, &Vec<(u64, u64, u64)>)) -> ActorRequests {
    let latency: u64 = lines
        .iter()
        .map(|(begin, end, _)| end.saturating_sub(*begin))
        .sum();
    ActorRequests {
        pid: *pid,
        requests: lines.len() as u64,
        bytes: lines.iter().map(|(_, _, bytes)| bytes).sum(),
        mean_latency_ns: latency as f64 / lines.len().max(1) as f64,
    }
}

/// How many requests of each process completed while one of the victim was outstanding.
fn requests_ahead(
    victim: u32,
    by_process: &BTreeMap<u32, Vec<(u64, u64, u64)>>,
    completions: &BTreeMap<u32, Vec<u64>>,
) -> Vec<RequestsAhead> {
    let own = by_process.get(&victim).map_or(&[][..], Vec::as_slice);
    let counts: Vec<(u32, u64)> = completions
        .iter()
        .filter(|(pid, _)| **pid != victim)
        .map(|(pid, ends)| {
            let within = |begin: u64, end: u64| {
                let first = ends.partition_point(|at| *at <= begin);
                let last = ends.partition_point(|at| *at <= end);
                (last - first.min(last)) as u64
            };
            (
                *pid,
                own.iter().map(|(begin, end, _)| within(*begin, *end)).sum(),
            )
        })
        .collect();
    let of = counts.iter().map(|(_, count)| count).sum();
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(culprit, requests)| RequestsAhead {
            victim,
            culprit,
            requests,
            of,
        })
        .collect()
}
