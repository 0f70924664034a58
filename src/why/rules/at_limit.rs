//! The busiest or longest-waiting work is at what limits it, and nobody else suffers: a note, so that a
//! high I/O pressure and every task that is blocked for long are explained by name.

use crate::stats::sorting::SortList as _;
use crate::text::root_advice;
use crate::units;
use crate::why::analysis::{Analysis, DeviceSummary, Waiter};
use crate::why::blame::{Blame, SUFFERING, blame, parties};
use crate::why::cause::{Cause, Party, Remedy, Severity};
use crate::why::device_load::{busiest_evidence, latency_text, prove_load};
use crate::why::evidence::{BLOCKED, BLOCKED_FOR, DISKSTATS, Metric, THROUGHPUT, ns};
use crate::why::parties::{name, program};
use crate::why::rule::{Examination, Rule};
use crate::why::wait_kind::WaitKind;

pub(super) const RULE: Rule = Rule {
    code: "at-limit",
    explains: &[],
    examine,
};

/// Tasks that are explained at most.
const MAX_WAITERS: usize = 4;
/// Requests in flight up to which a task issues one request after the other.
const ONE_REQUEST: f64 = 1.5;
/// Requests in flight from which a device is at the limit of what its users make of it.
const FULL_QUEUE: f64 = 1.8;
/// Share of the traffic that makes a device one process's own.
const OWN_SHARE: f64 = 0.8;
/// Fraction of the requests that are flushed from which the flushes are the limit.
const FLUSHED: f64 = 0.2;
/// Latency in nanoseconds from which a read of a device of unknown kind is a seek.
const SEEK_LATENCY: f64 = 3e6;
/// Mean latency of flushes.
const FLUSH_AWAIT: Metric = ns("f_await", "f_await", DISKSTATS);

fn examine(analysis: &Analysis<'_>) -> Examination {
    let waiters = analysis.waiters.iter();
    let waiters = waiters.filter(|it| it.blocked >= SUFFERING && !it.is_kernel_thread);
    let mut causes: Vec<Cause> = waiters
        .take(MAX_WAITERS)
        .map(|waiter| of_waiter(analysis, waiter))
        .collect();
    // Work that waits in another way than in uninterruptible sleep, such as with io_uring.
    let mut full: Vec<&DeviceSummary> = analysis
        .whole_devices()
        .filter(|device| device.queue >= FULL_QUEUE && device.iops > 0.0)
        .filter(|device| {
            analysis
                .waiters_on(&device.name, SUFFERING)
                .next()
                .is_none()
        })
        .collect();
    full.sort_list_by(|a, b| b.queue.total_cmp(&a.queue));
    let full = full.into_iter().map(|device| of_device(analysis, device));
    causes.extend(full);
    Examination::of_devices(analysis, causes, || busiest_evidence(analysis))
}

/// The device that a task waits for: the one of its own with the most requests in flight.
fn awaited_device<'a>(analysis: &'a Analysis<'_>, waiter: &Waiter) -> Option<&'a DeviceSummary> {
    let own = |device: &&DeviceSummary| {
        let mut names = waiter.devices.iter();
        names.any(|name| analysis.lies_on(name, &device.name))
    };
    let devices = analysis.whole_devices().filter(own);
    devices.max_by(|a, b| a.queue.total_cmp(&b.queue))
}

/// What a task waits for most.
fn main_kind(waiter: &Waiter) -> WaitKind {
    let kinds = waiter.kinds.iter();
    let most = kinds.max_by(|a, b| a.1.total_cmp(b.1));
    most.map_or(WaitKind::Unknown, |(kind, _)| *kind)
}

fn of_waiter(analysis: &Analysis<'_>, waiter: &Waiter) -> Cause {
    let device = awaited_device(analysis, waiter);
    let mut cause = analysis.cause(RULE.code, Severity::Note);
    cause.victims = parties(&[waiter]);
    cause.prove(&waiter.command, BLOCKED, waiter.blocked);
    cause.prove(&waiter.command, BLOCKED_FOR, waiter.longest_ns());
    let (what, advice) = match (main_kind(waiter), device) {
        (WaitKind::Lock, _) => (
            "for a lock that another task holds".to_owned(),
            "the kernel stack shows which lock it is: cat /proc/PID/stack (root)",
        ),
        (WaitKind::FuseServer | WaitKind::NetworkServer, _) => (
            "for the answers of the server of its file system".to_owned(),
            "the latency of the server, or of the network, is the limit",
        ),
        (WaitKind::Memory, _) => (
            "for memory: reclaim or swap-in".to_owned(),
            "the memory of its control group, or of the machine, is the limit",
        ),
        _ if analysis.is_syncing(waiter) => {
            (until_written(analysis), "its data are written meanwhile")
        }
        (_, Some(device)) => {
            let (what, advice) = of_requests(analysis, waiter, device);
            cause.device = Some(device.name.clone());
            prove_load(&mut cause, device);
            cause.prove(&device.name, FLUSH_AWAIT, device.flush_await);
            cause.prove(&device.name, THROUGHPUT, device.throughput);
            (what, advice)
        }
        (_, None) => {
            let channel = waiter.wait_channel.as_deref().unwrap_or("the kernel");
            (
                format!("in {channel}"),
                "the device that it waits for is not known",
            )
        }
    };
    let time = units::format_percent(waiter.blocked);
    let who = name(&waiter.party());
    cause.headline = format!(
        "{} waits {time} of the time {what}",
        program(&waiter.command)
    );
    cause.sentence = format!(
        "{who} (pid {}) waits {time} of the time {what}.",
        waiter.pid
    );
    cause.remedies.push(Remedy::advice(advice));
    cause
}

