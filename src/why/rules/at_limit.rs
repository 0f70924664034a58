//! The busiest or longest-waiting work is at what limits it, and nobody else suffers: a note, so that a
//! high I/O pressure and every task that is blocked for long are explained by name.

use std::collections::BTreeMap;

use super::group_limits::{GroupAtLimit, at_quota};
use super::prelude::*;
use crate::probe::waits::locks::LockWait;
use crate::text::root_advice;

pub(super) use super::prelude::busiest_evidence as evidence;

/// Tasks that are explained at most.
const MAX_WAITERS: usize = 4;
/// I/O pressure that is explained by name, however short the waits of each task are.
const HIGH_PRESSURE: f64 = 0.2;
/// Fraction of the time that a task waits from which it may be the one that makes the pressure.
const SOME_WAITING: f64 = 0.02;
/// Requests in flight up to which a task issues one request after the other.
const ONE_REQUEST: f64 = 1.5;
/// Requests in flight compared with the time that a task waits, below which it waits for something else.
const FEW_IN_FLIGHT: f64 = 0.25;
/// Requests in flight from which a device is at the limit of what its users make of it.
const FULL_QUEUE: f64 = 1.8;
/// Share of the traffic that makes a device one process's own.
const OWN_SHARE: f64 = 0.8;
/// Fraction of the requests that are flushed from which the flushes are the limit.
const FLUSHED: f64 = 0.2;
/// Latency in nanoseconds from which a read of a device of unknown kind is a seek.
const SEEK_LATENCY: f64 = 3e6;

/// What helps work that has one request in flight at a time.
pub(super) const MORE_IN_FLIGHT: &str = "more requests in flight: several threads, asynchronous I/O, or read-ahead; `diskscope run concurrency-read` shows what the device gains from it";

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let pressure = analysis.io_pressure.filter(|it| *it >= HIGH_PRESSURE);
    let locks = lock_waits(analysis);
    // What the holder of a lock waits for is said of those who wait for it.
    let blocked = analysis.blocked(SUFFERING);
    let blocked = blocked.filter(|waiter| !locks.contains_key(&waiter.pid));
    let mut waiters: Vec<&Waiter> = blocked.take(MAX_WAITERS).collect();
    if waiters.is_empty() && pressure.is_some() {
        waiters.extend(analysis.blocked(SOME_WAITING).next());
    }
    let mut causes: Vec<Cause> = waiters.iter().map(|it| of_waiter(analysis, it)).collect();
    // Work that waits in another way than in uninterruptible sleep, such as with io_uring.
    let full = |it: &&DeviceSummary| {
        it.queue >= FULL_QUEUE && it.iops > 0.0 && analysis.blocked_on(it, SUFFERING).is_empty()
    };
    let mut full: Vec<&DeviceSummary> = analysis.whole_devices().filter(full).collect();
    full.sort_list_by(|a, b| b.queue.total_cmp(&a.queue));
    causes.extend(full.into_iter().map(|device| of_device(analysis, device)));
    let quotas = at_quota(analysis);
    causes.extend(quotas.iter().map(|group| of_quota(analysis, group)));
    let locks = locks.iter();
    causes.extend(locks.map(|(holder, waiting)| of_lock(analysis, *holder, waiting)));
    if causes.is_empty() && pressure.is_some() {
        causes.extend(of_pressure(analysis));
    }
    Ok(lowest(analysis, causes))
}

/// The device that a task waits for: the one of its own with the most requests in flight.
fn awaited_device<'a>(analysis: &'a Analysis<'_>, waiter: &Waiter) -> Option<&'a DeviceSummary> {
    let devices = analysis.whole_devices();
    let own = devices.filter(|device| analysis.is_on(&waiter.devices, device));
    own.max_by(|a, b| a.queue.total_cmp(&b.queue))
}

fn of_waiter(analysis: &Analysis<'_>, waiter: &Waiter) -> Cause {
    let mut cause = analysis.cause(Severity::Note);
    suffer(&mut cause, &[waiter]);
    analysis.prove_sleep(&mut cause, waiter);
    let device = awaited_device(analysis, waiter);
    let kinds = waiter.kinds.iter();
    let most = kinds.max_by(|a, b| a.1.total_cmp(b.1));
    let what = match (most.map(|(kind, _)| *kind), device) {
        (Some(WaitKind::Lock), _) => {
            cause.device = device.map(|device| device.name.clone());
            let advice = "the kernel stack shows which lock it is: cat /proc/PID/stack (root)";
            cause.remedies.push(Remedy::advice(advice));
            "for a lock that another task holds".to_owned()
        }
        (Some(WaitKind::Server), _) => {
            "for the answers of the server of its file system".to_owned()
        }
        (Some(WaitKind::Memory), _) => "for memory: reclaim or swap-in".to_owned(),
        _ if analysis.is_syncing(waiter) => until_written(analysis, device),
        (_, Some(device)) => {
            cause.device = Some(device.name.clone());
            prove_load(&mut cause, device);
            cause.prove(&device.name, FLUSH_AWAIT, device.flush_await);
            cause.prove(&device.name, THROUGHPUT, device.throughput);
            for_requests(analysis, waiter, device, &mut cause)
        }
        (_, None) => {
            let channel = waiter.wait_channel.as_deref().unwrap_or("the kernel");
            format!("in {channel}")
        }
    };
    let time = units::format_percent(waiter.blocked);
    let who = waiter.party().identity();
    cause.sentence = format!("{who} waits {time} of the time {what}.");
    cause
}

