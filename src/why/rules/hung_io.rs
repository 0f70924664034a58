//! A task has been in uninterruptible sleep, without a context switch, for many seconds.

use std::time::Duration;

use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::units;
use crate::why::analysis::{Analysis, DeviceSummary, Waiter};
use crate::why::blame::parties;
use crate::why::cause::{Cause, NotExamined, Remedy, RemedyReach, Severity};
use crate::why::evidence::{BLOCKED_FOR, DISKSTATS, Evidence, Metric, WAITING_TASKS, count};
use crate::why::parties::{names, program};
use crate::why::remedies::{exact_path, health_of, kernel_log};
use crate::why::rule::{Examination, Rule};
use crate::why::wait_kind::WaitKind;

pub(super) const RULE: Rule = Rule {
    code: "hung-io",
    explains: &["device-slow", "dirty-throttled", "sync-storm"],
    examine,
};

/// Sleep that is not normal; in a shorter window the whole of it, but not less than the second
/// value.
const HUNG: Duration = Duration::from_secs(10);
const LEAST: Duration = Duration::from_secs(7);
/// Fraction of a window shorter than [`HUNG`] for which the task has to sleep.
const WHOLE_WINDOW: f64 = 0.85;
/// Kernel functions of a stack that are kept.
const MAX_STACK: usize = 6;
/// Requests in flight that do not complete.
const STUCK_REQUESTS: Metric = count("requests_stuck", "requests that do not complete", DISKSTATS);

fn examine(analysis: &Analysis<'_>) -> Examination {
    let limit = HUNG.min(Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW));
    let waiters = analysis.waiters.iter();
    let hung: Vec<&Waiter> = waiters
        .filter(|waiter| limit >= LEAST && is_hung(analysis, waiter, limit))
        .collect();
    let stuck = stuck_device(analysis);
    if !hung.is_empty() || stuck.is_some() {
        return Examination::Found(vec![cause(analysis, &hung, stuck)]);
    }
    if !analysis.window.has_blocked_tasks() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    if limit < LEAST {
        return Examination::NotExamined(NotExamined::WindowTooShort);
    }
    let longest = analysis.waiters.iter().map(Waiter::longest_ns);
    let longest = longest.fold(0.0, f64::max);
    Examination::RuledOut(vec![Evidence::of_machine(BLOCKED_FOR, longest)])
}

/// Whether a task hangs in I/O: what it waits for makes no progress. Kernel threads wait for others; requests to servers of file
/// systems are another cause.
fn is_hung(analysis: &Analysis<'_>, waiter: &Waiter, limit: Duration) -> bool {
    let io = waiter.waits_for(&[
        WaitKind::Read,
        WaitKind::Write,
        WaitKind::Commit,
        WaitKind::Request,
        WaitKind::Lock,
        WaitKind::Unknown,
    ]);
    !waiter.is_kernel_thread
        && !analysis.waits_for_server(waiter)
        && io > 0.0
        && !analysis.makes_progress(waiter)
        && waiter.is_still_blocked
        && waiter.longest >= limit
}

/// A device with requests in flight of which none completes in the whole window.
fn stuck_device<'a>(analysis: &'a Analysis<'_>) -> Option<&'a DeviceSummary> {
    let long_enough = analysis.seconds >= LEAST.as_secs_f64();
    analysis.whole_devices().find(|device| {
        let completed: f64 = device.intervals.iter().map(|load| load.completed()).sum();
        long_enough && device.min_in_flight > 0 && completed == 0.0 && device.intervals.len() > 1
    })
}

