//! The kernel logged failed requests in the window.

use std::collections::BTreeMap;

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::blame::{SUFFERING, parties};
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::mitigation::health_of;
use crate::diagnosis::remedy::Remedy;
use crate::files::safe_text::SafeText;
use crate::probe::facts::FactsSample;
use crate::probe::system::kernel_log::NewErrors;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
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
    Examination::of(causes, || {
        vec![Measurement::of_machine(Quantity::LoggedErrors, 0.0)]
    })
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
        NewErrors::Read(errors) => errors,
        NewErrors::NotPermitted => return Err(NotExamined::NotPermitted),
        NewErrors::Absent => return Err(NotExamined::NotReported),
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
    let message = errors.message.clone().map(|message| message.cut(160));
    let mut cause = Cause::new(
        CauseDetail::DriveErrors { message },
        Severity::Critical,
        analysis.begin(),
    );
    cause.certainty = Certainty::Confirmed;
    let count = errors.logged as f64;
    cause.evidence = vec![Measurement::of(name, Quantity::LoggedErrors, count)];
    if let Some(failed) = errors.failed_commands {
        cause.evidence.push(Measurement::of(
            name,
            Quantity::CommandErrors,
            failed as f64,
        ));
    }
    if let Some(device) = analysis.device(name) {
        let latency = device.latency();
        if latency > 0.0 {
            cause
                .evidence
                .push(Measurement::of(name, Quantity::ReadAwait, latency));
        }
    }
    let waiting: Vec<_> = analysis.waiters_on(name, SUFFERING).collect();
    cause.victims = parties(&waiting);
    cause.remedies = vec![Remedy::ShowKernelLog];
    cause.remedies.extend(health_of(analysis, name));
    cause.device = Some(name.clone());
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
