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

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let whole = Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW);
    let limit = if whole < LEAST { HUNG } else { HUNG.min(whole) };
    // What is waited for makes no progress. Requests to servers of file systems are another cause.
    let elsewhere = [WaitKind::Lock, WaitKind::Unknown];
    let is_hung = |waiter: &&Waiter| {
        waiter.asleep >= limit
            && waiter.waits_for(&AT_DEVICE) + waiter.waits_for(&elsewhere) > 0.0
            && !analysis.waits_for_server(waiter)
            && !analysis.makes_progress(waiter)
    };
    let hung: Vec<&Waiter> = analysis.blocked(0.0).filter(is_hung).collect();
    // A device with requests in flight of which none completes in the whole window.
    let is_stuck = |device: &&DeviceSummary| {
        device.min_in_flight > 0 && device.iops == 0.0 && device.intervals.len() > 1
    };
    let long_enough = analysis.seconds >= LEAST.as_secs_f64();
    let mut devices = analysis.whole_devices().filter(|_| long_enough);
    let stuck = devices.find(is_stuck);
    if !hung.is_empty() || stuck.is_some() {
        return Ok(vec![cause(analysis, &hung, stuck)]);
    }
    if !analysis.window.has_blocked_tasks() {
        return Err(NotExamined::NotRecorded);
    }
    if whole < LEAST {
        return Err(NotExamined::WindowTooShort);
    }
    Ok(Vec::new())
}

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let longest = analysis.waiters.iter().map(Waiter::longest_ns);
    let longest = longest.fold(0.0, f64::max);
    vec![Evidence::of_machine(BLOCKED_FOR, longest)]
}

fn cause(analysis: &Analysis<'_>, hung: &[&Waiter], stuck: Option<&DeviceSummary>) -> Cause {
    let cause = analysis.cause(Severity::Critical);
    let mut cause = cause.confirmed_if(stuck.is_some());
    cause.victims = parties(hung);
    if let Some(device) = stuck {
        let count = device.min_in_flight;
        cause = cause.on(&device.name);
        cause.prove(&device.name, STUCK_REQUESTS, count as f64);
        cause.sentence = format!("{count} requests on {} do not complete.", device.name);
    }
    if let Some(waiter) = hung.first() {
        analysis.prove_sleep(&mut cause, waiter);
        let count = hung.len() as f64;
        cause
            .evidence
            .push(Evidence::of_machine(WAITING_TASKS, count));
        let stack = analysis.details(waiter).and_then(|it| it.stack.as_ref());
        let functions = stack.into_iter().flatten().take(MAX_STACK);
        cause.stack = functions.map(SafeText::from).collect();
        let first_device = waiter.devices.first().cloned();
        cause.device = cause.device.or(first_device);
        let told = until_thawed(analysis, &mut cause, waiter)
            .or_else(|| on_served_device(analysis, &mut cause, waiter));
        let what = told.unwrap_or_else(|| in_kernel(&cause, waiter));
        cause.sentence = format!("{} {what}.", names(&cause.victims, hung.len(), ""));
    }
    cause.remedies.push(kernel_log());
    let device = cause.device.as_ref();
    let health = device.and_then(|name| health_of(analysis, name));
    cause.remedies.extend(health);
    cause
}

/// Tells of a task that wants to write to a frozen file system, if it is one.
fn until_thawed(analysis: &Analysis<'_>, cause: &mut Cause, waiter: &Waiter) -> Option<String> {
    let details = analysis.details(waiter)?;
    let facts = analysis.facts()?;
    if !analysis.is_in(waiter, FROZEN) {
        return None;
    }
    let has_device = |mount: &&MountEntry| {
        let mut systems = analysis.last.file_systems.iter();
        systems.any(|it| it.device_id == mount.device_id)
    };
    let mut mounts = facts.mounts.iter();
    let used = mounts.find(|mount| Some(mount.id) == details.used_mount_id);
    // A file that it is about to create is open nowhere: its arguments name it.
    let named = details.named_paths.iter().chain(&details.working_directory);
    let mut named = named.filter_map(|path| facts.mount_of(path));
    let mount = used.or_else(|| named.find(has_device))?;
    let place = SafeText::from_path(&mount.path);
    let thaw = |path| shell::command_line(["fsfreeze", "--unfreeze", path]);
    let command = exact_path(&place).and_then(thaw);
    let text = "thaws it, after a look at what has frozen it";
    cause.remedies.extend(Remedy::of(command, text));
    let slept = units::format_latency(waiter.longest_ns());
    Some(format!(
        "waits for {slept} until the file system at {place} is thawed; fsfreeze, a snapshot or a backup has frozen it"
    ))
}

/// Tells of a task that waits for a loop device whose file lies on a file system with a server, if it is one.
fn on_served_device(analysis: &Analysis<'_>, cause: &mut Cause, waiter: &Waiter) -> Option<String> {
    let facts = analysis.facts()?;
    let mut drives = analysis.last.drives.iter();
    let (name, mount) = drives.find_map(|drive| {
        let mount = facts.mount_of(Path::new(drive.backing_file.as_deref()?))?;
        client_of_file_system(&mount.file_system)?;
        let name = SafeText::from(&drive.name);
        let mut used = waiter.devices.iter();
        used.any(|it| analysis.lies_on(it, &name))
            .then_some((name, mount))
    })?;
    let server = AwaitedServer::of(analysis, &[mount], true);
    let slept = units::format_latency(waiter.longest_ns());
    let what = format!(
        "hangs on {name} for {slept}; its file lies on a file system whose server does not answer: {}",
        server.text
    );
    cause.device = Some(name);
    cause.remedies.extend(server.remedies);
    Some(what)
}

fn in_kernel(cause: &Cause, waiter: &Waiter) -> String {
    let device = cause.device.as_ref();
    let on_device = device.map_or_else(String::new, |device| format!(" on {device}"));
    let channel = waiter.wait_channel.as_ref();
    let place = channel.map_or_else(String::new, |channel| format!(" in {channel}"));
    let slept = units::format_latency(waiter.longest_ns());
    format!("hangs{on_device}; blocked{place} without interruption for {slept}")
}
