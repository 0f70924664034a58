//! A trace that nobody reads until something has happened: the kernel overwrites the oldest events.

use std::collections::VecDeque;
use std::io;

use super::capture::{CaptureSettings, PreparedTrace, prepare_trace};
use super::enabled::EnabledEvent;
use super::error::TraceError;
use super::event::{BlockEvent, RequestStep};
use super::instance::TraceInstance;
use super::ring_reader::RingReader;
use crate::probe::boot_time;
use crate::roots::SysPaths;

/// Memory of the buffers of all processors together.
const TOTAL_BUFFER_KIB: usize = 32 * 1024;
/// Limits of the buffer of one processor.
const BUFFER_KIB: std::ops::RangeInclusive<usize> = 256..=8 * 1024;

/// Records events in the kernel's memory, which are read only when they are wanted. Dropping it ends
/// the recording. The field order matters: the buffers have to be closed before the instance can be
/// removed.
#[derive(Debug)]
pub struct RetainedTrace {
    ring_reader: RingReader,
    instance: TraceInstance,
    enabled_events: Vec<EnabledEvent>,
    /// Start of the recording, or of its continuation, on the events' clock.
    recording_since: u64,
}

/// What is known of the events that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetainedSpan {
    /// Time since which the events are complete: older ones were overwritten on some processor.
    pub complete_since: u64,
    /// Time until which the events are complete.
    pub complete_until: u64,
    /// Events that the kernel dropped in between since the start.
    pub dropped_events: u64,
}

impl RetainedTrace {
    /// Starts recording.
    ///
    /// # Errors
    /// When requests cannot be traced, and why.
    pub fn start(roots: &SysPaths, settings: &CaptureSettings) -> Result<Self, TraceError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let buffer = (TOTAL_BUFFER_KIB / processors).clamp(*BUFFER_KIB.start(), *BUFFER_KIB.end());
        let PreparedTrace {
            ring_reader,
            instance,
            enabled_events,
        } = prepare_trace(roots, settings, u32::try_from(buffer).unwrap_or(u32::MAX))?;
        instance.set_overwrite()?;
        instance.start_recording(&enabled_events)?;
        Ok(Self {
            ring_reader,
            instance,
            enabled_events,
            recording_since: now(),
        })
    }

    /// Reads the events in order of time and starts anew. Recording stops meanwhile.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take(&mut self, mut each: impl FnMut(&BlockEvent)) -> Result<RetainedSpan, TraceError> {
        self.instance.disable_events(&self.enabled_events)?;
        let complete_until = now();
        let since = self.recording_since;
        let read = self.ring_reader.drain_in_order(since, &mut each);
        let dropped_events = self.ring_reader.dropped_events();
        self.instance.start_recording(&self.enabled_events)?;
        self.recording_since = now();
        let complete_since = read.map_err(|error| self.instance.read_error(error))?;
        Ok(RetainedSpan {
            complete_since,
            complete_until,
            dropped_events,
        })
    }
}

fn now() -> u64 {
    u64::try_from(boot_time().as_nanos()).unwrap_or(u64::MAX)
}

/// The events of one processor that were read and not yet passed on.
type EventQueue = VecDeque<BlockEvent>;

impl RingReader {
    /// Reads all events of requests in order of time, a page of each processor at a time. Recording
    /// has to be stopped. Returns the time since which they are complete, at least `since`; earlier
    /// ones are left out.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn drain_in_order(
        &mut self,
        since: u64,
        each: &mut impl FnMut(&BlockEvent),
    ) -> io::Result<u64> {
        let mut queues = Vec::with_capacity(self.processor_count());
        for processor in 0..self.processor_count() {
            let mut queue = EventQueue::new();
            self.fill_queue(processor, &mut queue)?;
            queues.push(queue);
        }
        // A processor's first page says whether earlier ones were overwritten.
        let complete_since = queues
            .iter()
            .filter_map(VecDeque::front)
            .filter(|event| event.request_step == RequestStep::EventsLost)
            .map(|event| event.timestamp_ns)
            .max()
            .map_or(since, |overwritten| overwritten.max(since));
        while let Some(processor) = earliest(&queues) {
            let event = queues[processor].pop_front();
            if let Some(event) = event.filter(|event| event.timestamp_ns >= complete_since)
                && event.request_step != RequestStep::EventsLost
            {
                each(&event);
            }
            if queues[processor].is_empty() {
                self.fill_queue(processor, &mut queues[processor])?;
            }
        }
        Ok(complete_since)
    }

    /// Reads pages of a processor until there is an event.
    fn fill_queue(&mut self, processor: usize, queue: &mut EventQueue) -> io::Result<()> {
        while queue.is_empty() && self.read_page_into(processor, queue)? {}
        Ok(())
    }
}

/// The processor with the earliest event.
fn earliest(queues: &[EventQueue]) -> Option<usize> {
    let fronts = queues.iter().enumerate();
    let times = fronts.filter_map(|(index, queue)| Some((queue.front()?.timestamp_ns, index)));
    times.min().map(|(_, index)| index)
}
