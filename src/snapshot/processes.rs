//! Rates of processes.

pub mod by_device;
pub mod ended;

use std::collections::HashMap;
use std::time::Duration;

use self::ended::{EndedInInterval, EndedIo};
use crate::files::printable::printable_command_line;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::file_locations::{device_at_location, location_of};
use crate::probe::interval::{CLOCK_RESOLUTION, ProcessPair, SampleInterval, io_difference};
use crate::probe::process::io_priority::IoClass;
use crate::probe::sample::{
    IoPriority, ProbeNotice, ProcessIo, ProcessKey, ProcessSample, ThreadSample,
};
use crate::snapshot::view::{DeviceShare, ProcessView};
use crate::stats::sorting::SortList as _;
use crate::trace::requests::TracedIo;

/// Counters of each process when it was first sampled.
#[derive(Debug, Default)]
pub struct ProcessBaselines {
    /// When the first sample was taken.
    since: Option<Duration>,
    /// Counters of the processes that existed before that.
    initial_counters: HashMap<ProcessKey, ProcessIo>,
}

impl ProcessBaselines {
    /// Records the first sample; later ones are ignored.
    pub fn record_first_sample(&mut self, sample: &SystemSample) {
        if self.since.is_some() {
            return;
        }
        self.since = Some(sample.boot_time);
        let known = |process: &ProcessSample| Some((process.identity.key(), process.io.value()?));
        self.initial_counters = sample.processes.iter().filter_map(known).collect();
    }

    /// I/O of a process since the first sample, without that of its ended children where it is known;
    /// `None` where its initial counters are unknown.
    fn since(&self, process: &ProcessSample) -> Option<ProcessIo> {
        let identity = &process.identity;
        let all = || {
            let now = process.io.value()?;
            match self.initial_counters.get(&identity.key()) {
                Some(before) => io_difference(before, &now),
                None if identity.started + CLOCK_RESOLUTION >= self.since? => Some(now),
                None => None,
            }
        };
        process.own_io.or_else(all)
    }
}

/// The processes, the busiest first: all, or those that did I/O, waited for I/O or are blocked in
/// it, or whose requests were traced; and their threads, where they were read.
#[must_use]
pub fn process_views(
    interval: &SampleInterval<'_>,
    first: &ProcessBaselines,
    ended: &EndedInInterval,
    (all, traced): (bool, Option<&TracedIo>),
) -> Vec<ProcessView> {
    let mut views: Vec<ProcessView> = Vec::new();
    for pair in &interval.process_pairs {
        let view = process_view(pair, ended);
        if let Some(children) = ended.unseen.get(&view.pid) {
            views.push(ended_children_view(pair, children));
        }
        if all || is_active(&view) || by_device::is_traced(traced, pair) {
            let whole = add_identity(view, interval.current, pair, first);
            views.extend(thread_views(interval, pair, &whole));
            views.push(whole);
        }
    }
    sort_by_load(&mut views);
    views
}

/// The busiest first.
pub fn sort_by_load(views: &mut [ProcessView]) {
    views.sort_list_by(|a, b| {
        let order = sort_weight(b).total_cmp(&sort_weight(a));
        order.then((a.pid, a.tid).cmp(&(b.pid, b.tid)))
    });
}

/// Bytes per second of all processes at devices, ended ones included; `None` where the counters of
/// some cannot be read.
#[must_use]
pub fn total_rates(interval: &SampleInterval<'_>, ended: &EndedInInterval) -> Option<(f64, f64)> {
    interval.seconds()?;
    // Only where init alone is hidden, as in a container, is the sum of use.
    let refused = ProbeNotice::OthersIoNotPermitted;
    if interval.current.notices.contains(&refused) {
        return None;
    }
    let own = interval.process_pairs.iter();
    let own = own.filter_map(|pair| ended.own_io(pair));
    let ended = ended.unseen.values().map(|it| (it.io, it.elapsed));
    let (mut read, mut written) = (0.0, 0.0);
    for (io, elapsed) in own.chain(ended) {
        read += io.read_bytes as f64 / elapsed.as_secs_f64();
        written += io.net_write_bytes() as f64 / elapsed.as_secs_f64();
    }
    Some((read, written))
}

