//! A capture: a tracefs instance, and a thread that reads its buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::catalog::{EventSpec, TraceDetail, drop_fallbacks, wanted_events};
use super::decode::EventDecoder;
use super::error::TraceError;
use super::event::{DeviceNumber, Event, EventKind};
use super::page::PageFormat;
use super::reader::{RingReader, ThreadNames};
use super::tracefs::{TraceInstance, TracefsMount};
use crate::probe::boot_time;
use crate::roots::SysPaths;

/// Buffer of each processor: at 300,000 events a second of 64 bytes it lasts 400 ms.
const BUFFER_KIB: u32 = 8 * 1024;
/// Events younger than this may be preceded by one that another processor is still writing.
const SETTLE_TIME_NS: u64 = 1_000_000;
/// Sleep of the thread after it read events.
const MIN_SLEEP: Duration = Duration::from_millis(5);
/// Maximum sleep while there are no events.
const MAX_SLEEP: Duration = Duration::from_millis(40);

/// Records events in an instance of its own. The field order matters: the buffers have to be closed before the
/// instance can be removed.
#[derive(Debug)]
pub(crate) struct EventRecorder {
    /// Reads its buffers.
    pub(crate) reader: RingReader,
    instance: TraceInstance,
    events: Vec<EventSpec>,
}

impl EventRecorder {
    /// Creates an instance that is not recording yet, with a buffer of this size for each processor. `devices`
    /// includes the partitions of a drive: they are the device numbers in the events; none: all.
    pub(crate) fn new(
        roots: &SysPaths,
        devices: &[DeviceNumber],
        detail: TraceDetail,
        buffer_kib: u32,
    ) -> Result<Self, TraceError> {
        let tracefs = TracefsMount::open(roots)?;
        let directory = tracefs.root.join("events");
        let names = ThreadNames::new(&roots.proc, &tracefs.root);
        // First of all: who may not trace is told so.
        let instance = TraceInstance::create(roots, tracefs, buffer_kib)?;
        let wanted = wanted_events(detail);
        let (decoder, mut events) = EventDecoder::from_format_files(&directory, &wanted);
        drop_fallbacks(&mut events);
        let mut required = wanted.iter().filter(|event| event.is_required());
        if let Some(missing) = required.find(|event| !events.contains(event)) {
            return Err(TraceError::NotDescribed {
                what: format!("event {}", missing.path),
            });
        }
        let header = directory.join("header_page");
        let format = PageFormat::read(&header).map_err(TraceError::refused("reading", &header))?;
        let format = format.ok_or_else(|| TraceError::NotDescribed {
            what: "pages of its buffer that can be read".to_owned(),
        })?;
        let reader = RingReader::open(&instance.path.join("per_cpu"), decoder, format, names)?;
        for event in &events {
            if let Some(filter) = event.filter(devices) {
                instance.write(&format!("events/{}/filter", event.path), &filter)?;
            }
        }
        Ok(Self {
            reader,
            instance,
            events,
        })
    }

    /// Lets new events replace the oldest ones when the buffer is full.
    pub(crate) fn set_overwrite(&self) -> Result<(), TraceError> {
        self.instance.write("options/overwrite", "1")
    }

    /// Enables the events and starts recording; returns the time on the events' clock.
    pub(crate) fn start(&self) -> Result<u64, TraceError> {
        self.enable_events("1")?;
        self.instance.write("tracing_on", "1")?;
        Ok(now_ns())
    }

    /// Stops recording and disables the events: unlike with `tracing_on` alone, requests pass no active tracepoint.
    pub(crate) fn stop(&self) -> Result<(), TraceError> {
        self.instance.write("tracing_on", "0")?;
        self.enable_events("0")
    }

    fn enable_events(&self, to: &str) -> Result<(), TraceError> {
        let mut events = self.events.iter();
        events.try_for_each(|event| {
            let file = format!("events/{}/enable", event.path);
            self.instance.write(&file, to)
        })
    }
}

