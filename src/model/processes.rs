//! Rates of processes.

use std::collections::HashMap;
use std::time::Duration;

use crate::probe::Sample;
use crate::probe::sample::{IoPriority, Process, ProcessIo};

use super::interval::{CLOCK_GRAIN, Interval, Pair, difference};
use super::live::ProcessView;
use super::places::{device_at, place_of};
use crate::drive::ioctl::IoClass;
use crate::printable::command_line;
use crate::safe_text::SafeText;

mod threads;

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
pub fn views(interval: &Interval<'_>, first: &Baseline, all: bool) -> Vec<ProcessView> {
    let mut views: Vec<ProcessView> = Vec::new();
    for pair in &interval.pairs {
        let view = view(pair);
        if all || is_active(&view) {
            let whole = finish(view, interval.now, pair, first);
            views.extend(threads::views(interval, pair, &whole));
            views.push(whole);
        }
    }
    views.sort_by(|a, b| {
        let order = weight(b).total_cmp(&weight(a));
        order.then((a.pid, a.tid).cmp(&(b.pid, b.tid)))
    });
    views
}

/// Share of the bytes, 0 to 1, that all processes read and that no device had to deliver; `None`
/// also where most processes do not tell, as to an ordinary user.
#[must_use]
pub fn cache_hits(interval: &Interval<'_>) -> Option<f64> {
    let mut sum = ProcessIo::default();
    let mut telling = 0;
    for (io, _) in interval.pairs.iter().filter_map(Pair::moved) {
        telling += 1;
        sum.asked_read = sum.asked_read.saturating_add(io.asked_read);
        // A process reads ahead or by mmap(2) what it never asks for: no other pays for it.
        sum.read = sum.read.saturating_add(io.read.min(io.asked_read));
    }
    cached(&sum).filter(|_| telling * 2 >= interval.pairs.len())
}

/// The numbers alone: names are made printable for those that are shown.
fn view(pair: &Pair<'_>) -> ProcessView {
    let process = pair.now;
    let mut view = ProcessView {
        pid: process.identity.pid,
        tid: process.identity.pid,
        state: process.state,
        ..ProcessView::default()
    };
    if let Some((moved, elapsed)) = pair.moved() {
        set_rates(&mut view, &moved, elapsed);
    }
    view.io_wait = pair.share(|process| process.waited);
    view.swap_in = pair.share(|process| process.swapped);
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

fn finish(mut view: ProcessView, now: &Sample, pair: &Pair<'_>, first: &Baseline) -> ProcessView {
    let process = pair.now;
    let identity = &process.identity;
    view.parent = identity.parent;
    view.start_ticks = identity.start_ticks;
    view.command = command_line(&identity.arguments, &identity.name).into();
    view.user = identity.user.clone().map(Into::into);
    if let Some(io) = process.io.value() {
        view.read_total_bytes = Some(io.read);
        view.write_total_bytes = Some(io.written.saturating_sub(io.cancelled));
    }
    if let Some(io) = first.since(process) {
        view.read_accumulated_bytes = Some(io.read);
        view.write_accumulated_bytes = Some(io.written.saturating_sub(io.cancelled));
    }
    view.threads = (process.threads > 0).then_some(process.threads);
    view.priority = process.priority.map(priority).map(Into::into);
    view.blocked_in = process.blocked_in.as_ref().map(SafeText::from);
    view.devices = devices(now, pair);
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
fn devices(now: &Sample, pair: &Pair<'_>) -> Vec<SafeText> {
    // Of thousands of files nearly all lie on one device: places first, names of few.
    let (mut moving, mut resting) = (Vec::new(), Vec::new());
    for file in pair.now.files.iter() {
        let places = if pair.file_before(file) == Some(file) {
            &mut resting
        } else {
            &mut moving
        };
        let place = place_of(file);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mut names: Vec<SafeText> = Vec::new();
    for place in moving.into_iter().chain(resting) {
        if let Some(name) = device_at(now, place).map(SafeText::from)
            && !names.contains(&name)
        {
            names.push(name);
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