fn cause(analysis: &Analysis<'_>, hung: &[&Waiter], stuck: Option<&DeviceSummary>) -> Cause {
    let first = hung.first();
    let mut cause = analysis.cause(RULE.code, Severity::Critical);
    if stuck.is_some() {
        cause = cause.confirmed();
    }
    cause.device = stuck
        .map(|device| device.name.clone())
        .or_else(|| first.and_then(|waiter| waiter.devices.first().cloned()));
    if let Some(waiter) = first {
        cause.prove(&waiter.command, BLOCKED_FOR, waiter.longest_ns());
        cause.prove_of_machine(WAITING_TASKS, hung.len() as f64);
        let stack = analysis.details(waiter).and_then(|it| it.stack.as_ref());
        let functions = stack.into_iter().flatten().take(MAX_STACK);
        cause.stack = functions.map(SafeText::from).collect();
    }
    if let Some(device) = stuck {
        cause.prove(&device.name, STUCK_REQUESTS, device.min_in_flight as f64);
    }
    cause.victims = parties(hung);
    cause.remedies.push(kernel_log());
    let device = cause.device.as_ref();
    let health = device.and_then(|name| health_of(analysis, name));
    cause.remedies.extend(health);
    let frozen = first.and_then(|it| Some((it, frozen_place(analysis, it)?)));
    match frozen {
        Some((waiter, place)) => tell_frozen(&mut cause, &place, waiter.longest_ns()),
        None => tell(&mut cause, hung, stuck),
    }
    cause
}

/// Functions in which a task waits that writes to a frozen file system.
const FROZEN: [&str; 2] = ["percpu_rwsem_wait", "__sb_start_write"];

/// The place of the frozen file system that a task wants to write to, if it waits for that.
fn frozen_place(analysis: &Analysis<'_>, waiter: &Waiter) -> Option<SafeText> {
    let details = analysis.details(waiter)?;
    let stack = details.stack.iter().flatten().map(String::as_str);
    let mut functions = stack.chain(waiter.wait_channel.as_deref());
    if !functions.any(|name| FROZEN.contains(&name)) {
        return None;
    }
    let (_, facts) = analysis.window.facts.as_ref()?;
    let only = match &details.mounts[..] {
        [only] => Some(only.id),
        _ => None,
    };
    let id = details.used_mount_id.or(only)?;
    let mount = facts.mounts.iter().find(|mount| mount.id == id)?;
    Some(SafeText::from_path(&mount.path))
}

/// A task that waits until a file system is thawed.
fn tell_frozen(cause: &mut Cause, place: &SafeText, slept_ns: f64) {
    let who = names(&cause.victims, 0).unwrap_or_default();
    let slept = units::format_latency(slept_ns);
    cause.headline = format!("{who} waits: {place} is frozen");
    cause.sentence = format!(
        "{who} waits for {slept} until the file system at {place} is thawed: fsfreeze, a snapshot or a backup has frozen it."
    );
    let command =
        exact_path(place).and_then(|path| shell::command_line(["fsfreeze", "--unfreeze", path]));
    let thaw = "thaws it, after a look at what has frozen it";
    let mut remedy = Remedy::command_or(command, thaw, format!("thaw {place} with fsfreeze"));
    remedy.reach = RemedyReach::Mount;
    cause.remedies.insert(0, remedy);
}

fn tell(cause: &mut Cause, hung: &[&Waiter], stuck: Option<&DeviceSummary>) {
    let device = cause.device.as_deref();
    let on_device = device.map_or_else(String::new, |device| format!(" on {device}"));
    let device = device.unwrap_or("a device");
    let (Some(waiter), Some(who)) = (hung.first(), names(&cause.victims, hung.len())) else {
        let count = stuck.map_or(0, |device| device.min_in_flight);
        cause.sentence = format!("{count} requests{on_device} do not complete.");
        cause.headline = format!("requests of {device} do not complete");
        return;
    };
    let channel = waiter.wait_channel.as_ref();
    let place = channel.map_or_else(String::new, |channel| format!(" in {channel}"));
    let slept = units::format_latency(waiter.longest_ns());
    cause.headline = format!("{} hangs in I/O on {device}", program(&waiter.command));
    cause.sentence =
        format!("{who} hangs{on_device}: blocked{place} without interruption for {slept}.");
}
