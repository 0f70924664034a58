//! The kernel logged failed requests in the window.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::probe::system::kernel_log::NewErrors;

/// Characters of a message that are told.
const MESSAGE_CHARACTERS: usize = 160;

/// How many errors of each device were logged in the window, and the last message.
type Errors = BTreeMap<SafeText, (u64, Option<SafeText>)>;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let errors = match &analysis.window.facts {
        Some((_, end)) => logged_errors(&end.kernel_errors)?,
        None => recorded_errors(analysis)?,
    };
    let failed = errors.into_iter().filter(|(_, (count, _))| *count > 0);
    Ok(failed
        .map(|(name, (count, message))| cause(analysis, &name, count, message))
        .collect())
}

pub(super) fn evidence(_: &Analysis<'_>) -> Vec<Evidence> {
    vec![Evidence::of_machine(LOGGED_ERRORS, 0.0)]
}

/// The errors in the kernel log.
fn logged_errors(logged: &NewErrors) -> Result<Errors, NotExamined> {
    let logged = match logged {
        NewErrors::Available(errors) => errors,
        NewErrors::NotPermitted => return Err(NotExamined::NotPermitted),
        NewErrors::Absent => {
            return Err(NotExamined::NotReported("the kernel does not report it"));
        }
    };
    let mut errors = Errors::new();
    for error in logged {
        let (count, message) = errors.entry(SafeText::from(&error.device)).or_default();
        *count += 1;
        *message = Some(SafeText::from(&error.message));
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
        let (count, message) = sums.entry(errors.device.clone()).or_default();
        *count += errors.logged.unwrap_or(0);
        *message = errors.message.clone().or(message.take());
    }
    Ok(sums)
}

fn cause(analysis: &Analysis<'_>, name: &SafeText, count: u64, message: Option<SafeText>) -> Cause {
    let mut cause = analysis.proven(Severity::Critical).on(name);
    cause.prove(name, LOGGED_ERRORS, count as f64);
    if let Some(device) = analysis.device(name) {
        cause.prove(name, READ_AWAIT, device.read_await);
        cause.prove(name, WRITE_AWAIT, device.write_await);
        cause.victims = parties(&analysis.blocked_on(device, SUFFERING));
    }
    cause.remedies.push(kernel_log());
    cause.remedies.extend(health_of(analysis, name));
    let last = message.map_or_else(String::new, |message| {
        format!(", the last: {}", message.cut(MESSAGE_CHARACTERS))
    });
    cause.sentence = format!("{name} fails: {count} I/O errors in the kernel log{last}.");
    cause
}
