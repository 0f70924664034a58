//! A drive that serves so many requests at a time, first come, first served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::model::{Completion, Model, SimRequest};

/// How long one request takes, and how it ends.
pub trait Service: Send {
    /// Serves a request from that moment on: nanoseconds that it takes, and its result.
    fn serve(&mut self, start_ns: u64, request: SimRequest) -> (u64, Result<u32, i32>);
}

/// What is decided: time of the end, order of submission, number, result.
type Decided = (u64, u64, u64, Result<u32, i32>);

/// A queue in front of equal servers.
#[derive(Debug)]
pub struct Station<S> {
    service: S,
    /// When each server is free.
    servers: BinaryHeap<Reverse<u64>>,
    done: BinaryHeap<Reverse<Decided>>,
    submitted: u64,
}

impl<S: Service> Station<S> {
    /// That many servers, at least one.
    pub fn new(service: S, parallel: u32) -> Self {
        Self {
            service,
            servers: (0..parallel.max(1)).map(|_| Reverse(0)).collect(),
            done: BinaryHeap::new(),
            submitted: 0,
        }
    }
}

impl<S: Service> Model for Station<S> {
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest) {
        // First come, first served: nothing that comes later changes this request's place.
        let Reverse(free_ns) = self.servers.pop().unwrap_or_default();
        let start_ns = free_ns.max(now_ns);
        let (takes_ns, result) = self.service.serve(start_ns, request);
        let end_ns = start_ns.saturating_add(takes_ns);
        self.servers.push(Reverse(end_ns));
        self.done
            .push(Reverse((end_ns, self.submitted, id, result)));
        self.submitted += 1;
    }

    fn advance(&mut self, until_ns: u64) -> Option<Completion> {
        if self.done.peek()?.0.0 > until_ns {
            return None;
        }
        let Reverse((at_ns, _, id, result)) = self.done.pop()?;
        Some(Completion { at_ns, id, result })
    }
}
