//! A capture: an instance, and a thread that empties it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::decode::{Decoder, WANTED, Wanted};
use super::drain::{Drain, SETTLED};
use super::error::TraceError;
use super::event::{BlockEvent, Number};
use super::instance::Instance;
use super::names::Names;
use super::page::PageFormat;
use super::tracefs::Tracefs;
use crate::probe::collector::now;
use crate::roots::Roots;

/// Buffer of each processor: at 300,000 events a second of 64 bytes it lasts 400 ms.
const BUFFER_KIB: u32 = 8 * 1024;
/// How long the thread sleeps after it found something.
const SHORTEST_NAP: Duration = Duration::from_millis(5);
/// How long it sleeps at most while nothing happens.
const LONGEST_NAP: Duration = Duration::from_millis(40);
/// How often the kernel's counts of lost events are read.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// What is captured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Devices, of a drive also its partitions: the numbers in whose name events come. Empty: all.
    pub devices: Vec<Number>,
    /// Leaves out all events that are not needed to tell the kernel's queue from the drive, so as
    /// to cost little beside a benchmark.
    pub coarse: bool,
}

/// What the thread hands over.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'e> {
    /// Events in order of time, also from one batch to the next.
    pub events: &'e [BlockEvent],
    /// Events lost since the beginning.
    pub lost: u64,
    /// Since when everything is handed over, on the events' clock: the capture's beginning, or
    /// the end of its last rest.
    pub since: u64,
    /// Up to when everything was handed over, on the events' clock.
    pub until: u64,
    /// Why nothing follows, where the kernel ended the capture.
    pub ended: Option<&'e io::Error>,
}

/// What a capture does after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It goes on.
    Follow,
    /// It has the kernel record nothing for this long, at no cost to anybody's requests, and then
    /// goes on. What is under way meanwhile is not seen to its end.
    Rest(Duration),
}

/// Follows requests until it is stopped or dropped; nothing of it stays behind in the kernel.
#[derive(Debug)]
pub struct Capture {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Capture {
    /// Begins. `sink` is called on the capture's own thread, about every 5 ms while there is
    /// something to tell and once more at the end; what it takes is taken from the time in which
    /// the buffers may fill. It says how to go on.
    ///
    /// # Errors
    /// When requests cannot be followed here, and why.
    pub fn start(
        roots: &Roots,
        settings: &Settings,
        sink: impl FnMut(Batch<'_>) -> Then + Send + 'static,
    ) -> Result<Self, TraceError> {
        let tracefs = Tracefs::open(roots)?;
        let events = tracefs.root().join("events");
        let (decoder, missing) = Decoder::read(&events);
        let is_wanted =
            |one: &&Wanted| !missing.contains(one) && (!settings.coarse || one.is_coarse());
        if let Some(one) = missing.iter().find(|one| one.required) {
            return Err(TraceError::NoEvents { event: one.path });
        }
        let header = events.join("header_page");
        let format = PageFormat::read(&header)
            .map_err(TraceError::of("reading", &header))?
            .ok_or(TraceError::Format { path: header })?;
        let instance = Instance::create(roots, tracefs, BUFFER_KIB)?;
        let names = Names::new(&roots.proc, instance.tracefs());
        let drain = Drain::open(&instance.processors()?, decoder, format, names)?;
        let events: Vec<Wanted> = WANTED.iter().filter(is_wanted).copied().collect();
        instance.restrict(&events, &settings.devices)?;
        instance.begin(&events)?;
        let stop = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            drain,
            instance,
            events,
            stop: Arc::clone(&stop),
            lost: 0,
            since: nanoseconds(now()),
        };
        let thread = thread::Builder::new()
            .name("requests".to_owned())
            .spawn(move || worker.run(sink))
            .map_err(TraceError::of("starting a thread for", &roots.tracing))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends after everything recorded until now was handed over. Returns when the instance is
    /// gone.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic on the thread was reported by the hook; the instance went with its stack.
            let _ = thread.join();
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread works on. The order matters: the buffers have to be closed before the
/// instance can be removed.
struct Worker {
    drain: Drain,
    instance: Instance,
    events: Vec<Wanted>,
    stop: Arc<AtomicBool>,
    lost: u64,
    since: u64,
}

impl Worker {
    fn run(mut self, mut sink: impl FnMut(Batch<'_>) -> Then) {
        let followed = self.follow(&mut sink);
        // Without this the reading might never come to an end on a busy machine.
        let _ = self.instance.pause();
        let ended = followed.and(self.drain.read().map(|_| ())).err();
        self.lost = self.drain.lost();
        self.hand_over(None, ended.as_ref(), &mut sink);
    }

    /// Until it is stopped or the kernel refuses.
    fn follow(&mut self, sink: &mut impl FnMut(Batch<'_>) -> Then) -> io::Result<()> {
        let mut nap = SHORTEST_NAP;
        let mut counted = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let started = nanoseconds(now());
            nap = match self.drain.read()? {
                0 => (nap * 2).min(LONGEST_NAP),
                _ => SHORTEST_NAP,
            };
            if counted.elapsed() >= COUNT_EVERY {
                self.lost = self.drain.lost();
                counted = Instant::now();
            }
            match self.hand_over(Some(started), None, sink) {
                Then::Follow => thread::park_timeout(nap),
                Then::Rest(time) => self.rest(time)?,
            }
        }
        Ok(())
    }

    /// Has nothing recorded for a while, or until it is stopped.
    fn rest(&mut self, time: Duration) -> io::Result<()> {
        self.instance
            .silence(&self.events)
            .map_err(io::Error::other)?;
        self.drain.read()?;
        let end = Instant::now() + time;
        while !self.stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.instance
                    .begin(&self.events)
                    .map_err(io::Error::other)?;
                break;
            }
            thread::park_timeout(left);
        }
        self.since = nanoseconds(now());
        self.drain.resume(self.since);
        Ok(())
    }

    fn hand_over(
        &mut self,
        started: Option<u64>,
        ended: Option<&io::Error>,
        sink: &mut impl FnMut(Batch<'_>) -> Then,
    ) -> Then {
        let (lost, since) = (self.lost, self.since);
        let until = started.map_or_else(
            || nanoseconds(now()),
            |started| started.saturating_sub(SETTLED).max(since),
        );
        self.drain.settle(started, |events| {
            sink(Batch {
                events,
                lost,
                since,
                until,
                ended,
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
    fn a_capture_that_the_kernel_ends_says_so() {
        let directory = tempfile::tempdir().unwrap();
        // A directory can be opened, but refuses to be read.
        let processor = directory.path().join("per_cpu/cpu0");
        fs::create_dir_all(processor.join("trace_pipe_raw")).unwrap();
        let header = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/traces/6.18/events/header_page"
        );
        let format = PageFormat::read(header.as_ref()).unwrap().unwrap();
        let names = Names::new(directory.path(), directory.path());
        let worker = Worker {
            drain: Drain::open(&[processor], Decoder::default(), format, names).unwrap(),
            instance: Instance::of_a_test(directory.path().to_owned()),
            events: Vec::new(),
            stop: Arc::default(),
            lost: 0,
            since: 0,
        };
        let mut ended = Vec::new();
        worker.run(|batch| {
            ended.push(batch.ended.map(io::Error::kind));
            Then::Follow
        });
        assert_eq!(ended, [Some(io::ErrorKind::IsADirectory)]);
    }
}
