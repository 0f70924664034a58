//! Rates of processes.

use std::collections::HashMap;
use std::time::Duration;

use crate::probe::Sample;
use crate::probe::sample::{IoPriority, OpenFile, Process, ProcessIo};

use super::live::ProcessView;
use super::places::device_of;
use super::transfers::open_file;
use crate::drive::ioctl::IoClass;
use crate::printable::{command_line, printable};

mod threads;

/// A process that began so shortly before the sample before may have been missed by it.
const CLOCK_GRAIN: Duration = Duration::from_millis(10);

/// What each process had moved when it was seen first.
#[derive(Debug, Default)]
pub struct Baseline {
    /// When the first sample was taken.
    since: Option<Duration>,
    /// Counters of the processes that were there before that, by process id and beginning.
    earlier: HashMap<(u32, u64), ProcessIo>,
}

impl Baseline {
    /// Takes note of the first sample; later ones tell nothing new.
    pub fn learn(&mut self, sample: &Sample) {
        if self.since.is_some() {
            return;
        }
        self.since = Some(sample.at);
        let known = |process: &Process| {
            let identity = &process.identity;
            Some(((identity.pid, identity.start_ticks), process.io.value()?))
        };
        self.earlier = sample.processes.iter().filter_map(known).collect();
    }

    /// What a process has moved since; `None` where it is not known what it had moved before.
    fn since(&self, process: &Process) -> Option<ProcessIo> {
        let identity = &process.identity;
        let now = process.io.value()?;
        match self.earlier.get(&(identity.pid, identity.start_ticks)) {
            Some(before) => difference(before, &now),
            None => (identity.started + CLOCK_GRAIN >= self.since?).then_some(now),
        }
    }
}

/// The processes, the busiest first: all of them, or those that moved something, waited for I/O or
/// hang in it; and their threads, where they were read.
#[must_use]
pub fn views(
    before: Option<&Sample>,
    now: &Sample,
    first: &Baseline,
    all: bool,
) -> Vec<ProcessView> {
    let mut views: Vec<ProcessView> = Vec::new();
    for process in &now.processes {
        let view = view(before, now, process);
        if all || is_active(&view) {
            let whole = finish(view, (before, now), process, first);
            views.extend(threads::views(before, now, process, &whole));
            views.push(whole);
        }
    }
    views.sort_by(|a, b| {
        let order = weight(b).total_cmp(&weight(a));
        order.then((a.pid, a.tid).cmp(&(b.pid, b.tid)))
    });
    views
}

/// Share of the bytes, 0 to 1, that all processes read and that no device had to deliver.
#[must_use]
pub fn cache_hits(before: &Sample, now: &Sample) -> Option<f64> {
    let mut sum = ProcessIo::default();
    for process in &now.processes {
        if let Some((io, _)) = moved(before, now, process) {
            sum.asked_read = sum.asked_read.saturating_add(io.asked_read);
            // A process reads ahead or by mmap(2) what it never asks for: no other pays for it.
            sum.read = sum.read.saturating_add(io.read.min(io.asked_read));
        }
    }
    cached(&sum)
}

/// The same process in another sample; samples are sorted by process id.
#[must_use]
pub fn same<'s>(sample: &'s Sample, process: &Process) -> Option<&'s Process> {
    let wanted = &process.identity;
    let found = sample
        .processes
        .binary_search_by_key(&wanted.pid, |other| other.identity.pid)
        .ok()?;
    let found = &sample.processes[found];
    (found.identity.start_ticks == wanted.start_ticks).then_some(found)
}

/// What a process moved between two readings of its counters, and the time between them.
///
/// The counters of a process that has moved nothing for a while are not read for every sample. In
/// the samples between it counts as quiet still, and what it did meanwhile is spread over the time
/// since the reading before.
#[must_use]
pub fn moved(before: &Sample, now: &Sample, process: &Process) -> Option<(ProcessIo, Duration)> {
    let elapsed = now
        .at
        .checked_sub(before.at)
        .filter(|time| !time.is_zero())?;
    let after = process.io.value()?;
    let began_since = process.identity.started + CLOCK_GRAIN >= before.at;
    let (earlier, elapsed) = match same(before, process) {
        Some(earlier) => (
            earlier.io.value()?,
            between_readings(earlier, process, elapsed),
        ),
        None if began_since => (ProcessIo::default(), elapsed),
        None => return None,
    };
    Some((difference(&earlier, &after)?, elapsed))
}

/// Time between the readings of a process's counters; that between the samples where they were
/// not read anew.
fn between_readings(earlier: &Process, now: &Process, samples: Duration) -> Duration {
    now.read_at
        .checked_sub(earlier.read_at)
        .filter(|time| !time.is_zero())
        .unwrap_or(samples)
}

fn difference(before: &ProcessIo, now: &ProcessIo) -> Option<ProcessIo> {
    Some(ProcessIo {
        asked_read: now.asked_read.checked_sub(before.asked_read)?,
        asked_write: now.asked_write.checked_sub(before.asked_write)?,
        read_calls: now.read_calls.checked_sub(before.read_calls)?,
        write_calls: now.write_calls.checked_sub(before.write_calls)?,
        read: now.read.checked_sub(before.read)?,
        written: now.written.checked_sub(before.written)?,
        cancelled: now.cancelled.checked_sub(before.cancelled)?,
    })
}