/// Fraction of the bytes read by all processes, 0 to 1, that came from the page cache; `None` also
/// where most counters are unreadable, as for an unprivileged user.
#[must_use]
pub fn cache_hit_fraction(interval: &SampleInterval<'_>) -> Option<f64> {
    let mut sum = ProcessIo::default();
    let mut telling = 0;
    for (io, _) in interval
        .process_pairs
        .iter()
        .filter_map(ProcessPair::io_delta)
    {
        telling += 1;
        sum.rchar = sum.rchar.saturating_add(io.rchar);
        // Read-ahead and mmap(2) read from the device more than read() requested: the excess is not
        // offset against other processes.
        sum.read_bytes = sum.read_bytes.saturating_add(io.read_bytes.min(io.rchar));
    }
    cache_fraction(&sum).filter(|_| telling * 2 >= interval.process_pairs.len())
}

/// Only the numbers: names are made printable only for processes that are shown.
fn process_view(pair: &ProcessPair<'_>, ended: &EndedInInterval) -> ProcessView {
    let process = pair.current;
    let mut view = ProcessView {
        pid: process.identity.pid,
        tid: process.identity.pid,
        state: process.state,
        ..ProcessView::default()
    };
    if let Some((io, elapsed)) = ended.own_io(pair) {
        set_rates(&mut view, &io, elapsed);
    }
    view.io_wait = pair.time_fraction(|process| process.io_delay);
    view.swap_in = pair.time_fraction(|process| process.swap_in_delay);
    view
}

/// The children of a process that ended in the interval, as one line.
fn ended_children_view(pair: &ProcessPair<'_>, ended: &EndedIo) -> ProcessView {
    let identity = &pair.current.identity;
    let mut view = ProcessView {
        pid: identity.pid,
        tid: 0,
        start_ticks: identity.start_ticks,
        exited: true,
        user: identity.user.clone().map(Into::into),
        command: printable_command_line(&identity.arguments, &identity.name).into(),
        parent_pid: identity.pid,
        ended_programs: ended.programs.clone(),
        read_accumulated_bytes: Some(ended.accumulated.read_bytes),
        write_accumulated_bytes: Some(ended.accumulated.net_write_bytes()),
        ..ProcessView::default()
    };
    set_rates(&mut view, &ended.io, ended.elapsed);
    view
}

fn add_identity(
    mut view: ProcessView,
    now: &SystemSample,
    pair: &ProcessPair<'_>,
    first: &ProcessBaselines,
) -> ProcessView {
    let process = pair.current;
    let identity = &process.identity;
    view.parent_pid = identity.parent_pid;
    view.start_ticks = identity.start_ticks;
    let command = printable_command_line(&identity.arguments, &identity.name);
    view.command = if pair.includes_ended_children() && view.rchar_bytes_per_s.is_some() {
        format!("{command} (with ended children)").into()
    } else {
        command.into()
    };
    view.user = identity.user.clone().map(Into::into);
    view.unit = process.unit.as_ref().map(|unit| unit.name.clone());
    view.unit_path = process.unit.as_ref().map(|unit| unit.path.clone());
    if let Some(io) = process.io.value() {
        view.read_total_bytes = Some(io.read_bytes);
        view.write_total_bytes = Some(io.net_write_bytes());
    }
    if let Some(io) = first.since(process) {
        view.read_accumulated_bytes = Some(io.read_bytes);
        view.write_accumulated_bytes = Some(io.net_write_bytes());
    }
    view.threads = (process.thread_count > 0).then_some(process.thread_count);
    view.priority = process.priority.map(format_priority).map(Into::into);
    view.wait_channel = process.wait_channel.as_ref().map(SafeText::from);
    view.devices = by_device::estimated_shares(&view, device_names(now, pair));
    view.devices_estimated = !view.devices.is_empty();
    view
}

/// Formats as ionice(1) and iotop(8) do.
fn format_priority(priority: IoPriority) -> String {
    match priority.class {
        IoClass::Unset => "-".to_owned(),
        IoClass::Realtime => format!("rt/{}", priority.level),
        IoClass::BestEffort => format!("be/{}", priority.level),
        IoClass::Idle => "idle".to_owned(),
    }
}