/// State of a capture. Times are on the events' clock (`CLOCK_BOOTTIME`, nanoseconds).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureStatus {
    /// Events lost since the start.
    pub lost_events: u64,
    /// Time since which the events are complete: the start of the capture, or the end of its last pause.
    pub complete_since: u64,
    /// Time until which the events are complete.
    pub complete_until: u64,
    /// Why no further events follow, where the kernel ended the capture.
    pub end_reason: Option<String>,
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
    /// Starts a capture. `sink` gets events in order of time, also across calls; it is called on the capture's
    /// own thread, about every 5 ms while there
    /// are events and once more at the end; the time that it takes reduces the time in which the
    /// buffers may fill. It returns how to continue.
    ///
    /// # Errors
    ///
    /// When requests cannot be traced, and why.
    pub fn start(
        roots: &SysPaths,
        devices: &[DeviceNumber],
        detail: TraceDetail,
        sink: impl FnMut(&[Event], &CaptureStatus) -> CaptureControl + Send + 'static,
    ) -> Result<Self, TraceError> {
        let recorder = EventRecorder::new(roots, devices, detail, BUFFER_KIB)?;
        let stop = Arc::new(AtomicBool::new(false));
        let kinds = recorder.events.iter().map(|event| event.kind).collect();
        let worker = CaptureWorker {
            status: CaptureStatus {
                complete_since: recorder.start()?,
                ..CaptureStatus::default()
            },
            recorder,
            stop: Arc::clone(&stop),
        };
        let thread = thread::Builder::new().name("requests".to_owned());
        let thread = thread.spawn(move || worker.run(sink));
        let failed = TraceError::refused("starting a thread for", &roots.tracing);
        Ok(Self {
            stop,
            kinds,
            thread: Some(thread.map_err(failed)?),
        })
    }

    /// The kinds of events that are recorded: not all kernels have all of them.
    #[must_use]
    pub fn kinds(&self) -> &[EventKind] {
        &self.kinds
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
    recorder: EventRecorder,
    stop: Arc<AtomicBool>,
    status: CaptureStatus,
}

impl CaptureWorker {
    fn run(mut self, mut sink: impl FnMut(&[Event], &CaptureStatus) -> CaptureControl) {
        let followed = self.capture_loop(&mut sink);
        // Otherwise reading might never end on a busy machine.
        let _ = self.recorder.instance.write("tracing_on", "0");
        let ended = followed.and(self.recorder.reader.read_events());
        let reader = &self.recorder.reader;
        self.status.lost_events = reader.missed_events + reader.dropped_events();
        self.status.complete_until = now_ns();
        let reason = ended.map_err(|error| format!("the kernel has ended the trace: {error}"));
        self.status.end_reason = reason.err();
        self.recorder
            .reader
            .deliver(None, |events| sink(events, &self.status));
    }

    /// Reads until it is stopped or the kernel refuses.
    fn capture_loop(
        &mut self,
        sink: &mut impl FnMut(&[Event], &CaptureStatus) -> CaptureControl,
    ) -> Result<(), TraceError> {
        let mut nap = MIN_SLEEP;
        while !self.stop.load(Ordering::Relaxed) {
            let started = now_ns();
            let has_read = self.recorder.reader.read_events()?;
            nap = if has_read {
                MIN_SLEEP
            } else {
                (nap * 2).min(MAX_SLEEP)
            };
            let settled = started.saturating_sub(SETTLE_TIME_NS);
            self.status.complete_until = settled.max(self.status.complete_since);
            self.status.lost_events = self.recorder.reader.missed_events;
            let reader = &mut self.recorder.reader;
            let next = reader.deliver(Some(settled), |events| sink(events, &self.status));
            match next {
                CaptureControl::Continue => thread::park_timeout(nap),
                CaptureControl::Pause(time) => self.pause(time)?,
            }
        }
        Ok(())
    }

    /// Pauses recording for a time, or until it is stopped.
    fn pause(&mut self, time: Duration) -> Result<(), TraceError> {
        self.recorder.stop()?;
        self.recorder.reader.read_events()?;
        let end = Instant::now() + time;
        while !self.stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.recorder.start()?;
                break;
            }
            thread::park_timeout(left);
        }
        self.status.complete_since = now_ns();
        self.recorder.reader.resume_at(self.status.complete_since);
        Ok(())
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
        let per_cpu = directory.path().join("per_cpu");
        fs::create_dir_all(per_cpu.join("cpu0/trace_pipe_raw")).unwrap();
        let header = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/traces/6.18/events/header_page"
        );
        let format = PageFormat::read(header.as_ref()).unwrap().unwrap();
        let names = ThreadNames::new(directory.path(), directory.path());
        let decoder = EventDecoder::default();
        let worker = CaptureWorker {
            recorder: EventRecorder {
                reader: RingReader::open(&per_cpu, decoder, format, names).unwrap(),
                instance: TraceInstance {
                    path: directory.path().to_owned(),
                    _tracefs: TracefsMount::at_path(directory.path()),
                },
                events: Vec::new(),
            },
            stop: Arc::default(),
            status: CaptureStatus::default(),
        };
        let mut ended = Vec::new();
        worker.run(|_, status| {
            ended.push(status.end_reason.clone());
            CaptureControl::Continue
        });
        let [Some(reason)] = &ended[..] else {
            panic!("{ended:?}");
        };
        assert!(reason.contains("Is a directory"), "{reason}");
    }
}
