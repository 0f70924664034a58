//! A task has been in uninterruptible sleep, without a context switch, for many seconds.

use std::path::Path;
use std::time::Duration;

use super::awaited_server::AwaitedServer;
use super::prelude::*;
use crate::drive::mounts::MountEntry;

/// Sleep that is not normal; in a shorter window the whole of it, but not less than the second
/// value.
const HUNG: Duration = Duration::from_secs(10);
const LEAST: Duration = Duration::from_secs(7);
/// Fraction of a window shorter than [`HUNG`] for which the task has to sleep.
const WHOLE_WINDOW: f64 = 0.85;
/// Kernel functions of a stack that are kept.
const MAX_STACK: usize = 6;
/// Functions in which a task waits that writes to a frozen file system.
const FROZEN: &str = "percpu_rwsem_wait __sb_start_write";
/// What a task waits for that hangs in I/O. Requests to servers of file systems are another cause.
const IN_IO: [WaitKind; 6] = [
    WaitKind::Read,
    WaitKind::Write,
    WaitKind::Commit,
    WaitKind::Request,
    WaitKind::Lock,
    WaitKind::Unknown,
];

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let whole = Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW);
    let limit = if whole < LEAST { HUNG } else { HUNG.min(whole) };
    // What is waited for makes no progress. Kernel threads wait for others.
    let is_hung = |waiter: &&Waiter| {
        waiter.asleep >= limit
            && waiter.waits_for(&IN_IO) > 0.0
            && !analysis.waits_for_server(waiter)
            && !analysis.makes_progress(waiter)
    };
    let hung: Vec<&Waiter> = analysis.blocked(0.0).filter(is_hung).collect();
    let stuck = stuck_device(analysis);
    if !hung.is_empty() || stuck.is_some() {
        return Examination::Found(vec![cause(analysis, &hung, stuck)]);
    }
    if !analysis.window.has_blocked_tasks() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    if whole < LEAST {
        return Examination::NotExamined(NotExamined::WindowTooShort);
    }
    let longest = analysis.waiters.iter().map(Waiter::longest_ns);
    let longest = longest.fold(0.0, f64::max);
    Examination::RuledOut(vec![Evidence::of_machine(BLOCKED_FOR, longest)])
}

/// A device with requests in flight of which none completes in the whole window.
fn stuck_device<'a>(analysis: &'a Analysis<'_>) -> Option<&'a DeviceSummary> {
    let long_enough = analysis.seconds >= LEAST.as_secs_f64();
    analysis.whole_devices().find(|device| {
        let is_stuck = device.min_in_flight > 0 && device.iops == 0.0;
        long_enough && is_stuck && device.intervals.len() > 1
    })
}

fn cause(analysis: &Analysis<'_>, hung: &[&Waiter], stuck: Option<&DeviceSummary>) -> Cause {
    let first = hung.first();
    let mut cause = analysis.cause(Severity::Critical);
    let own = first.and_then(|waiter| waiter.devices.first().cloned());
    cause.device = stuck.map(|device| device.name.clone()).or(own);
    cause.victims = parties(hung);
    if let Some(waiter) = first {
        analysis.prove_sleep(&mut cause, waiter);
        cause.prove_of_machine(WAITING_TASKS, hung.len() as f64);
        let stack = analysis.details(waiter).and_then(|it| it.stack.as_ref());
        let functions = stack.into_iter().flatten().take(MAX_STACK);
        cause.stack = functions.map(SafeText::from).collect();
    }
    let mut cause = cause.confirmed_if(stuck.is_some());
    if let Some(device) = stuck {
        cause.prove(&device.name, STUCK_REQUESTS, device.min_in_flight as f64);
    }
    let is_told = first.is_some_and(|waiter| {
        tell_frozen(analysis, &mut cause, waiter) || tell_served(analysis, &mut cause, waiter)
    });
    if !is_told {
        tell(&mut cause, hung, stuck);
    }
    cause.remedies.push(kernel_log());
    let device = cause.device.as_ref();
    let health = device.and_then(|name| health_of(analysis, name));
    cause.remedies.extend(health);
    cause
}

