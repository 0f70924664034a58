//! A capture: a tracefs instance, and a thread that reads its buffers.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::decode::EventDecoder;
use super::enabled::{ENABLED_EVENTS, EnabledEvent, EventKind, FILE_EVENTS, SUBSTITUTE_EVENTS};
use super::error::TraceError;
use super::event::{BlockEvent, DeviceNumber};
use super::file_event::FileEvent;
use super::instance::TraceInstance;
use super::names::ThreadNames;
use super::page::PageFormat;
use super::ring_reader::{RingReader, SETTLE_TIME_NS};
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
    pub detail: CaptureDetail,
}

/// Which events a capture records. Fewer events cost the traced processes less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaptureDetail {
    /// All steps of requests.
    #[default]
    Requests,
    /// Only what is needed to separate Q2D from D2C.
    QueueAndDrive,
    /// The start and the end of each bio, and the events of files.
    Files,
}

impl CaptureDetail {
    fn includes(self, event: &EnabledEvent) -> bool {
        match self {
            Self::Requests => true,
            Self::QueueAndDrive => event.is_for_queue_and_drive(),
            Self::Files => event.is_for_files(),
        }
    }

    /// The events of this level of detail, also those that the kernel lacks.
    fn wanted_events(self) -> Vec<EnabledEvent> {
        let files: &[&[EnabledEvent]] = match self {
            Self::Files => &[FILE_EVENTS, SUBSTITUTE_EVENTS],
            Self::Requests | Self::QueueAndDrive => &[],
        };
        let all = ENABLED_EVENTS.iter().chain(files.iter().copied().flatten());
        all.filter(|event| self.includes(event)).copied().collect()
    }
}

/// The wanted events that the kernel has, without substitutes for those that it has.
fn available_events(wanted: Vec<EnabledEvent>, missing: &[EnabledEvent]) -> Vec<EnabledEvent> {
    let available: Vec<EnabledEvent> = wanted
        .into_iter()
        .filter(|event| !missing.contains(event))
        .collect();
    available
        .iter()
        .filter(|event| !event.is_redundant_with(&available))
        .copied()
        .collect()
}

/// An instance whose events are chosen and which is not recording yet. The field order matters: the
/// buffers have to be closed before the instance can be removed.
#[derive(Debug)]
pub(super) struct PreparedTrace {
    /// Reads its buffers.
    pub(super) ring_reader: RingReader,
    /// The instance.
    pub(super) instance: TraceInstance,
    /// The events to enable.
    pub(super) enabled_events: Vec<EnabledEvent>,
}

/// Creates an instance with a buffer of this size for each processor.
pub(super) fn prepare_trace(
    roots: &SysPaths,
    settings: &CaptureSettings,
    buffer_kib: u32,
) -> Result<PreparedTrace, TraceError> {
    let tracefs = TracefsMount::open(roots)?;
    let events = tracefs.root().join("events");
    let wanted = settings.detail.wanted_events();
    let (decoder, missing) = EventDecoder::from_format_files(&events, &wanted);
    if let Some(one) = missing.iter().find(|one| one.required) {
        return Err(missing_event_error(&events, one.path));
    }
    let header = events.join("header_page");
    let format = PageFormat::read(&header)
        .map_err(TraceError::from_io_error("reading", &header))?
        .ok_or(TraceError::UnknownFormat { path: header })?;
    let instance = TraceInstance::create(roots, tracefs, buffer_kib)?;
    let names = ThreadNames::new(&roots.proc, instance.tracefs());
    let ring_reader = RingReader::open(&instance.processor_directories()?, decoder, format, names)?;
    let enabled_events = available_events(wanted, &missing);
    instance.set_filters(&enabled_events, &settings.devices)?;
    Ok(PreparedTrace {
        ring_reader,
        instance,
        enabled_events,
    })
}

/// Why an event that is needed is missing: who may not read tracefs finds none.
fn missing_event_error(events: &Path, event: &'static str) -> TraceError {
    let format = events.join(event).join("format");
    match File::open(&format) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            TraceError::from_io_error("reading", &format)(error)
        }
        _ => TraceError::NoBlockEvents { event },
    }
}