/// `until 131 MB are written, at 7.1 MB/s: about 18 s`. How much of one device is not written is not known.
fn until_written(analysis: &Analysis<'_>, device: Option<&DeviceSummary>) -> String {
    let host = &analysis.last.host;
    let unwritten = host.dirty_bytes.zip(host.writeback_bytes);
    let unwritten = unwritten.map(|(dirty, writeback)| (dirty + writeback) as f64);
    let lowest = analysis.lowest_devices().map(|it| it.write_bytes);
    let all: f64 = lowest.sum();
    let rate = units::format_throughput(device.map_or(all, |it| it.write_bytes));
    match (device, unwritten) {
        (Some(device), _) => format!("until its data are written to {}, at {rate}", device.name),
        (None, Some(bytes)) if all > 0.0 => format!(
            "until {} are written, at {rate}: about {}",
            units::format_capacity(bytes),
            units::format_latency(bytes / all * 1e9)
        ),
        (None, _) => format!("until its data are written, at {rate}"),
    }
}

/// Whether the flushes of a device are its limit: of what is written, many are flushed.
pub(super) fn is_flush_bound(device: &DeviceSummary) -> bool {
    let flushes = device.flushes.unwrap_or(0.0);
    let is_flushing = flushes >= device.write_iops * FLUSHED && flushes > 0.0;
    is_flushing && device.write_iops >= device.read_iops
}

/// What a task waits for on a device, and what would change it.
fn for_requests(
    analysis: &Analysis<'_>,
    waiter: &Waiter,
    device: &DeviceSummary,
    cause: &mut Cause,
) -> String {
    let name = &device.name;
    if is_flush_bound(device) {
        let advice = "fewer fsync calls, or a drive with a protected write cache";
        cause.remedies.push(Remedy::advice(advice));
        let each = device.flush_await.map(units::format_latency);
        let each = each.map_or_else(String::new, |it| format!(", {it} each"));
        return format!("for the flushes of {name}{each}: flush-bound");
    }
    let latency = latency_text(device);
    let rate = units::format_throughput(device.throughput);
    let iops = units::format_count(device.iops.round());
    let load = format!("{rate} and {iops} requests per second,{latency}");
    if device.queue < waiter.blocked * FEW_IN_FLIGHT {
        return format!("for {name}, which is not busy: {load}");
    }
    if device.queue <= ONE_REQUEST {
        cause.remedies.push(Remedy::advice(MORE_IN_FLIGHT));
        let seeks = device.serial || !device.is_flash && device.latency() >= SEEK_LATENCY;
        let bound = if seeks { "seek-bound" } else { "latency-bound" };
        return format!("for {name}, one request at a time,{latency}: {bound}");
    }
    let users = blame(analysis, device).culprits;
    let own = users.iter().find(|it| it.pid == waiter.pid);
    if own.is_some_and(|it| it.share >= Some(OWN_SHARE)) {
        return format!("for {name}, whose limit its own requests reach: {load}");
    }
    match names(&users, 0, "") {
        who if who.is_empty() => format!("for {name}: {load}"),
        who => format!("for {name}, which is busy with {who}: {load}"),
    }
}

/// A device with a full queue on which no task is seen to wait.
fn of_device(analysis: &Analysis<'_>, device: &DeviceSummary) -> Cause {
    let name = &device.name;
    let blame = blame(analysis, device);
    let mut cause = analysis.cause(Severity::Note).on(name);
    prove_load(&mut cause, device);
    cause.prove(name, THROUGHPUT, device.throughput);
    blame.prove(&mut cause);
    let user = blame.culprits.first().map(|party| {
        let share = units::format_percent(party.share.unwrap_or(0.0));
        format!("at its limit, {share} of it by {}", party.identity())
    });
    let unknown = || "probably at its limit, by processes that are not known".to_owned();
    cause.sentence = format!(
        "{name} is {}: {} with {} requests in flight,{}.",
        user.unwrap_or_else(unknown),
        units::format_throughput(device.throughput),
        units::format_three_digits(device.queue),
        latency_text(device)
    );
    cause.culprits = blame.culprits;
    cause.remedies.push(Remedy::advice(root_advice(
        ": then all processes are seen",
        "the device is the limit of this work; nobody else is seen to wait for it",
    )));
    cause
}

