//! The kernel logged failed requests in the window.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::probe::facts::FactsSample;
use crate::probe::system::kernel_log::NewErrors;

/// Characters of a message that are told.
const MESSAGE_CHARACTERS: usize = 160;

/// Errors of a device in the window.
#[derive(Debug, Default)]
struct DeviceErrors {
    /// Messages of the kernel log.
    logged: u64,
    /// Commands that failed, of SCSI drives.
    failed_commands: Option<u64>,
    /// The last message.
    message: Option<SafeText>,
}

type ErrorsByDevice = BTreeMap<SafeText, DeviceErrors>;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let found = match &analysis.window.facts {
        Some((begin, end)) => logged_errors(begin, end),
        None => recorded_errors(analysis),
    };
    let errors = match found {
        Ok(errors) => errors.into_iter(),
        Err(reason) => return Examination::NotExamined(reason),
    };
    let causes = errors.map(|(device, errors)| cause(analysis, &device, errors));
    Examination::of(causes.collect(), || {
        vec![Evidence::of_machine(LOGGED_ERRORS, 0.0)]
    })
}

/// The errors in the kernel log.
fn logged_errors(begin: &FactsSample, end: &FactsSample) -> Result<ErrorsByDevice, NotExamined> {
    let errors = match &end.kernel_errors {
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
    let mut found = ErrorsByDevice::new();
    for error in errors {
        let device = found.entry(SafeText::from(&error.device)).or_default();
        device.logged += 1;
        device.message = Some(SafeText::from(&error.message));
        let failures = failed(end, &error.device).zip(failed(begin, &error.device));
        device.failed_commands = failures.and_then(|(end, begin)| end.checked_sub(begin));
    }
    Ok(found)
}

/// The errors that the snapshots of a recording have. Failed commands alone prove nothing: some are
/// harmless.
fn recorded_errors(analysis: &Analysis<'_>) -> Result<ErrorsByDevice, NotExamined> {
    let recorded = analysis.window.snapshots.iter();
    let mut recorded = recorded.filter_map(|it| it.io_errors.as_ref()).peekable();
    if recorded.peek().is_none() {
        return Err(NotExamined::NotRecorded);
    }
    let mut found = ErrorsByDevice::new();
    for errors in recorded.flatten() {
        let device = found.entry(errors.device.clone()).or_default();
        device.logged += errors.logged.unwrap_or(0);
        device.message = errors.message.clone().or(device.message.take());
        if let Some(failed) = errors.failed_commands {
            *device.failed_commands.get_or_insert(0) += failed;
        }
    }
    found.retain(|_, device| device.logged > 0);
    Ok(found)
}

fn cause(analysis: &Analysis<'_>, name: &SafeText, errors: DeviceErrors) -> Cause {
    let cause = analysis.cause(Severity::Critical);
    let mut cause = cause.confirmed().on(name);
    cause.prove(name, LOGGED_ERRORS, errors.logged as f64);
    let failed = errors.failed_commands.map(|count| count as f64);
    cause.prove(name, COMMAND_ERRORS, failed);
    if let Some(device) = analysis.device(name) {
        cause.prove(name, READ_AWAIT, device.read_await);
        cause.prove(name, WRITE_AWAIT, device.write_await);
        cause.victims = parties(&analysis.blocked_on(device, SUFFERING));
    }
    cause.remedies.push(kernel_log());
    cause.remedies.extend(health_of(analysis, name));
    let last = errors.message.map_or_else(String::new, |message| {
        format!(", the last: {}", message.cut(MESSAGE_CHARACTERS))
    });
    let count = errors.logged;
    cause.sentence = format!("{name} fails: {count} I/O errors in the kernel log{last}.");
    cause
}
