//! The kernel logged failed requests in the window.

use std::collections::BTreeMap;

use crate::files::safe_text::SafeText;
use crate::probe::facts::FactsSample;
use crate::probe::system::kernel_log::NewErrors;
use crate::why::analysis::Analysis;
use crate::why::blame::{SUFFERING, parties};
use crate::why::cause::{Cause, NotExamined, Severity};
use crate::why::evidence::{Evidence, Metric, READ_AWAIT, WRITE_AWAIT, count};
use crate::why::remedies::{health_of, kernel_log};
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "drive-errors",
    explains: &[
        "hung-io",
        "device-slow",
        "device-saturated",
        "dirty-throttled",
    ],
    examine,
};

/// Characters of a message that are told.
const MESSAGE_CHARACTERS: usize = 160;
/// I/O errors in the kernel log.
const LOGGED_ERRORS: Metric = count("logged_errors", "errors in the kernel log", "/dev/kmsg");
/// Commands that ended with an error.
const COMMAND_ERRORS: Metric = count(
    "command_errors",
    "failed commands",
    "/sys/block/*/device/ioerr_cnt",
);

fn examine(analysis: &Analysis<'_>) -> Examination {
    let found = match &analysis.window.facts {
        Some((begin, end)) => logged_errors(begin, end),
        None => recorded_errors(analysis),
    };
    let errors = match found {
        Ok(errors) => errors,
        Err(reason) => return Examination::NotExamined(reason),
    };
    let causes = errors
        .iter()
        .map(|(device, errors)| cause(analysis, device, errors))
        .collect();
    Examination::of(causes, || vec![Evidence::of_machine(LOGGED_ERRORS, 0.0)])
}

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

/// The errors in the kernel log.
fn logged_errors(begin: &FactsSample, end: &FactsSample) -> Result<ErrorsByDevice, NotExamined> {
    let errors = match &end.kernel_errors {
        NewErrors::Available(errors) => errors,
        NewErrors::NotPermitted => return Err(NotExamined::NotPermitted),
        NewErrors::Absent => {
            return Err(NotExamined::NotReported("the kernel does not report it"));
        }
    };
    let mut found = ErrorsByDevice::new();
    for error in errors {
        let device = found.entry(SafeText::from(&error.device)).or_default();
        device.logged += 1;
        device.message = Some(SafeText::from(&error.message));
        device.failed_commands = new_command_errors((begin, end), &error.device);
    }
    Ok(found)
}

/// The errors that the snapshots of a recording have. Failed commands alone prove nothing: some are
/// harmless.
fn recorded_errors(analysis: &Analysis<'_>) -> Result<ErrorsByDevice, NotExamined> {
    let snapshots = || analysis.window.snapshots.iter();
    if snapshots().all(|snapshot| snapshot.io_errors.is_none()) {
        return Err(NotExamined::NotRecorded);
    }
    let mut found = ErrorsByDevice::new();
    for errors in snapshots().flat_map(|it| it.io_errors.iter().flatten()) {
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

fn cause(analysis: &Analysis<'_>, name: &SafeText, errors: &DeviceErrors) -> Cause {
    let cause = analysis.cause(RULE.code, Severity::Critical);
    let mut cause = cause.confirmed().on(name);
    cause.prove(name, LOGGED_ERRORS, errors.logged as f64);
    let failed = errors.failed_commands.map(|count| count as f64);
    cause.prove(name, COMMAND_ERRORS, failed);
    if let Some(device) = analysis.device(name) {
        cause.prove(name, READ_AWAIT, device.read_await);
        cause.prove(name, WRITE_AWAIT, device.write_await);
    }
    let waiting: Vec<_> = analysis.waiters_on(name, SUFFERING).collect();
    cause.victims = parties(&waiting);
    cause.remedies.push(kernel_log());
    cause.remedies.extend(health_of(analysis, name));
    let last = errors.message.clone().map_or_else(String::new, |message| {
        format!(", the last: {}", message.cut(MESSAGE_CHARACTERS))
    });
    let count = errors.logged;
    cause.sentence = format!("{name} fails: {count} I/O errors in the kernel log{last}.");
    cause.headline = format!("{name} reports I/O errors");
    cause
}

/// Commands that failed in the window.
fn new_command_errors((begin, end): (&FactsSample, &FactsSample), name: &str) -> Option<u64> {
    let errors = |facts: &FactsSample| {
        let device = facts.devices.iter().find(|device| device.name == name)?;
        device.command_errors
    };
    errors(end)?.checked_sub(errors(begin)?)
}
