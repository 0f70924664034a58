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
    /// Time of all requests together, in nanoseconds.
    time: u64,
    /// Begin and end of each request, by the process that caused it, in order of the ends.
    by_process: BTreeMap<u32, Vec<(u64, u64)>>,
}

impl RequestEvidence {
    /// Sums requests up; `process_of` names the process of a thread.
    pub fn new(
        device: SafeText,
        requests: &[TracedRequest],
        process_of: impl Fn(u32) -> u32,
    ) -> Self {
        let mut by_process: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        let mut known: BTreeMap<u32, u32> = BTreeMap::new();
        let mut time = 0;
        for request in requests {
            let times = request.timestamps;
            let span = (times.first_timestamp(), times.completed);
            time += time_of(&[span]);
            // Whoever dirtied the pages is meant, not the thread that writes them back.
            let Some(RequestActor { pid: tid, .. }) = request.dirtied_by.or(request.submitter)
            else {
                continue;
            };
            let pid = *known.entry(tid).or_insert_with(|| process_of(tid));
            by_process.entry(pid).or_default().push(span);
        }
        for spans in by_process.values_mut() {
            spans.sort_unstable_by_key(|(_, end)| *end);
        }
        Self {
            device,
            requests: requests.len() as u64,
            time,
            by_process,
        }
    }

    /// The share of a process in the time that requests were in the device, and so in its queue: a few
    /// large ones keep others waiting longer than many small ones.
    pub fn share_of(&self, pid: u32) -> Option<f64> {
        let own = self.by_process.get(&pid)?;
        (self.time > 0).then(|| time_of(own) as f64 / self.time as f64)
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

/// Time of requests together, in nanoseconds.
fn time_of(spans: &[(u64, u64)]) -> u64 {
    let times = spans.iter().map(|(begin, end)| end.saturating_sub(*begin));
    times.sum()
}