/// A batch of events from the thread.
#[derive(Debug, Clone, Copy)]
pub struct EventBatch<'e> {
    /// Events in order of time, also across batches.
    pub events: &'e [BlockEvent],
    /// Events of files in order of time, also across batches; only at that level of detail.
    pub file_events: &'e [FileEvent],
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
    enabled_events: Vec<EnabledEvent>,
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
        let PreparedTrace {
            ring_reader,
            instance,
            enabled_events: events,
        } = prepare_trace(roots, settings, BUFFER_KIB)?;
        instance.start_recording(&events)?;
        let stop = Arc::new(AtomicBool::new(false));
        let worker = CaptureWorker {
            ring_reader,
            instance,
            enabled_events: events.clone(),
            stop: Arc::clone(&stop),
            lost_events: 0,
            complete_since: nanoseconds(boot_time()),
        };
        let thread = thread::Builder::new()
            .name("requests".to_owned())
            .spawn(move || worker.run(sink))
            .map_err(TraceError::from_io_error(
                "starting a thread for",
                &roots.tracing,
            ))?;
        Ok(Self {
            stop,
            enabled_events: events,
            thread: Some(thread),
        })
    }

    /// Whether an event is recorded: not all kernels have all of them.
    #[must_use]
    pub fn records(&self, kind: EventKind) -> bool {
        self.enabled_events.iter().any(|event| event.kind == kind)
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

/// State of the thread. The field order matters: the buffers have to be closed before the instance
/// can be removed.
struct CaptureWorker {
    ring_reader: RingReader,
    instance: TraceInstance,
    enabled_events: Vec<EnabledEvent>,
    stop: Arc<AtomicBool>,
    lost_events: u64,
    complete_since: u64,
}

impl CaptureWorker {
    fn run(mut self, mut sink: impl FnMut(EventBatch<'_>) -> CaptureControl) {
        let followed = self.capture_loop(&mut sink);
        // Without this, reading might never end on a busy machine.
        let _ = self.instance.stop_recording();
        let ended = followed
            .and(self.ring_reader.read_events().map(|_| ()))
            .err();
        self.lost_events = self.ring_reader.lost_events();
        self.deliver_batch(None, ended.as_ref(), &mut sink);
    }

    /// Reads until it is stopped or the kernel refuses.
    fn capture_loop(
        &mut self,
        sink: &mut impl FnMut(EventBatch<'_>) -> CaptureControl,
    ) -> io::Result<()> {
        let mut nap = MIN_SLEEP;
        let mut counted = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let started = nanoseconds(boot_time());
            nap = match self.ring_reader.read_events()? {
                0 => (nap * 2).min(MAX_SLEEP),
                _ => MIN_SLEEP,
            };
            if counted.elapsed() >= LOST_COUNT_INTERVAL {
                self.lost_events = self.ring_reader.lost_events();
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
        self.instance
            .disable_events(&self.enabled_events)
            .map_err(io::Error::other)?;
        self.ring_reader.read_events()?;
        let end = Instant::now() + time;
        while !self.stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.instance
                    .start_recording(&self.enabled_events)
                    .map_err(io::Error::other)?;
                break;
            }
            thread::park_timeout(left);
        }
        self.complete_since = nanoseconds(boot_time());
        self.ring_reader.resume_at(self.complete_since);
        Ok(())
    }

    fn deliver_batch(
        &mut self,
        started: Option<u64>,
        ended: Option<&io::Error>,
        sink: &mut impl FnMut(EventBatch<'_>) -> CaptureControl,
    ) -> CaptureControl {
        let (lost, since) = (self.lost_events, self.complete_since);
        let until = started.map_or_else(
            || nanoseconds(boot_time()),
            |started| started.saturating_sub(SETTLE_TIME_NS).max(since),
        );
        self.ring_reader
            .deliver_settled(started, |events, file_events| {
                sink(EventBatch {
                    events,
                    file_events,
                    lost_events: lost,
                    complete_since: since,
                    complete_until: until,
                    end_error: ended,
                })
            })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
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
        let worker = CaptureWorker {
            ring_reader: RingReader::open(&[processor], EventDecoder::default(), format, names)
                .unwrap(),
            instance: TraceInstance::at_path(directory.path().to_owned()),
            enabled_events: Vec::new(),
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
