//! The kernel logged failed requests in the window.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::probe::facts::FactsSample;
use crate::probe::system::kernel_log::NewErrors;
use crate::snapshot::view::IoErrorsView;

/// Characters of a message that are told.
const MESSAGE_CHARACTERS: usize = 160;

/// The errors of the devices in the window, in the form of a recording.
type Errors = BTreeMap<SafeText, IoErrorsView>;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let errors = match &analysis.window.facts {
        Some((begin, end)) => logged_errors(begin, end)?,
        None => recorded_errors(analysis)?,
    };
    let failed = errors.iter().filter(|(_, it)| it.logged > Some(0));
    Ok(failed
        .map(|(name, errors)| cause(analysis, name, errors))
        .collect())
}

pub(super) fn evidence(_: &Analysis<'_>) -> Vec<Evidence> {
    vec![Evidence::of_machine(LOGGED_ERRORS, 0.0)]
}

/// The errors in the kernel log.
fn logged_errors(begin: &FactsSample, end: &FactsSample) -> Result<Errors, NotExamined> {
    let logged = match &end.kernel_errors {
        NewErrors::Available(errors) => errors,
        NewErrors::NotPermitted => return Err(NotExamined::NotPermitted),
        NewErrors::Absent => {
            return Err(NotExamined::NotReported("the kernel does not report it"));
        }
    };
    let failed = |facts: &FactsSample, name: &str| {
        let device = facts.devices.iter().find(|device| device.name == name)?;
        device.command_errors
    };
    let mut errors = Errors::new();
    for error in logged {
        let own = errors.entry(SafeText::from(&error.device)).or_default();
        own.logged = Some(own.logged.unwrap_or(0) + 1);
        own.message = Some(SafeText::from(&error.message));
        let failures = failed(end, &error.device).zip(failed(begin, &error.device));
        own.failed_commands = failures.and_then(|(end, begin)| end.checked_sub(begin));
    }
    Ok(errors)
}

/// The errors that the snapshots of a recording have.
fn recorded_errors(analysis: &Analysis<'_>) -> Result<Errors, NotExamined> {
    let recorded = analysis.window.snapshots.iter();
    let mut recorded = recorded.filter_map(|it| it.io_errors.as_ref()).peekable();
    if recorded.peek().is_none() {
        return Err(NotExamined::NotRecorded);
    }
    let mut sums = Errors::new();
    for errors in recorded.flatten() {
        let own = sums.entry(errors.device.clone()).or_default();
        let sum = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).reduce(|a, b| a + b);
        own.logged = sum(own.logged, errors.logged);
        own.failed_commands = sum(own.failed_commands, errors.failed_commands);
        own.message = errors.message.clone().or(own.message.take());
    }
    Ok(sums)
}

fn cause(analysis: &Analysis<'_>, name: &SafeText, errors: &IoErrorsView) -> Cause {
    let mut cause = analysis.proven(Severity::Critical).on(name);
    let count = errors.logged.unwrap_or(0);
    cause.prove(name, LOGGED_ERRORS, count as f64);
    let failed = errors.failed_commands.map(|count| count as f64);
    cause.prove(name, COMMAND_ERRORS, failed);
    if let Some(device) = analysis.device(name) {
        cause.prove(name, READ_AWAIT, device.read_await);
        cause.prove(name, WRITE_AWAIT, device.write_await);
        cause.victims = parties(&analysis.blocked_on(device, SUFFERING));
    }
    cause.remedies.push(kernel_log());
    cause.remedies.extend(health_of(analysis, name));
    let last = errors.message.clone().map_or_else(String::new, |message| {
        format!(", the last: {}", message.cut(MESSAGE_CHARACTERS))
    });
    cause.sentence = format!("{name} fails: {count} I/O errors in the kernel log{last}.");
    cause
}
