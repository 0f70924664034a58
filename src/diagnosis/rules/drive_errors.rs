//! The kernel logged failed requests in the window.

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::blame::{SUFFERING, parties};
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::mitigation::health_of;
use crate::diagnosis::remedy::Remedy;
use crate::probe::facts::FactsSample;
use crate::probe::system::kernel_log::{KernelIoError, NewErrors};
use crate::safe_text::SafeText;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some((begin, end)) = &analysis.window.facts else {
        return Examination::NotExamined(NotExamined::NotRecorded);
    };
    match &end.kernel_errors {
        NewErrors::Read(errors) => {
            let mut devices: Vec<&String> = errors.iter().map(|error| &error.device).collect();
            devices.sort();
            devices.dedup();
            let causes = devices
                .into_iter()
                .map(|device| cause(analysis, (begin, end), device, errors))
                .collect();
            Examination::of(causes, || {
                vec![Measurement::of_machine(Quantity::LoggedErrors, 0.0)]
            })
        }
        NewErrors::NotPermitted => Examination::NotExamined(NotExamined::NotPermitted),
        NewErrors::Absent => Examination::NotExamined(NotExamined::NotReported),
    }
}

fn cause(
    analysis: &Analysis<'_>,
    facts: (&FactsSample, &FactsSample),
    device: &str,
    errors: &[KernelIoError],
) -> Cause {
    let own: Vec<&KernelIoError> = errors
        .iter()
        .filter(|error| error.device == device)
        .collect();
    let message = own
        .last()
        .map(|error| SafeText::from(&error.message).cut(160));
    let name = SafeText::from(device);
    let mut cause = Cause::new(
        CauseDetail::DriveErrors { message },
        Severity::Critical,
        analysis.begin(),
    );
    cause.certainty = Certainty::Confirmed;
    cause.evidence = vec![Measurement::of(
        &name,
        Quantity::LoggedErrors,
        own.len() as f64,
    )];
    if let Some(new) = new_command_errors(facts, device) {
        cause
            .evidence
            .push(Measurement::of(&name, Quantity::CommandErrors, new as f64));
    }
    if let Some(device) = analysis.device(device) {
        let latency = device.latency();
        if latency > 0.0 {
            cause
                .evidence
                .push(Measurement::of(&name, Quantity::ReadAwait, latency));
        }
    }
    let waiting: Vec<_> = analysis.waiters_on(&name, SUFFERING).collect();
    cause.victims = parties(&waiting);
    cause.remedies = vec![Remedy::ShowKernelLog];
    cause.remedies.extend(health_of(analysis, &name));
    cause.device = Some(name);
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
