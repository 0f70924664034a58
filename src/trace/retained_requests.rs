//! Requests of the last seconds, which the kernel keeps in its memory until something happens.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::drive::identity;
use crate::roots::SysPaths;
use crate::trace::events::event::DeviceNumber;
use crate::trace::events::{CaptureSettings, RetainedTrace, TraceError};
use crate::trace::requests::{RequestMatcher, TracedRequest};

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
    /// The time of interest: of each drive the requests nearest to it are kept.
    pub at: u64,
    /// Maximum number of all drives together; a drive with few requests keeps all of them.
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
            left_out: nearest.left_out(),
            requests: nearest.into_requests(),
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
    before: FairQueues,
    after: FairQueues,
}

impl NearestRequests {
    fn new(wanted: WantedRequests) -> Self {
        let most_before = (wanted.most as f64 * SHARE_BEFORE) as usize;
        Self {
            before: FairQueues::new(most_before),
            after: FairQueues::new(wanted.most - most_before),
            wanted,
        }
    }

    /// Adds a request; they come in order of completion.
    fn add(&mut self, request: TracedRequest) {
        let completed = request.timestamps.completed;
        if completed < self.wanted.from {
            return;
        }
        // The farthest are dropped: the oldest of those before, the newest of those after.
        match completed <= self.wanted.at {
            true => self.before.push(request, VecDeque::pop_front),
            false => self.after.push(request, VecDeque::pop_back),
        }
    }

    fn left_out(&self) -> u64 {
        self.before.dropped + self.after.dropped
    }

    /// The requests in order of completion.
    fn into_requests(self) -> Vec<TracedRequest> {
        let queues = [self.before, self.after].map(|side| side.queues.into_values());
        let mut requests: Vec<TracedRequest> = queues.into_iter().flatten().flatten().collect();
        requests.sort_by_key(|request| request.timestamps.completed);
        requests
    }
}

/// Requests of all drives up to a number. One too many is dropped from the drive with the most, so
/// that a busy drive does not push out the requests of the others.
#[derive(Debug)]
struct FairQueues {
    most: usize,
    queues: BTreeMap<DeviceNumber, VecDeque<TracedRequest>>,
    count: usize,
    dropped: u64,
}

impl FairQueues {
    fn new(most: usize) -> Self {
        Self {
            most,
            queues: BTreeMap::new(),
            count: 0,
            dropped: 0,
        }
    }

    /// Adds a request; `drop_farthest` takes one from the longest queue.
    fn push(
        &mut self,
        request: TracedRequest,
        drop_farthest: impl Fn(&mut VecDeque<TracedRequest>) -> Option<TracedRequest>,
    ) {
        let own = self.queues.entry(request.device).or_default();
        own.push_back(request);
        self.count += 1;
        if self.count <= self.most {
            return;
        }
        let longest = self.queues.values_mut().max_by_key(|queue| queue.len());
        if longest.and_then(drop_farthest).is_some() {
            self.count -= 1;
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: DeviceNumber = (8, 0);
    const QUIET: DeviceNumber = (8, 16);

    fn kept(most: usize, requests: &[(DeviceNumber, u64)]) -> (Vec<(DeviceNumber, u64)>, u64) {
        let mut nearest = NearestRequests::new(WantedRequests {
            from: 100,
            at: 1000,
            most,
        });
        for (device, completed) in requests {
            let mut request = TracedRequest {
                device: *device,
                ..TracedRequest::block_read()
            };
            request.timestamps.completed = *completed;
            nearest.add(request);
        }
        let left_out = nearest.left_out();
        let kept = nearest.into_requests();
        let kept = kept.iter().map(|it| (it.device, it.timestamps.completed));
        (kept.collect(), left_out)
    }

    #[test]
    fn requests_nearest_to_the_time_are_kept_in_order() {
        let busy: Vec<_> = (0..300).map(|index| (BUSY, 50 + index * 10)).collect();
        let (kept, left_out) = kept(30, &busy);
        let times: Vec<u64> = kept.iter().map(|(_, completed)| *completed).collect();
        assert_eq!(times, (0..30).map(|it| 810 + it * 10).collect::<Vec<u64>>());
        assert_eq!(left_out, 300 - 5 - 30);
    }

    #[test]
    fn busy_drive_does_not_push_out_requests_of_another() {
        let mut requests: Vec<_> = (0..400).map(|index| (BUSY, 200 + index * 4)).collect();
        requests.extend([110, 300, 1500].map(|completed| (QUIET, completed)));
        requests.sort_by_key(|(_, completed)| *completed);
        let (kept, left_out) = kept(30, &requests);
        let quiet: Vec<u64> = kept
            .iter()
            .filter(|(device, _)| *device == QUIET)
            .map(|(_, completed)| *completed)
            .collect();
        assert_eq!(quiet, [110, 300, 1500]);
        assert_eq!((kept.len(), left_out), (30, 403 - 30));
    }
}