/// The devices of its open files, those whose file offsets io first; each once.
fn device_names(now: &SystemSample, pair: &ProcessPair<'_>) -> Vec<SafeText> {
    // Of thousands of files nearly all are on one device: find distinct locations first, then look
    // up few names.
    let (mut moving, mut resting) = (Vec::new(), Vec::new());
    for file in pair.current.files.iter() {
        let locations = if pair.previous_file(file) == Some(file) {
            &mut resting
        } else {
            &mut moving
        };
        let location = location_of(file);
        if !locations.contains(&location) {
            locations.push(location);
        }
    }
    let mut names: Vec<SafeText> = Vec::new();
    for location in moving.into_iter().chain(resting) {
        if let Some(name) = device_at_location(now, location).map(SafeText::from)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Device bytes count first; bytes served from the cache break ties.
fn sort_weight(view: &ProcessView) -> f64 {
    let device = view.read_bytes_per_s.unwrap_or(0.0) + view.write_bytes_per_s.unwrap_or(0.0);
    let traced = view.devices.iter().map(DeviceShare::total_bytes_per_s);
    let device = traced.fold(device, f64::max);
    let requested = view.rchar_bytes_per_s.unwrap_or(0.0) + view.wchar_bytes_per_s.unwrap_or(0.0);
    device + view.io_wait.unwrap_or(0.0) + requested * 1e-9
}

fn set_rates(view: &mut ProcessView, io: &ProcessIo, elapsed: Duration) {
    let per_second = |bytes: u64| Some(bytes as f64 / elapsed.as_secs_f64());
    view.read_bytes_per_s = per_second(io.read_bytes);
    // The cancelled bytes may have been written in an earlier interval.
    view.write_bytes_per_s = per_second(io.net_write_bytes());
    view.rchar_bytes_per_s = per_second(io.rchar);
    view.wchar_bytes_per_s = per_second(io.wchar);
    view.read_syscalls_per_s = per_second(io.read_calls);
    view.write_syscalls_per_s = per_second(io.write_calls);
    view.cache_fraction = cache_fraction(io);
}

fn is_active(view: &ProcessView) -> bool {
    let rates = [
        view.read_bytes_per_s,
        view.write_bytes_per_s,
        view.rchar_bytes_per_s,
        view.wchar_bytes_per_s,
        view.io_wait,
    ];
    view.state == Some('D') || rates.into_iter().flatten().any(|rate| rate > 0.0)
}

/// Fraction of the bytes read that came from the page cache. Read-ahead may fetch more than
/// requested; then nothing came from the cache.
fn cache_fraction(io: &ProcessIo) -> Option<f64> {
    (io.rchar > 0).then(|| (1.0 - io.read_bytes as f64 / io.rchar as f64).clamp(0.0, 1.0))
}

/// The active threads, where threads were read; `whole` is their process.
fn thread_views(
    interval: &SampleInterval<'_>,
    pair: &ProcessPair<'_>,
    whole: &ProcessView,
) -> Vec<ProcessView> {
    let Some(tasks) = &pair.current.thread_samples else {
        return Vec::new();
    };
    let earlier = pair.previous.zip(interval.seconds());
    let view = |task: &ThreadSample| {
        let mut view = ProcessView {
            pid: whole.pid,
            start_ticks: whole.start_ticks,
            tid: task.tid,
            user: whole.user.clone(),
            command: SafeText::from_bytes(&task.name),
            state: task.state,
            // The process is the parent of its threads.
            parent_pid: whole.pid,
            devices: whole
                .devices
                .iter()
                .map(|share| DeviceShare::named(share.name.clone()))
                .collect(),
            devices_estimated: whole.devices_estimated,
            ..ProcessView::default()
        };
        if let Some((earlier, seconds)) = earlier
            && let Some(was) = find_thread(earlier, task.tid)
        {
            set_thread_rates(&mut view, was, task, Duration::from_secs_f64(seconds));
        }
        if let Some(io) = task.io {
            view.read_total_bytes = Some(io.read_bytes);
            view.write_total_bytes = Some(io.net_write_bytes());
        }
        view
    };
    tasks.iter().map(view).filter(is_active).collect()
}

fn find_thread(process: &ProcessSample, tid: u32) -> Option<&ThreadSample> {
    process
        .thread_samples
        .as_ref()?
        .iter()
        .find(|task| task.tid == tid)
}

fn set_thread_rates(
    view: &mut ProcessView,
    was: &ThreadSample,
    task: &ThreadSample,
    elapsed: Duration,
) {
    if let (Some(before), Some(after)) = (was.io, task.io)
        && let Some(io) = io_difference(&before, &after)
    {
        set_rates(view, &io, elapsed);
    }
    if let (Some(before), Some(after)) = (was.io_delay, task.io_delay) {
        let share = after.saturating_sub(before).as_secs_f64() / elapsed.as_secs_f64();
        view.io_wait = Some(share.min(1.0));
    }
}
