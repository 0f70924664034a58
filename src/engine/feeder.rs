//! Hands one lane its requests: which, when, and until when.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::address::{Job, Schedule, ZoneMap};
use super::plan::{BlockSize, Plan};

/// A part of the load that keeps its own order: a worker, or one of the threads that together
/// make a worker where each has one request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneId {
    /// Number of the worker.
    pub worker: u32,
    /// Number among the lanes of that worker.
    pub slot: u32,
    /// Lanes that each worker has.
    pub slots: u32,
}

impl LaneId {
    /// This lane's even part of a number that all lanes of a plan share.
    fn part_of(self, total: u64, plan: &Plan) -> u64 {
        let lanes = u64::from(plan.workers) * u64::from(self.slots);
        let index = u64::from(self.slot) * u64::from(plan.workers) + u64::from(self.worker);
        total / lanes + u64::from(index < total % lanes)
    }
}

/// Where the numbers of requests come from.
#[derive(Debug, Clone)]
pub enum Tickets {
    /// The lane is the worker.
    Own(u64),
    /// Several lanes share one sequence.
    Shared(Arc<AtomicU64>),
}

impl Tickets {
    #[inline]
    fn take(&mut self) -> u64 {
        match self {
            Self::Own(next) => {
                *next += 1;
                *next - 1
            }
            Self::Shared(next) => next.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Leaves out the numbers before this one that nobody has taken.
    fn skip_to(&mut self, number: u64) {
        match self {
            Self::Own(next) => *next = number.max(*next),
            Self::Shared(next) => {
                next.fetch_max(number, Ordering::Relaxed);
            }
        }
    }
}

/// Zones under a time limit: zone `z` of `n` ends at the latest at `(z + 1) / n` of the time. Each has
/// at least its even share, and the queue is not emptied between two of them.
#[derive(Debug, Clone, Copy)]
struct ZoneDeadlines {
    map: ZoneMap,
    /// Number of the worker's first request in the map.
    first: u64,
    begin_ns: u64,
    duration_ns: u64,
}

impl ZoneDeadlines {
    /// `None` for a plan without zones or without a time limit.
    fn new(plan: &Plan, schedule: &Schedule) -> Option<Self> {
        let (map, first) = schedule.zones()?;
        Some(Self {
            map,
            first,
            begin_ns: nanoseconds(plan.ramp),
            duration_ns: nanoseconds(plan.limits.duration?).max(1),
        })
    }

    /// The first request of the zone whose turn it is, where that one is later than the zone of
    /// request `ticket`.
    #[inline]
    fn later_than(&self, ticket: u64, now_ns: u64) -> Option<u64> {
        let passed_ns = now_ns
            .saturating_sub(self.begin_ns)
            .min(self.duration_ns - 1);
        let due = u128::from(passed_ns) * u128::from(self.map.zones());
        let zone = (due / u128::from(self.duration_ns)) as u64;
        let begin = self.map.requests_before(zone).saturating_sub(self.first);
        (begin > ticket).then_some(begin)
    }
}

/// A request that may be sent now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Assigned {
    /// What to do.
    pub job: Job,
    /// When it should have been sent, in nanoseconds since the origin, where a rate says so.
    pub intended_ns: Option<u64>,
    /// Whether it counts: it is due after the ramp.
    pub counted: bool,
}

/// What a lane does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send this.
    Request(Assigned),
    /// Nothing before this time, in nanoseconds since the origin.
    At(u64),
    /// No more.
    End,
}

/// How much a lane may still do.
#[derive(Debug, Clone, Copy)]
struct Budget {
    requests: Option<u64>,
    bytes: Option<u64>,
}

impl Budget {
    fn new(plan: &Plan, lane: LaneId) -> Self {
        let mut requests = plan.limits.requests;
        let mut bytes = plan.limits.bytes;
        // With one size for all, bytes are requests, and exact over all lanes.
        if let (BlockSize::Fixed(size), Some(limit)) = (plan.block_size, bytes.take()) {
            let needed = limit.div_ceil(u64::from(size.max(1)));
            requests = Some(requests.map_or(needed, |requests| requests.min(needed)));
        } else {
            bytes = plan.limits.bytes;
        }
        Self {
            requests: requests.map(|limit| lane.part_of(limit, plan)),
            bytes: bytes.map(|limit| lane.part_of(limit, plan)),
        }
    }

