//! Generates the requests of one worker thread: which request, at what time, and until when.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::address::{IoRequest, RequestSchedule, ZoneMap};
use super::plan::{BlockSize, Plan};

/// Identity of a worker thread. A worker is one thread, or several threads with one request in
/// flight each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerId {
    /// Number of the worker.
    pub worker: u32,
    /// Number of the thread within its worker.
    pub thread: u32,
    /// Threads of each worker.
    pub threads_per_worker: u32,
}

impl WorkerId {
    /// The equal part of this thread in a total that all threads of a plan share.
    fn even_share_of(self, total: u64, plan: &Plan) -> u64 {
        let threads = u64::from(plan.workers) * u64::from(self.threads_per_worker);
        let index = u64::from(self.thread) * u64::from(plan.workers) + u64::from(self.worker);
        total / threads + u64::from(index < total % threads)
    }
}

/// Source of the request numbers.
#[derive(Debug, Clone)]
pub enum SequenceCounter {
    /// The worker is one thread with its own counter.
    PerThread(u64),
    /// Several threads share one counter.
    Shared(Arc<AtomicU64>),
}

impl SequenceCounter {
    #[inline(always)]
    fn next_number(&mut self) -> u64 {
        match self {
            Self::PerThread(next) => {
                *next += 1;
                *next - 1
            }
            Self::Shared(next) => next.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Skips the numbers below `number` that no thread has taken.
    fn skip_to(&mut self, number: u64) {
        match self {
            Self::PerThread(next) => *next = number.max(*next),
            Self::Shared(next) => {
                next.fetch_max(number, Ordering::Relaxed);
            }
        }
    }
}

/// Deadlines of zones under a time limit: zone `z` of `n` ends at the latest at `(z + 1) / n` of
/// the time. Each zone has at least an equal fraction of the time, and the queue does not drain
/// between two zones.
#[derive(Debug, Clone, Copy)]
struct ZoneDeadlines {
    zone_map: ZoneMap,
    /// Number of the worker's first request in the zone map.
    first_request: u64,
    begin_ns: u64,
    duration_ns: u64,
}

impl ZoneDeadlines {
    /// `None` for a plan without zones or without a time limit.
    fn new(plan: &Plan, schedule: &RequestSchedule) -> Option<Self> {
        let (map, first) = schedule.zone_map()?;
        Some(Self {
            zone_map: map,
            first_request: first,
            begin_ns: saturating_nanoseconds(plan.ramp_time),
            duration_ns: saturating_nanoseconds(plan.limits.duration?).max(1),
        })
    }

    /// The first request of the zone that is due, where that zone is later than the zone of request
    /// `sequence_number`.
    #[inline(always)]
    fn first_request_of_due_zone(&self, sequence_number: u64, now_ns: u64) -> Option<u64> {
        let passed_ns = now_ns
            .saturating_sub(self.begin_ns)
            .min(self.duration_ns - 1);
        let due = u128::from(passed_ns) * u128::from(self.zone_map.zones());
        let zone = (due / u128::from(self.duration_ns)) as u64;
        let begin = self
            .zone_map
            .requests_before(zone)
            .saturating_sub(self.first_request);
        (begin > sequence_number).then_some(begin)
    }
}

/// A request that may be submitted now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScheduledRequest {
    /// Address, length and direction.
    pub request: IoRequest,
    /// Scheduled start in nanoseconds since the origin; `None` without an arrival rate.
    pub scheduled_ns: Option<u64>,
    /// Whether the request counts: it is due after ramp_time.
    pub counted: bool,
}

/// The next step of a worker thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Submit this request.
    Request(ScheduledRequest),
    /// Submit nothing before this time in nanoseconds since the origin.
    WaitUntil(u64),
    /// Submit no more requests.
    End,
}

/// The remaining requests or bytes of a worker thread.
#[derive(Debug, Clone, Copy)]
struct RequestBudget {
    requests: Option<u64>,
    bytes: Option<u64>,
}

impl RequestBudget {
    fn new(plan: &Plan, id: WorkerId) -> Self {
        let mut requests = plan.limits.requests;
        let mut bytes = plan.limits.bytes;
        // With a fixed block size, a limit in bytes becomes an exact limit in requests over all
        // threads.
        if let (BlockSize::Fixed(size), Some(limit)) = (plan.block_size, bytes.take()) {
            let needed = limit.div_ceil(u64::from(size.max(1)));
            requests = Some(requests.map_or(needed, |requests| requests.min(needed)));
        } else {
            bytes = plan.limits.bytes;
        }
        Self {
            requests: requests.map(|limit| id.even_share_of(limit, plan)),
            bytes: bytes.map(|limit| id.even_share_of(limit, plan)),
        }
    }

