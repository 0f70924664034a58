//! A drive with a fixed number of servers, first come, first served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::model::{DriveModel, SimCompletion, SimRequest};

/// Service time and result of a request.
pub trait ServiceTime: Send {
    /// Serves a request from `start_ns` on. Returns the service time in nanoseconds and the result.
    fn serve(&mut self, start_ns: u64, request: SimRequest) -> (u64, Result<u32, i32>);
}

/// A scheduled completion: time, order of submission, id, result.
type ServedRequest = (u64, u64, u64, Result<u32, i32>);

/// A queue with identical servers.
#[derive(Debug)]
pub struct ServerQueue<S> {
    service: S,
    /// When each server becomes idle.
    server_free_times: BinaryHeap<Reverse<u64>>,
    scheduled_completions: BinaryHeap<Reverse<ServedRequest>>,
    submitted: u64,
}

impl<S: ServiceTime> ServerQueue<S> {
    /// With that many servers, at least one.
    pub fn new(service: S, parallel: u32) -> Self {
        Self {
            service,
            server_free_times: (0..parallel.max(1)).map(|_| Reverse(0)).collect(),
            scheduled_completions: BinaryHeap::new(),
            submitted: 0,
        }
    }
}

impl<S: ServiceTime> DriveModel for ServerQueue<S> {
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest) {
        // First come, first served: later requests do not delay this one.
        let Reverse(free_ns) = self.server_free_times.pop().unwrap_or_default();
        let start_ns = free_ns.max(now_ns);
        let (takes_ns, result) = self.service.serve(start_ns, request);
        let end_ns = start_ns.saturating_add(takes_ns);
        self.server_free_times.push(Reverse(end_ns));
        self.scheduled_completions
            .push(Reverse((end_ns, self.submitted, id, result)));
        self.submitted += 1;
    }

    fn advance(&mut self, until_ns: u64) -> Option<SimCompletion> {
        if self.scheduled_completions.peek()?.0.0 > until_ns {
            return None;
        }
        let Reverse((at_ns, _, id, result)) = self.scheduled_completions.pop()?;
        Some(SimCompletion {
            completed_at_ns: at_ns,
            id,
            result,
        })
    }
}
