//! A capture: a tracefs instance, and a thread that reads its buffers.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::catalog::{EventSpec, TraceDetail, drop_fallbacks, wanted_events};
use super::decode::EventDecoder;
use super::error::TraceError;
use super::event::{DeviceNumber, Event, EventKind};
use super::instance::TraceInstance;
use super::page::PageFormat;
use super::reader::{RingReader, SETTLE_TIME_NS, ThreadNames};
use super::tracefs::TracefsMount;
use crate::probe::boot_time;
use crate::roots::SysPaths;

/// Buffer of each processor: at 300,000 events a second of 64 bytes it lasts 400 ms.
const BUFFER_KIB: u32 = 8 * 1024;
/// Sleep of the thread after it read events.
const MIN_SLEEP: Duration = Duration::from_millis(5);
/// Maximum sleep while there are no events.
const MAX_SLEEP: Duration = Duration::from_millis(40);
/// Interval between readings of the kernel's counts of lost events.
const LOST_COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Settings of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureSettings {
    /// Devices, including partitions of a drive: the device numbers in the events. Empty: all.
    pub devices: Vec<DeviceNumber>,
    /// Which events.
    pub detail: TraceDetail,
}

/// An instance whose events are chosen and which is not recording yet. The field order matters: the
/// buffers have to be closed before the instance can be removed.
#[derive(Debug)]
pub(crate) struct PreparedTrace {
    /// Reads its buffers.
    pub(crate) reader: RingReader,
    /// The instance.
    pub(crate) instance: TraceInstance,
    /// The events to enable.
    pub(crate) events: Vec<EventSpec>,
}

impl PreparedTrace {
    /// Creates an instance with a buffer of this size for each processor.
    pub(crate) fn new(
        roots: &SysPaths,
        settings: &CaptureSettings,
        buffer_kib: u32,
    ) -> Result<Self, TraceError> {
        let tracefs = TracefsMount::open(roots)?;
        let directory = tracefs.root().join("events");
        let wanted = wanted_events(settings.detail);
        let (decoder, mut events) = EventDecoder::from_format_files(&directory, &wanted);
        drop_fallbacks(&mut events);
        let mut required = wanted.iter().filter(|event| event.is_required());
        if let Some(missing) = required.find(|event| !events.contains(event)) {
            return Err(missing_event_error(&directory, &missing.path));
        }
        let header = directory.join("header_page");
        let format = PageFormat::read(&header)
            .map_err(TraceError::from_io_error("reading", &header))?
            .ok_or_else(|| TraceError::NotDescribed {
                what: "pages of its buffer that can be read".to_owned(),
            })?;
        let instance = TraceInstance::create(roots, tracefs, buffer_kib)?;
        let names = ThreadNames::new(&roots.proc, instance.tracefs());
        let reader = RingReader::open(&instance.processor_directories()?, decoder, format, names)?;
        instance.set_filters(&events, &settings.devices)?;
        Ok(Self {
            reader,
            instance,
            events,
        })
    }

    /// Enables the events and starts recording; returns the time on the events' clock.
    pub(crate) fn start_recording(&self) -> Result<u64, TraceError> {
        self.instance.start_recording(&self.events)?;
        Ok(now_ns())
    }
}

/// Why an event that is needed is missing: who may not read tracefs finds none.
fn missing_event_error(events: &Path, event: &str) -> TraceError {
    let format = events.join(event).join("format");
    match File::open(&format) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            TraceError::from_io_error("reading", &format)(error)
        }
        _ => TraceError::NotDescribed {
            what: format!("event {event}"),
        },
    }
}

/// A batch of events from the thread.
#[derive(Debug, Clone, Copy)]
pub struct EventBatch<'e> {
    /// Events in order of time, also across batches.
    pub events: &'e [Event],
    /// Events lost since the start.
    pub lost_events: u64,
    /// Time since which the events are complete, on the events' clock: the start of the capture, or
    /// the end of its last pause.
    pub complete_since: u64,
    /// Time until which the events are complete, on the events' clock.
    pub complete_until: u64,
    /// Why no further events follow, where the kernel ended the capture.
    pub end_error: Option<&'e io::Error>,
}

impl EventBatch<'_> {
    /// Why no further events follow, as a sentence.
    #[must_use]
    pub fn end_reason(&self) -> Option<String> {
        let error = self.end_error?;
        Some(format!("the kernel has ended the trace: {error}"))
    }
}

/// What a capture does after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureControl {
    /// Continue.
    Continue,
    /// Stop recording for this long, at no cost to any request, and then continue. Requests in
    /// flight during the pause are not traced to their end.
    Pause(Duration),
}

/// Traces requests until it is stopped or dropped; it leaves nothing behind in the kernel.
#[derive(Debug)]
pub struct TraceCapture {
    stop: Arc<AtomicBool>,
    kinds: Vec<EventKind>,
    thread: Option<JoinHandle<()>>,
}

