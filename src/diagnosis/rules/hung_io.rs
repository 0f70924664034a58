//! A task has been in uninterruptible sleep, without a context switch, for many seconds.

use std::time::Duration;

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, DeviceSummary, Waiter};
use crate::diagnosis::blame::parties;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::mitigation::health_of;
use crate::diagnosis::remedy::Remedy;
use crate::diagnosis::wait_kind::WaitKind;
use crate::files::safe_text::SafeText;

/// Sleep that is not normal; in a shorter window the whole of it, but not less than the second
/// value.
const HUNG: Duration = Duration::from_secs(10);
const LEAST: Duration = Duration::from_secs(7);
/// Fraction of a window shorter than [`HUNG`] for which the task has to sleep.
const WHOLE_WINDOW: f64 = 0.85;
/// Kernel functions of a stack that are kept.
const MAX_STACK: usize = 6;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let limit = HUNG.min(Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW));
    let hung: Vec<&Waiter> = analysis
        .waiters
        .iter()
        .filter(|waiter| limit >= LEAST && is_hung(analysis, waiter, limit))
        .collect();
    let stuck = stuck_device(analysis);
    if hung.is_empty() && stuck.is_none() {
        if !analysis.window.has_blocked_tasks() {
            return Examination::NotExamined(NotExamined::NotRecorded);
        }
        if limit < LEAST {
            return Examination::NotExamined(NotExamined::WindowTooShort);
        }
        let longest = analysis.waiters.iter().map(|waiter| waiter.longest).max();
        let longest = longest.unwrap_or_default().as_nanos() as f64;
        return Examination::RuledOut(vec![Measurement::of_machine(Quantity::BlockedFor, longest)]);
    }
    Examination::Problem(vec![cause(analysis, &hung, stuck)])
}

/// Whether a task hangs in I/O. Kernel threads wait for others; requests to servers of file
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
        && waiter.is_still_blocked
        && waiter.longest >= limit
}

/// A device with requests in flight of which none completes in the whole window.
fn stuck_device<'a>(analysis: &'a Analysis<'_>) -> Option<&'a DeviceSummary> {
    let long_enough = analysis.seconds >= LEAST.as_secs_f64();
    analysis.whole_devices().find(|device| {
        let completed: f64 = device.intervals.iter().map(|load| load.completed).sum();
        long_enough && device.min_in_flight > 0 && completed == 0.0 && device.intervals.len() > 1
    })
}

fn cause(analysis: &Analysis<'_>, hung: &[&Waiter], stuck: Option<&DeviceSummary>) -> Cause {
    let first = hung.first();
    let details = first.and_then(|waiter| analysis.details(waiter));
    let stack = details.and_then(|details| details.stack.as_ref());
    let detail = CauseDetail::HungIo {
        wait_channel: first.and_then(|waiter| waiter.wait_channel.clone()),
        stack: stack
            .into_iter()
            .flatten()
            .take(MAX_STACK)
            .map(SafeText::from)
            .collect(),
    };
    let mut cause = Cause::new(detail, Severity::Critical, analysis.begin());
    if stuck.is_some() {
        cause.certainty = Certainty::Confirmed;
    }
    cause.device = stuck
        .map(|device| device.name.clone())
        .or_else(|| first.and_then(|waiter| waiter.devices.first().cloned()));
    if let Some(waiter) = first {
        let slept = waiter.longest.as_nanos() as f64;
        cause.evidence.push(Measurement::of(
            &waiter.command,
            Quantity::BlockedFor,
            slept,
        ));
        cause.evidence.push(Measurement::of_machine(
            Quantity::WaitingTasks,
            hung.len() as f64,
        ));
    }
    if let Some(device) = stuck {
        let stuck = device.min_in_flight as f64;
        cause.evidence.push(Measurement::of(
            &device.name,
            Quantity::StuckRequests,
            stuck,
        ));
    }
    cause.victims = parties(hung);
    cause.remedies = vec![Remedy::ShowKernelLog];
    let health = cause
        .device
        .as_ref()
        .and_then(|name| health_of(analysis, name));
    cause.remedies.extend(health);
    cause
}