/// The numbers alone: names are made printable for those that are shown.
fn view(before: Option<&Sample>, now: &Sample, process: &Process) -> ProcessView {
    let mut view = ProcessView {
        pid: process.identity.pid,
        tid: process.identity.pid,
        state: process.state,
        ..ProcessView::default()
    };
    let Some(before) = before else {
        return view;
    };
    if let Some((moved, elapsed)) = moved(before, now, process) {
        set_rates(&mut view, &moved, elapsed);
    }
    view.io_wait = waited(before, now, process, |process| process.waited);
    view.swap_in = waited(before, now, process, |process| process.swapped);
    view
}

fn set_rates(view: &mut ProcessView, moved: &ProcessIo, elapsed: Duration) {
    let per_second = |bytes: u64| Some(bytes as f64 / elapsed.as_secs_f64());
    view.read_bytes_per_s = per_second(moved.read);
    // What was thrown away may have been written in an earlier interval.
    view.write_bytes_per_s = per_second(moved.written.saturating_sub(moved.cancelled));
    view.asked_read_bytes_per_s = per_second(moved.asked_read);
    view.asked_write_bytes_per_s = per_second(moved.asked_write);
    view.cached = cached(moved);
}

/// Share of the bytes read that no device had to deliver. More may be fetched than asked for
/// (read-ahead) and then nothing was served from the cache.
fn cached(moved: &ProcessIo) -> Option<f64> {
    (moved.asked_read > 0)
        .then(|| (1.0 - moved.read as f64 / moved.asked_read as f64).clamp(0.0, 1.0))
}

/// Several threads may wait at once, and a long wait is counted when it ends: 1 is the most.
fn waited(
    before: &Sample,
    now: &Sample,
    process: &Process,
    total: fn(&Process) -> Option<Duration>,
) -> Option<f64> {
    let earlier = same(before, process)?;
    let samples = now.at.checked_sub(before.at)?;
    let elapsed = between_readings(earlier, process, samples).as_secs_f64();
    let waited = total(process)?.checked_sub(total(earlier)?)?.as_secs_f64();
    (elapsed > 0.0).then(|| (waited / elapsed).min(1.0))
}

fn finish(
    mut view: ProcessView,
    samples: (Option<&Sample>, &Sample),
    process: &Process,
    first: &Baseline,
) -> ProcessView {
    let identity = &process.identity;
    view.parent = identity.parent;
    view.command = command_line(&identity.arguments, &identity.name);
    view.user = identity.user.clone();
    if let Some(io) = process.io.value() {
        view.read_total_bytes = Some(io.read);
        view.write_total_bytes = Some(io.written.saturating_sub(io.cancelled));
    }
    if let Some(io) = first.since(process) {
        view.read_accumulated_bytes = Some(io.read);
        view.write_accumulated_bytes = Some(io.written.saturating_sub(io.cancelled));
    }
    view.threads = (process.threads > 0).then_some(process.threads);
    view.priority = process.priority.map(priority);
    view.blocked_in = process
        .blocked_in
        .as_ref()
        .map(|name| printable(name.as_bytes()));
    view.devices = devices(samples, process);
    view
}

/// As ionice(1) and iotop(8) write it.
fn priority(priority: IoPriority) -> String {
    match priority.class {
        IoClass::Unset => "-".to_owned(),
        IoClass::Realtime => format!("rt/{}", priority.level),
        IoClass::BestEffort => format!("be/{}", priority.level),
        IoClass::Idle => "idle".to_owned(),
    }
}

/// The devices of its open files, those whose files moved first; each once.
fn devices((before, now): (Option<&Sample>, &Sample), process: &Process) -> Vec<String> {
    let earlier = before.and_then(|before| same(before, process));
    let moves = |file: &OpenFile| {
        let was = earlier.and_then(|earlier| open_file(earlier, file.descriptor, file.inode));
        was.is_none_or(|was| was != file)
    };
    let mut names: Vec<String> = Vec::new();
    for moving in [true, false] {
        for file in process.files.iter().filter(|file| moves(file) == moving) {
            if let Some(name) = device_of(now, file).map(|name| printable(name.as_bytes()))
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
    }
    names
}

fn is_active(view: &ProcessView) -> bool {
    let rates = [
        view.read_bytes_per_s,
        view.write_bytes_per_s,
        view.asked_read_bytes_per_s,
        view.asked_write_bytes_per_s,
        view.io_wait,
    ];
    view.state == Some('D') || rates.into_iter().flatten().any(|rate| rate > 0.0)
}

/// Bytes at devices come first; what only the cache served breaks ties.
fn weight(view: &ProcessView) -> f64 {
    let device = view.read_bytes_per_s.unwrap_or(0.0) + view.write_bytes_per_s.unwrap_or(0.0);
    let asked =
        view.asked_read_bytes_per_s.unwrap_or(0.0) + view.asked_write_bytes_per_s.unwrap_or(0.0);
    device + view.io_wait.unwrap_or(0.0) + asked * 1e-9
}