impl TraceCapture {
    /// Starts a capture. `sink` is called on the capture's own thread, about every 5 ms while there
    /// are events and once more at the end; the time that it takes reduces the time in which the
    /// buffers may fill. It returns how to continue.
    ///
    /// # Errors
    ///
    /// When requests cannot be traced, and why.
    pub fn start(
        roots: &SysPaths,
        settings: &CaptureSettings,
        sink: impl FnMut(EventBatch<'_>) -> CaptureControl + Send + 'static,
    ) -> Result<Self, TraceError> {
        let trace = PreparedTrace::new(roots, settings, BUFFER_KIB)?;
        let stop = Arc::new(AtomicBool::new(false));
        let kinds = trace.events.iter().map(|event| event.kind).collect();
        let worker = CaptureWorker {
            complete_since: trace.start_recording()?,
            trace,
            stop: Arc::clone(&stop),
            lost_events: 0,
        };
        let thread = thread::Builder::new()
            .name("requests".to_owned())
            .spawn(move || worker.run(sink));
        let failed = TraceError::from_io_error("starting a thread for", &roots.tracing);
        Ok(Self {
            stop,
            kinds,
            thread: Some(thread.map_err(failed)?),
        })
    }

    /// Whether an event is recorded: not all kernels have all of them.
    #[must_use]
    pub fn records(&self, kind: EventKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Stops after all events recorded so far were passed on. Returns when the instance is removed.
    pub fn stop(mut self) {
        self.join_thread();
    }

    fn join_thread(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic on the thread was reported by the hook; the instance was removed during
            // unwinding.
            let _ = thread.join();
        }
    }
}

impl Drop for TraceCapture {
    fn drop(&mut self) {
        self.join_thread();
    }
}

/// State of the thread.
struct CaptureWorker {
    trace: PreparedTrace,
    stop: Arc<AtomicBool>,
    lost_events: u64,
    complete_since: u64,
}

impl CaptureWorker {
    fn run(mut self, mut sink: impl FnMut(EventBatch<'_>) -> CaptureControl) {
        let followed = self.capture_loop(&mut sink);
        // Without this, reading might never end on a busy machine.
        let _ = self.trace.instance.stop_recording();
        let ended = followed.and(self.trace.reader.read_events().map(|_| ()));
        self.lost_events = self.trace.reader.lost_events();
        self.deliver_batch(None, ended.err().as_ref(), &mut sink);
    }

    /// Reads until it is stopped or the kernel refuses.
    fn capture_loop(
        &mut self,
        sink: &mut impl FnMut(EventBatch<'_>) -> CaptureControl,
    ) -> io::Result<()> {
        let mut nap = MIN_SLEEP;
        let mut counted = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let started = now_ns();
            nap = match self.trace.reader.read_events()? {
                0 => (nap * 2).min(MAX_SLEEP),
                _ => MIN_SLEEP,
            };
            if counted.elapsed() >= LOST_COUNT_INTERVAL {
                self.lost_events = self.trace.reader.lost_events();
                counted = Instant::now();
            }
            match self.deliver_batch(Some(started), None, sink) {
                CaptureControl::Continue => thread::park_timeout(nap),
                CaptureControl::Pause(time) => self.pause_recording(time)?,
            }
        }
        Ok(())
    }

    /// Pauses recording for a time, or until it is stopped.
    fn pause_recording(&mut self, time: Duration) -> io::Result<()> {
        let instance = &self.trace.instance;
        let disabled = instance.disable_events(&self.trace.events);
        disabled.map_err(io::Error::other)?;
        self.trace.reader.read_events()?;
        let end = Instant::now() + time;
        while !self.stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.trace.start_recording().map_err(io::Error::other)?;
                break;
            }
            thread::park_timeout(left);
        }
        self.complete_since = now_ns();
        self.trace.reader.resume_at(self.complete_since);
        Ok(())
    }

    fn deliver_batch(
        &mut self,
        started: Option<u64>,
        end_error: Option<&io::Error>,
        sink: &mut impl FnMut(EventBatch<'_>) -> CaptureControl,
    ) -> CaptureControl {
        let (lost_events, complete_since) = (self.lost_events, self.complete_since);
        let complete_until = started.map_or_else(now_ns, |started| {
            started.saturating_sub(SETTLE_TIME_NS).max(complete_since)
        });
        self.trace.reader.deliver(started, |events| {
            sink(EventBatch {
                events,
                lost_events,
                complete_since,
                complete_until,
                end_error,
            })
        })
    }
}

/// The time on the events' clock.
fn now_ns() -> u64 {
    u64::try_from(boot_time().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn capture_reports_read_error_as_end() {
        let directory = tempfile::tempdir().unwrap();
        // A directory can be opened, but not read as a file.
        let processor = directory.path().join("per_cpu/cpu0");
        fs::create_dir_all(processor.join("trace_pipe_raw")).unwrap();
        let header = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/traces/6.18/events/header_page"
        );
        let format = PageFormat::read(header.as_ref()).unwrap().unwrap();
        let names = ThreadNames::new(directory.path(), directory.path());
        let decoder = EventDecoder::default();
        let worker = CaptureWorker {
            trace: PreparedTrace {
                reader: RingReader::open(&[processor], decoder, format, names).unwrap(),
                instance: TraceInstance::at_path(directory.path().to_owned()),
                events: Vec::new(),
            },
            stop: Arc::default(),
            lost_events: 0,
            complete_since: 0,
        };
        let mut ended = Vec::new();
        worker.run(|batch| {
            ended.push(batch.end_error.map(io::Error::kind));
            CaptureControl::Continue
        });
        assert_eq!(ended, [Some(io::ErrorKind::IsADirectory)]);
    }
}
