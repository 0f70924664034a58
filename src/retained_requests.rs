//! Requests of the last seconds, which the kernel keeps in its memory until something happens.

use std::collections::{HashMap, VecDeque};

use crate::drive::identity;
use crate::model::requests::{RequestMatcher, TracedRequest};
use crate::probe::trace::event::DeviceNumber;
use crate::probe::trace::{CaptureSettings, RetainedTrace, TraceError};
use crate::roots::SysPaths;

/// Of the requests that are kept at most, this share is from before the time of interest.
const SHARE_BEFORE: f64 = 2.0 / 3.0;

/// A trace of all drives whose requests are read only when they are wanted.
#[derive(Debug)]
pub struct RetainedRequestTrace {
    roots: SysPaths,
    trace: RetainedTrace,
}

/// The requests around a time.
#[derive(Debug, Clone, Default)]
pub struct RetainedRequests {
    /// In order of completion.
    pub requests: Vec<TracedRequest>,
    /// Requests of that time that were left out, because there were too many: those farthest away.
    pub left_out: u64,
    /// Time since which they are complete (`CLOCK_BOOTTIME`, nanoseconds).
    pub complete_since: u64,
    /// Requests that had not completed at the end.
    pub in_flight: u64,
    /// Events that the kernel dropped.
    pub dropped_events: u64,
    /// Names of the drives.
    pub drive_names: HashMap<DeviceNumber, String>,
}

/// Which requests are wanted. Times are on the trace's clock (`CLOCK_BOOTTIME`, nanoseconds).
#[derive(Debug, Clone, Copy)]
pub struct WantedRequests {
    /// Requests that completed from this time on.
    pub from: u64,
    /// The time of interest: the requests nearest to it are kept.
    pub at: u64,
    /// Maximum number.
    pub most: usize,
}

impl RetainedRequestTrace {
    /// Starts tracing.
    ///
    /// # Errors
    /// When requests cannot be traced, and why.
    pub fn start(roots: &SysPaths) -> Result<Self, TraceError> {
        Ok(Self {
            trace: RetainedTrace::start(roots, &CaptureSettings::default())?,
            roots: roots.clone(),
        })
    }

    /// Reads what the kernel has kept, and starts anew.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take(&mut self, wanted: WantedRequests) -> Result<RetainedRequests, TraceError> {
        let devices = identity::list_block_devices(&self.roots);
        let number_of = |name: &str| {
            let mut all = devices.iter();
            all.find(|device| device.name == name)
                .map(|device| device.number)
        };
        let drives: HashMap<DeviceNumber, DeviceNumber> = devices
            .iter()
            .filter_map(|device| Some((device.number, number_of(device.parent.as_deref()?)?)))
            .collect();
        let mut matcher = RequestMatcher::new(drives);
        let mut nearest = NearestRequests::new(wanted);
        let span = self
            .trace
            .take(|event| matcher.add_event(event, |request| nearest.add(request)))?;
        Ok(RetainedRequests {
            left_out: nearest.left_out,
            requests: nearest.before.into_iter().chain(nearest.after).collect(),
            complete_since: span.complete_since,
            in_flight: matcher.in_flight() as u64,
            dropped_events: span.dropped_events,
            drive_names: devices
                .iter()
                .map(|device| (device.number, device.name.clone()))
                .collect(),
        })
    }
}

/// Keeps the requests nearest to a time.
#[derive(Debug)]
struct NearestRequests {
    wanted: WantedRequests,
    most_before: usize,
    before: VecDeque<TracedRequest>,
    after: Vec<TracedRequest>,
    left_out: u64,
}

impl NearestRequests {
    fn new(wanted: WantedRequests) -> Self {
        Self {
            most_before: (wanted.most as f64 * SHARE_BEFORE) as usize,
            wanted,
            before: VecDeque::new(),
            after: Vec::new(),
            left_out: 0,
        }
    }

    /// Adds a request; they come in order of completion.
    fn add(&mut self, request: TracedRequest) {
        let completed = request.timestamps.completed;
        if completed < self.wanted.from {
            return;
        }
        if completed <= self.wanted.at {
            self.before.push_back(request);
            if self.before.len() > self.most_before {
                self.before.pop_front();
                self.left_out += 1;
            }
        } else if self.after.len() < self.wanted.most - self.most_before {
            self.after.push(request);
        } else {
            self.left_out += 1;
        }
    }
}