/// Tells of a task that wants to write to a frozen file system, if it is one.
fn tell_frozen(analysis: &Analysis<'_>, cause: &mut Cause, waiter: &Waiter) -> bool {
    let details = analysis.details(waiter);
    let (Some(details), Some(facts)) = (details, analysis.facts()) else {
        return false;
    };
    let has_device = |mount: &&MountEntry| {
        let mut systems = analysis.last.file_systems.iter();
        systems.any(|it| it.device_id == mount.device_id)
    };
    let of_id = |id: u64| facts.mounts.iter().find(|mount| mount.id == id);
    // A file that it is about to create is open nowhere: its arguments name it.
    let named = details.named_paths.iter().chain(&details.working_directory);
    let mut named = named.filter_map(|path| facts.mount_of(path));
    let used = details.used_mount_id.and_then(of_id);
    let mount = used.or_else(|| named.find(has_device));
    let Some(mount) = mount.filter(|_| analysis.is_in(waiter, FROZEN)) else {
        return false;
    };
    let place = SafeText::from_path(&mount.path);
    let who = names(&cause.victims, 0).unwrap_or_default();
    let slept = units::format_latency(waiter.longest_ns());
    cause.sentence = format!(
        "{who} waits for {slept} until the file system at {place} is thawed; fsfreeze, a snapshot or a backup has frozen it."
    );
    let command =
        exact_path(&place).and_then(|path| shell::command_line(["fsfreeze", "--unfreeze", path]));
    let thaw = "thaws it, after a look at what has frozen it";
    let mut remedy = Remedy::command_or(command, thaw, format!("thaw {place} with fsfreeze"));
    remedy.reach = RemedyReach::Mount;
    cause.remedies.push(remedy);
    true
}

/// Tells of a task that waits for a loop device whose file lies on a file system with a server, if it is one.
fn tell_served(analysis: &Analysis<'_>, cause: &mut Cause, waiter: &Waiter) -> bool {
    let served = |name: &SafeText| {
        let mut drives = analysis.last.drives.iter();
        let drive = drives.find(|drive| {
            analysis.lies_on(name, &(&drive.name).into()) && drive.backing_file.is_some()
        })?;
        let facts = analysis.facts()?;
        let mount = facts.mount_of(Path::new(drive.backing_file.as_deref()?))?;
        client_of_file_system(&mount.file_system)?;
        Some((
            SafeText::from(&drive.name),
            AwaitedServer::of(analysis, facts, mount, None),
        ))
    };
    let Some((name, server)) = waiter.devices.iter().find_map(served) else {
        return false;
    };
    let who = names(&cause.victims, 0).unwrap_or_default();
    let slept = units::format_latency(waiter.longest_ns());
    cause.sentence = format!(
        "{who} hangs on {name} for {slept}; its file lies on a file system whose server does not answer: {}.",
        server.text
    );
    cause.device = Some(name);
    cause.remedies.extend(server.remedies);
    true
}

fn tell(cause: &mut Cause, hung: &[&Waiter], stuck: Option<&DeviceSummary>) {
    let device = cause.device.as_deref();
    let on_device = device.map_or_else(String::new, |device| format!(" on {device}"));
    let (Some(waiter), Some(who)) = (hung.first(), names(&cause.victims, hung.len())) else {
        let count = stuck.map_or(0, |device| device.min_in_flight);
        cause.sentence = format!("{count} requests{on_device} do not complete.");
        return;
    };
    let channel = waiter.wait_channel.as_ref();
    let place = channel.map_or_else(String::new, |channel| format!(" in {channel}"));
    let slept = units::format_latency(waiter.longest_ns());
    cause.sentence =
        format!("{who} hangs{on_device}; blocked{place} without interruption for {slept}.");
}
