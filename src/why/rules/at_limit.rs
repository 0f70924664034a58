//! The busiest or longest-waiting work is at what limits it, and nobody else suffers: a note, so that a
//! high I/O pressure and every task that is blocked for long are explained by name.

use std::collections::BTreeMap;

use super::group_limits::{GroupAtLimit, at_memory_limit, at_quota};
use super::prelude::*;
use crate::probe::waits::locks::LockWait;
use crate::text::root_advice;

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

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let pressure = analysis.mean(|host| host.pressure_some);
    let is_pressed = pressure.is_some_and(|pressure| pressure >= HIGH_PRESSURE);
    let locks = lock_waits(analysis);
    // What the holder of a lock waits for is said of those who wait for it.
    let holds_lock = |waiter: &&Waiter| locks.iter().flatten().any(|it| it.holder == waiter.pid);
    let blocked = analysis.blocked(SUFFERING);
    let blocked = blocked.filter(|waiter| !holds_lock(waiter));
    let mut waiters: Vec<&Waiter> = blocked.take(MAX_WAITERS).collect();
    if waiters.is_empty() && is_pressed {
        waiters.extend(analysis.blocked(SOME_WAITING).next());
    }
    let mut causes: Vec<Cause> = waiters.iter().map(|it| of_waiter(analysis, it)).collect();
    // Work that waits in another way than in uninterruptible sleep, such as with io_uring.
    let full = |it: &&DeviceSummary| it.queue >= FULL_QUEUE && it.iops > 0.0;
    let full = analysis.whole_devices().filter(full);
    let mut full: Vec<&DeviceSummary> = full.collect();
    full.retain(|device| analysis.blocked_on(device, SUFFERING).is_empty());
    full.sort_list_by(|a, b| b.queue.total_cmp(&a.queue));
    causes.extend(full.into_iter().map(|device| of_device(analysis, device)));
    let quotas = at_quota(analysis);
    causes.extend(quotas.iter().map(|group| of_quota(analysis, group)));
    causes.extend(locks.iter().filter_map(|waits| of_lock(analysis, waits)));
    if causes.is_empty() && is_pressed {
        causes.extend(of_pressure(analysis));
    }
    for cause in &mut causes {
        cause.prove_of_machine(IO_PRESSURE, pressure.filter(|_| is_pressed));
    }
    Examination::of_devices(analysis, causes, || busiest_evidence(analysis))
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
    let (what, advice) = match (most.map(|(kind, _)| *kind), device) {
        (Some(WaitKind::Lock), _) => {
            cause.device = device.map(|device| device.name.clone());
            let advice = "the kernel stack shows which lock it is: cat /proc/PID/stack (root)";
            (lock_text(analysis, device), advice)
        }
        (Some(WaitKind::Server), _) => (
            "for the answers of the server of its file system".to_owned(),
            "the latency of the server, or of the network, is the limit",
        ),
        (Some(WaitKind::Memory), _) => of_memory(analysis, waiter, &mut cause),
        _ if analysis.is_syncing(waiter) => {
            let text = until_written(analysis, device);
            (text, "its data are written meanwhile")
        }
        (_, Some(device)) => {
            cause.device = Some(device.name.clone());
            prove_load(&mut cause, device);
            cause.prove(&device.name, FLUSH_AWAIT, device.flush_await);
            cause.prove(&device.name, THROUGHPUT, device.throughput);
            of_requests(analysis, waiter, device)
        }
        (_, None) => {
            let channel = waiter.wait_channel.as_deref().unwrap_or("the kernel");
            let advice = "the device that it waits for is not known";
            (format!("in {channel}"), advice)
        }
    };
    let time = units::format_percent(waiter.blocked);
    let who = name(&waiter.party());
    let pid = waiter.pid;
    cause.sentence = format!("{who} (pid {pid}) waits {time} of the time {what}.");
    cause.remedies.push(Remedy::advice(advice));
    cause
}

/// The holder of a lock often waits for the journal of the file system.
fn lock_text(analysis: &Analysis<'_>, device: Option<&DeviceSummary>) -> String {
    let mut waiters = analysis.waiters.iter();
    let commits = waiters.any(|it| it.waits_for(&[WaitKind::Commit]) >= SOME_WAITING);
    match device.filter(|_| commits) {
        Some(device) => format!(
            "for a lock whose holder waits for the journal of {}",
            device.name
        ),
        None => "for a lock that another task holds".to_owned(),
    }
}