/// `until 131 MB are written, at 7.1 MB/s: about 18 s`.
fn until_written(analysis: &Analysis<'_>) -> String {
    let host = &analysis.last().host;
    let unwritten = host.dirty_bytes.zip(host.writeback_bytes);
    let unwritten = unwritten.map(|(dirty, writeback)| (dirty + writeback) as f64);
    let written: f64 = analysis
        .whole_devices()
        .filter(|device| device.underlying.is_empty())
        .map(|device| device.write_bytes)
        .sum();
    let rate = units::format_throughput(written);
    match unwritten.filter(|_| written > 0.0) {
        Some(bytes) => format!(
            "until {} are written, at {rate}: about {}",
            units::format_capacity(bytes),
            units::format_latency(bytes / written * 1e9)
        ),
        None => format!("until its data are written, at {rate}"),
    }
}

/// What a task waits for on a device, and what would change it.
fn of_requests(
    analysis: &Analysis<'_>,
    waiter: &Waiter,
    device: &DeviceSummary,
) -> (String, &'static str) {
    let name = &device.name;
    let flushes = device.flushes.unwrap_or(0.0);
    let is_flushing = flushes >= device.write_iops * FLUSHED && flushes > 0.0;
    if is_flushing && device.write_iops >= device.read_iops {
        let each = device.flush_await.map(units::format_latency);
        let each = each.map_or_else(String::new, |it| format!(", {it} each"));
        return (
            format!("for the flushes of {name}{each}: flush-bound"),
            "fewer fsync calls, or a drive with a protected write cache",
        );
    }
    let latency = latency_text(device);
    if device.queue <= ONE_REQUEST {
        let seeks = device.serial || !device.is_flash && device.latency() >= SEEK_LATENCY;
        let bound = if seeks { "seek-bound" } else { "latency-bound" };
        return (
            format!("for {name}, one request at a time,{latency}: {bound}"),
            "more requests in flight: several threads, asynchronous I/O, or read-ahead",
        );
    }
    let blame = blame(analysis, device);
    let own = blame.culprits.iter().find(|it| it.pid == waiter.pid);
    let share = own.and_then(|party| party.share).unwrap_or(0.0);
    let rate = units::format_throughput(device.throughput);
    let iops = units::format_count(device.iops.round());
    let load = format!("{rate} and {iops} requests per second,{latency}");
    if share >= OWN_SHARE {
        let text = format!("for {name}, whose limit its own requests reach: {load}");
        return (
            text,
            "the device is at its limit, and nobody else waits for it",
        );
    }
    let others = users_text(&blame);
    (
        format!("for {name}, which is busy with {others}: {load}"),
        "the work is limited by the device",
    )
}

/// `fio and tar`, or the requests of unknown processes.
fn users_text(blame: &Blame) -> String {
    let users = blame.culprits.iter().take(2).map(|it| program(&it.command));
    let users: Vec<String> = users.collect();
    if users.is_empty() {
        "requests of processes that are not known".to_owned()
    } else {
        users.join(" and ")
    }
}

/// A device with a full queue on which no task is seen to wait.
fn of_device(analysis: &Analysis<'_>, device: &DeviceSummary) -> Cause {
    let name = &device.name;
    let blame = blame(analysis, device);
    let mut cause = analysis.cause(RULE.code, Severity::Note).on(name);
    cause.culprits.clone_from(&blame.culprits);
    prove_load(&mut cause, device);
    cause.prove(name, THROUGHPUT, device.throughput);
    blame.prove(&mut cause);
    let rate = units::format_throughput(device.throughput);
    let queue = units::format_three_digits(device.queue);
    let latency = latency_text(device);
    let load = format!("{rate} with {queue} requests in flight,{latency}");
    cause.headline = match blame.culprits.first() {
        Some(party) => {
            let share = units::format_percent(party.share.unwrap_or(0.0));
            format!(
                "{name} is at its limit, {share} of it by {}: {load}",
                name_with_pid(party)
            )
        }
        None => format!("{name} is probably at its limit, by processes that are not known: {load}"),
    };
    cause.sentence = format!("{}.", cause.headline);
    cause.remedies.push(Remedy::advice(root_advice(
        ": then all processes are seen",
        "the device is the limit of this work; nobody else is seen to wait for it",
    )));
    cause
}

fn name_with_pid(party: &Party) -> String {
    format!("{} (pid {})", name(party), party.pid)
}