/// A control group that its quota of processor time stops.
fn of_quota(analysis: &Analysis<'_>, group: &GroupAtLimit<'_>) -> Cause {
    let name = &group.name;
    let mut cause = analysis.proven(Severity::Note);
    let file = if group.group.is_first_version {
        "cpu.cfs_quota_us"
    } else {
        "cpu.max"
    };
    cause.prove(name, THROTTLED, group.throttled);
    cause.prove(name, QUOTA.read_from(file), group.group.processors);
    let members = group.group.pids.iter().take(MAX_WAITERS);
    cause.victims = members.map(|pid| analysis.party(*pid)).collect();
    cause.sentence = format!(
        "{} is stopped in {} of the periods because {name} has reached its quota of {} processors; that is no I/O.",
        names(&cause.victims, 0, "Its work"),
        units::format_percent(group.throttled),
        units::format_three_digits(group.group.processors.unwrap_or(0.0)),
    );
    let place = SafeText::from_path(&group.group.directory);
    cause.remedies.push(Remedy::advice(format!(
        "raise {file} in {place}, or CPUQuota of the unit"
    )));
    cause
}

/// Who waits for locks of files for half of the window and longer, by the holder. Only where the holder does
/// I/O: a daemon may wait for a lock for ever.
fn lock_waits(analysis: &Analysis<'_>) -> BTreeMap<u32, Vec<Party>> {
    let mut waits: BTreeMap<u32, Vec<Party>> = BTreeMap::new();
    let Some((begin, end)) = &analysis.window.facts else {
        return waits;
    };
    let is_active = |pid| {
        analysis
            .process(pid)
            .is_some_and(|it| it.throughput() > 0.0)
    };
    let does_io = |pid| analysis.waiter(pid).is_some() || is_active(pid);
    for wait in end.locks.iter().filter(|it| does_io(it.holder)) {
        let same = |it: &LockWait| (it.waiter, it.inode) == (wait.waiter, wait.inode);
        let slept = wait.slept.map_or(0.0, |slept| slept.as_secs_f64());
        if slept >= analysis.seconds / 2.0 || begin.locks.iter().any(same) {
            let waiting = waits.entry(wait.holder).or_default();
            waiting.push(analysis.party(wait.waiter));
        }
    }
    waits
}

/// The processes that wait for the locks of one holder.
fn of_lock(analysis: &Analysis<'_>, holder: u32, waiting: &[Party]) -> Cause {
    let mut cause = analysis.proven(Severity::Note);
    let count = Some(waiting.len() as f64);
    cause.evidence = known_values([(FILE_LOCKS, count)]);
    cause.victims = waiting.to_vec();
    let party = analysis.party(holder);
    let meanwhile = analysis.waiter(holder).map(|waiter| {
        let time = units::format_percent(waiter.blocked);
        let device = waiter.devices.first();
        let on = device.map_or_else(String::new, |device| format!(" for {device}"));
        format!(", which waits {time} of the time{on}")
    });
    cause.sentence = format!(
        "{} waits for the lock of a file that {} holds{}.",
        names(&cause.victims, 0, ""),
        party.identity(),
        meanwhile.unwrap_or_default()
    );
    cause.culprits = vec![party];
    let list = format!("lslocks -p {holder} | cat -v");
    let text = "the locks that it holds, with their files";
    cause.remedies.push(Remedy::command(list, text));
    cause
}

/// A high pressure without a task in uninterruptible sleep: waits for completions of io_uring count as
/// waits for I/O in kernels from 6.1 on, also where no request is outstanding; or the busiest device.
fn of_pressure(analysis: &Analysis<'_>) -> Option<Cause> {
    let waiters = &analysis.window.looks.uring_waiters;
    let Some((pid, name)) = waiters.first() else {
        return busiest(analysis).map(|device| of_device(analysis, device));
    };
    let mut cause = analysis.cause(Severity::Note);
    let party = Party {
        command: SafeText::from_bytes(name),
        ..analysis.party(*pid)
    };
    let count = Some(waiters.len() as f64);
    cause.evidence = known_values([(URING_WAITERS, count)]);
    cause.sentence = format!(
        "{} waits for completions of io_uring, which this kernel counts as waiting for I/O (Linux 6.1 to 6.4 even without requests); the devices are not the limit.",
        party.identity()
    );
    cause.victims = vec![party];
    Some(cause)
}