/// What a task waits for whose memory is the limit.
fn of_memory(
    analysis: &Analysis<'_>,
    waiter: &Waiter,
    cause: &mut Cause,
) -> (String, &'static str) {
    let group = at_memory_limit(analysis).filter(|it| it.group.pids.contains(&waiter.pid));
    let Some(group) = group else {
        return (
            "for memory: reclaim or swap-in".to_owned(),
            "the memory of its control group, or of the machine, is the limit",
        );
    };
    group.prove_memory(cause);
    cause.remedies.push(group.raise_memory());
    (
        format!(
            "for memory: its control group {} is at its limit",
            group.name
        ),
        "or let it use less memory",
    )
}

/// `until 131 MB are written, at 7.1 MB/s: about 18 s`. How much of one device is not written is not known.
fn until_written(analysis: &Analysis<'_>, device: Option<&DeviceSummary>) -> String {
    if let Some(device) = device {
        let rate = units::format_throughput(device.write_bytes);
        return format!("until its data are written to {}, at {rate}", device.name);
    }
    let host = &analysis.last.host;
    let unwritten = host.dirty_bytes.zip(host.writeback_bytes);
    let unwritten = unwritten.map(|(dirty, writeback)| (dirty + writeback) as f64);
    let lowest = analysis
        .whole_devices()
        .filter(|it| it.underlying.is_empty());
    let written: f64 = lowest.map(|device| device.write_bytes).sum();
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
    let rate = units::format_throughput(device.throughput);
    let iops = units::format_count(device.iops.round());
    let load = format!("{rate} and {iops} requests per second,{latency}");
    if device.queue < waiter.blocked * FEW_IN_FLIGHT {
        return (
            format!("for {name}, which is not busy: {load}"),
            "its requests are held back before they reach the device, by a limit or by what prepares them",
        );
    }
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
    if own.and_then(|party| party.share).unwrap_or(0.0) >= OWN_SHARE {
        return (
            format!("for {name}, whose limit its own requests reach: {load}"),
            "the device is at its limit, and nobody else waits for it",
        );
    }
    let users = blame.culprits.iter().take(2).map(|it| program(&it.command));
    let users = users.collect::<Vec<_>>().join(" and ");
    let busy = if users.is_empty() {
        String::new()
    } else {
        format!(", which is busy with {users}")
    };
    let what = format!("for {name}{busy}: {load}");
    (what, "the work is limited by the device")
}

/// A device with a full queue on which no task is seen to wait.
fn of_device(analysis: &Analysis<'_>, device: &DeviceSummary) -> Cause {
    let name = &device.name;
    let blame = blame(analysis, device);
    let mut cause = analysis.cause(Severity::Note).on(name);
    cause.culprits.clone_from(&blame.culprits);
    prove_load(&mut cause, device);
    cause.prove(name, THROUGHPUT, device.throughput);
    blame.prove(&mut cause);
    let rate = units::format_throughput(device.throughput);
    let queue = units::format_three_digits(device.queue);
    let load = format!(
        "{rate} with {queue} requests in flight,{}",
        latency_text(device)
    );
    cause.sentence = match blame.culprits.first() {
        Some(party) => {
            let share = units::format_percent(party.share.unwrap_or(0.0));
            let who = with_pid(party);
            format!("{name} is at its limit, {share} of it by {who}: {load}.")
        }
        None => {
            format!("{name} is probably at its limit, by processes that are not known: {load}.")
        }
    };
    cause.remedies.push(Remedy::advice(root_advice(
        ": then all processes are seen",
        "the device is the limit of this work; nobody else is seen to wait for it",
    )));
    cause
}

fn with_pid(party: &Party) -> String {
    format!("{} (pid {})", name(party), party.pid)
}

/// A control group that its quota of processor time stops.
fn of_quota(analysis: &Analysis<'_>, group: &GroupAtLimit<'_>) -> Cause {
    let name = &group.name;
    let mut cause = analysis.cause(Severity::Note).confirmed();
    let quota = if group.group.is_first_version {
        QUOTA_V1
    } else {
        QUOTA
    };
    cause.prove(name, THROTTLED, group.throttled);
    cause.prove(name, quota, group.group.processors);
    let members = group.group.pids.iter().take(MAX_WAITERS);
    cause.victims = members.map(|pid| party(analysis, *pid)).collect();
    let who = names(&cause.victims, 0).unwrap_or_else(|| "Its work".to_owned());
    cause.sentence = format!(
        "{who} is stopped in {} of the periods because {name} has reached its quota of {} processors; that is no I/O.",
        units::format_percent(group.throttled),
        units::format_three_digits(group.group.processors.unwrap_or(0.0)),
    );
    let place = SafeText::from_path(&group.group.directory);
    let files = if group.group.is_first_version {
        "cpu.cfs_quota_us"
    } else {
        "cpu.max"
    };
    cause.remedies.push(Remedy::advice(format!(
        "raise {files} in {place}, or CPUQuota of the unit"
    )));
    cause
}

