//! What single requests prove: whose requests a device served while others waited.

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
    /// Whether requests of several processes were in flight at once.
    pub is_contended: bool,
    /// Share of each process in the time that the device served it.
    shares: BTreeMap<u32, f64>,
}

/// A request.
struct Span {
    begin: u64,
    end: u64,
    pid: Option<u32>,
    /// Whether a request of another process was in flight when it ended.
    is_waited_for: bool,
}

impl RequestEvidence {
    /// Sums requests up; `process_of` names the process of a thread.
    pub fn new(
        device: SafeText,
        requests: &[TracedRequest],
        process_of: impl Fn(u32) -> u32,
    ) -> Self {
        let mut known: BTreeMap<u32, u32> = BTreeMap::new();
        let span = |request: &TracedRequest| {
            // Whoever dirtied the pages is meant, not the thread that writes them back.
            let actor = request.dirtied_by.or(request.submitter);
            let tid = actor.map(|RequestActor { pid: tid, .. }| tid);
            Span {
                begin: request.timestamps.first_timestamp(),
                end: request.timestamps.completed,
                pid: tid.map(|tid| *known.entry(tid).or_insert_with(|| process_of(tid))),
                is_waited_for: false,
            }
        };
        let mut spans: Vec<Span> = requests.iter().map(span).collect();
        spans.sort_unstable_by_key(|it| it.end);
        mark_waited_for(&mut spans);
        let is_contended = spans.iter().any(|span| span.is_waited_for);
        Self {
            device,
            requests: requests.len() as u64,
            is_contended,
            shares: shares(&spans, is_contended),
        }
    }

    /// The share of a process in the time that the device served it while others waited; in all the time
    /// that it served, where nobody waited. A few large requests keep others waiting longer than many small
    /// ones.
    pub fn share_of(&self, pid: u32) -> f64 {
        self.shares.get(&pid).copied().unwrap_or(0.0)
    }
}

/// Marks the requests at whose end one of another process was in flight; they are in order of their ends.
fn mark_waited_for(spans: &mut [Span]) {
    // Of the requests that end later, the earliest begin by process.
    let mut begins: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for span in spans.iter_mut().rev() {
        let mut others = begins.iter().filter(|(pid, _)| **pid != span.pid);
        span.is_waited_for = others.any(|(_, begin)| *begin < span.end);
        let first = begins.entry(span.pid).or_insert(span.begin);
        *first = span.begin.min(*first);
    }
}

/// The share of each process, of contended requests in the time of those that are waited for.
fn shares(spans: &[Span], is_contended: bool) -> BTreeMap<u32, f64> {
    let mut times: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    let mut served_until = 0;
    for span in spans {
        if span.is_waited_for || !is_contended {
            let served = span.end.saturating_sub(span.begin.max(served_until));
            *times.entry(span.pid).or_default() += served;
        }
        served_until = span.end;
    }
    let all: u64 = times.values().sum();
    let share = |(pid, time): (Option<u32>, u64)| Some((pid?, time as f64 / all.max(1) as f64));
    times.into_iter().filter_map(share).collect()
}