    fn is_used_up(self) -> bool {
        self.requests == Some(0) || self.bytes == Some(0)
    }

    fn spend(&mut self, size: u32) {
        self.requests = self.requests.map(|left| left.saturating_sub(1));
        self.bytes = self.bytes.map(|left| left.saturating_sub(u64::from(size)));
    }
}

/// Hands one lane its requests. A request counts when it is due after the ramp, and every request
/// that counts is waited for: none is left out for being slow.
#[derive(Debug)]
pub struct Feeder {
    schedule: Schedule,
    tickets: Tickets,
    /// Taken, but not yet due.
    pending: Option<u64>,
    last_ticket: u64,
    budget: Budget,
    ramp_end_ns: u64,
    deadline_ns: u64,
    zone_deadlines: Option<ZoneDeadlines>,
    /// Nanoseconds between intended starts of this worker, and of its first.
    pace: Option<Pace>,
}

#[derive(Debug, Clone, Copy)]
struct Pace {
    interval_ns: f64,
    offset_ns: f64,
}

impl Pace {
    fn intended(self, ticket: u64) -> u64 {
        (self.offset_ns + ticket as f64 * self.interval_ns) as u64
    }
}

impl Feeder {
    /// For one lane of a plan that was validated.
    #[must_use]
    pub fn new(plan: &Plan, lane: LaneId, tickets: Tickets) -> Self {
        let schedule = Schedule::new(plan, lane.worker);
        let unlimited = plan.limits.duration.is_none()
            && plan.limits.bytes.is_none()
            && plan.limits.requests.is_none();
        let one_pass = unlimited || schedule.ends_with_pass();
        let ramp_end_ns = nanoseconds(plan.ramp);
        Self {
            last_ticket: schedule.pass().filter(|_| one_pass).unwrap_or(u64::MAX),
            tickets,
            pending: None,
            budget: Budget::new(plan, lane),
            deadline_ns: plan.limits.duration.map_or(u64::MAX, |duration| {
                ramp_end_ns.saturating_add(nanoseconds(duration))
            }),
            ramp_end_ns,
            zone_deadlines: ZoneDeadlines::new(plan, &schedule),
            pace: plan.rate.map(|rate| Pace {
                interval_ns: 1e9 / rate * f64::from(plan.workers),
                offset_ns: 1e9 / rate * f64::from(lane.worker),
            }),
            schedule,
        }
    }

    /// What to do at this time, in nanoseconds since the origin.
    #[inline]
    pub fn next(&mut self, now_ns: u64) -> Next {
        if now_ns >= self.deadline_ns || self.budget.is_used_up() {
            return Next::End;
        }
        let ticket = match self.pending.take() {
            Some(ticket) => ticket,
            None => self.take_ticket(now_ns),
        };
        if ticket >= self.last_ticket {
            return Next::End;
        }
        let intended_ns = self.pace.map(|pace| pace.intended(ticket));
        let due_ns = intended_ns.unwrap_or(now_ns);
        if due_ns >= self.deadline_ns {
            return Next::End;
        }
        if due_ns > now_ns {
            self.pending = Some(ticket);
            return Next::At(due_ns);
        }
        let Some(job) = self.schedule.job(ticket) else {
            return Next::End;
        };
        let counted = due_ns >= self.ramp_end_ns;
        // The ramp's requests too: a limit bounds what is written, whether it is counted or not.
        self.budget.spend(job.bytes);
        Next::Request(Assigned {
            job,
            intended_ns,
            counted,
        })
    }

    /// The number of the next request; where a zone's time is up, one of the zone whose turn it is.
    #[inline]
    fn take_ticket(&mut self, now_ns: u64) -> u64 {
        let ticket = self.tickets.take();
        let zones = self.zone_deadlines.as_ref();
        match zones.and_then(|zones| zones.later_than(ticket, now_ns)) {
            Some(begin) => {
                self.tickets.skip_to(begin);
                self.tickets.take()
            }
            None => ticket,
        }
    }
}

/// Whole nanoseconds, as far as they fit.
#[must_use]
pub fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