/// The waits for locks of files that last for half of the window and longer, by file. Only where the holder does I/O: a
/// daemon may wait for a lock for ever.
fn lock_waits(analysis: &Analysis<'_>) -> Vec<Vec<LockWait>> {
    let Some((begin, end)) = &analysis.window.facts else {
        return Vec::new();
    };
    let does_io = |pid: u32| {
        let mut waiters = analysis.waiters.iter();
        let process = analysis.process(pid);
        waiters.any(|it| it.pid == pid) || process.is_some_and(|it| it.throughput() > 0.0)
    };
    let mut files: BTreeMap<((u32, u32), u64), Vec<LockWait>> = BTreeMap::new();
    for wait in &end.locks {
        let same = |it: &LockWait| (it.waiter, it.inode) == (wait.waiter, wait.inode);
        let slept = wait.slept.map_or(0.0, |slept| slept.as_secs_f64());
        let lasts = slept >= analysis.seconds / 2.0 || begin.locks.iter().any(same);
        if lasts && does_io(wait.holder) {
            let file = (wait.device_number, wait.inode);
            files.entry(file).or_default().push(*wait);
        }
    }
    files.into_values().collect()
}

/// A process as a party, also one that no snapshot lists.
fn party(analysis: &Analysis<'_>, pid: u32) -> Party {
    let scan = analysis.window.scans.last();
    let scanned = scan.and_then(|scan| scan.processes.get(&pid));
    let process = analysis.process(pid).map(|process| process.party(None));
    process.unwrap_or_else(|| Party {
        pid,
        command: scanned
            .map(|it| SafeText::from_bytes(&it.name))
            .unwrap_or_default(),
        ..Party::default()
    })
}

/// The processes that wait for the lock of one file.
fn of_lock(analysis: &Analysis<'_>, waits: &[LockWait]) -> Option<Cause> {
    let holder = waits.first()?.holder;
    let mut cause = analysis.cause(Severity::Note).confirmed();
    cause.prove_of_machine(FILE_LOCKS, waits.len() as f64);
    cause.victims = waits
        .iter()
        .map(|wait| party(analysis, wait.waiter))
        .collect();
    cause.culprits = vec![party(analysis, holder)];
    let mut waiters = analysis.waiters.iter();
    let holds = waiters.find(|it| it.pid == holder);
    let meanwhile = holds.map_or_else(String::new, |waiter| {
        let time = units::format_percent(waiter.blocked);
        match waiter.devices.first() {
            Some(device) => format!(", which waits {time} of the time for {device}"),
            None => format!(", which is blocked {time} of the time"),
        }
    });
    cause.sentence = format!(
        "{} waits for the lock of a file that {} holds{meanwhile}.",
        names(&cause.victims, 0)?,
        with_pid(&cause.culprits[0])
    );
    let list = format!("lslocks -p {holder} | cat -v");
    cause.remedies.push(Remedy::command(
        list,
        "the locks that it holds, with their files",
    ));
    Some(cause)
}

/// A high pressure without a task in uninterruptible sleep: waits for completions of io_uring count as
/// waits for I/O in kernels from 6.1 on, also where no request is outstanding; or the busiest device.
fn of_pressure(analysis: &Analysis<'_>) -> Option<Cause> {
    let waiters = &analysis.window.looks.uring_waiters;
    let Some((pid, name)) = waiters.first() else {
        return busiest(analysis).map(|device| of_device(analysis, device));
    };
    let mut cause = analysis.cause(Severity::Note);
    let mut waiter = party(analysis, *pid);
    waiter.command = SafeText::from_bytes(name);
    cause.victims = vec![waiter];
    cause.prove_of_machine(URING_WAITERS, waiters.len() as f64);
    cause.sentence = format!(
        "{} waits for completions of io_uring, which this kernel counts as waiting for I/O; the devices are not the limit.",
        with_pid(&cause.victims[0])
    );
    cause.remedies.push(Remedy::advice(
        "nothing: Linux 6.1 to 6.4 count such a wait as I/O even where no request is outstanding",
    ));
    Some(cause)
}