    #[inline(always)]
    fn is_exhausted(self) -> bool {
        self.requests == Some(0) || self.bytes == Some(0)
    }

    #[inline(always)]
    fn consume(&mut self, size: u32) {
        self.requests = self.requests.map(|left| left.saturating_sub(1));
        self.bytes = self.bytes.map(|left| left.saturating_sub(u64::from(size)));
    }
}

/// Generates the requests of one worker thread. A request counts when it is due after ramp_time,
/// and every counted request is waited for: none is dropped for being slow.
#[derive(Debug)]
pub struct RequestGenerator {
    schedule: RequestSchedule,
    sequence: SequenceCounter,
    /// Number that was taken but is not yet due.
    pending_number: Option<u64>,
    last_number: u64,
    budget: RequestBudget,
    ramp_end_ns: u64,
    deadline_ns: u64,
    zone_deadlines: Option<ZoneDeadlines>,
    /// Nanoseconds between scheduled starts of this worker, and the offset of its first.
    arrival_pace: Option<ArrivalPace>,
}

#[derive(Debug, Clone, Copy)]
struct ArrivalPace {
    interval_ns: f64,
    offset_ns: f64,
}

impl ArrivalPace {
    #[inline(always)]
    fn scheduled_ns(self, sequence_number: u64) -> u64 {
        (self.offset_ns + sequence_number as f64 * self.interval_ns) as u64
    }
}

impl RequestGenerator {
    /// For one worker thread of a validated plan.
    #[must_use]
    pub fn new(plan: &Plan, id: WorkerId, tickets: SequenceCounter) -> Self {
        let schedule = RequestSchedule::new(plan, id.worker);
        let unlimited = plan.limits.duration.is_none()
            && plan.limits.bytes.is_none()
            && plan.limits.requests.is_none();
        let one_pass = unlimited || schedule.ends_after_one_pass();
        let ramp_end_ns = saturating_nanoseconds(plan.ramp_time);
        Self {
            last_number: schedule
                .requests_per_pass()
                .filter(|_| one_pass)
                .unwrap_or(u64::MAX),
            sequence: tickets,
            pending_number: None,
            budget: RequestBudget::new(plan, id),
            deadline_ns: plan.limits.duration.map_or(u64::MAX, |duration| {
                ramp_end_ns.saturating_add(saturating_nanoseconds(duration))
            }),
            ramp_end_ns,
            zone_deadlines: ZoneDeadlines::new(plan, &schedule),
            arrival_pace: plan.arrival_rate.map(|rate| ArrivalPace {
                interval_ns: 1e9 / rate * f64::from(plan.workers),
                offset_ns: 1e9 / rate * f64::from(id.worker),
            }),
            schedule,
        }
    }

    /// The next step at this time in nanoseconds since the origin.
    #[inline(always)]
    pub fn next_step(&mut self, now_ns: u64) -> NextStep {
        if now_ns >= self.deadline_ns || self.budget.is_exhausted() {
            return NextStep::End;
        }
        let sequence_number = match self.pending_number.take() {
            Some(sequence_number) => sequence_number,
            None => self.next_request_number(now_ns),
        };
        if sequence_number >= self.last_number {
            return NextStep::End;
        }
        let intended_ns = self
            .arrival_pace
            .map(|pace| pace.scheduled_ns(sequence_number));
        let due_ns = intended_ns.unwrap_or(now_ns);
        if due_ns >= self.deadline_ns {
            return NextStep::End;
        }
        if due_ns > now_ns {
            self.pending_number = Some(sequence_number);
            return NextStep::WaitUntil(due_ns);
        }
        let Some(job) = self.schedule.request(sequence_number) else {
            return NextStep::End;
        };
        let counted = due_ns >= self.ramp_end_ns;
        // Requests during ramp_time too: a limit bounds what is written, counted or not.
        self.budget.consume(job.length);
        NextStep::Request(ScheduledRequest {
            request: job,
            scheduled_ns: intended_ns,
            counted,
        })
    }

    /// The number of the next request. When the time of a zone is over, the first one of the zone
    /// that is due.
    #[inline(always)]
    fn next_request_number(&mut self, now_ns: u64) -> u64 {
        let sequence_number = self.sequence.next_number();
        let zones = self.zone_deadlines.as_ref();
        match zones.and_then(|zones| zones.first_request_of_due_zone(sequence_number, now_ns)) {
            Some(begin) => {
                self.sequence.skip_to(begin);
                self.sequence.next_number()
            }
            None => sequence_number,
        }
    }
}

/// Whole nanoseconds, saturating at the maximum of `u64`.
#[inline(always)]
#[must_use]
pub fn saturating_nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
