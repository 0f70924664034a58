//! Chooses what helps: only what has an effect on the device in question.

use super::analysis::{Analysis, DeviceSummary, ProcessSummary};
use super::cause::Party;
use super::remedy::Remedy;
use crate::drive::DriveKind;
use crate::safe_text::SafeText;

/// The health of a device, where it is a drive that may report it.
#[must_use]
pub fn health_of(analysis: &Analysis<'_>, name: &SafeText) -> Option<Remedy> {
    let device = analysis.device(name)?;
    let may_report = device.kind == Some(DriveKind::Disk) && !device.is_virtual;
    may_report.then(|| Remedy::ShowHealth {
        device: name.clone(),
    })
}

/// Fraction of the device's throughput that a limited culprit keeps.
const LIMITED_FRACTION: f64 = 0.5;

/// What helps against a process that takes most of a device.
#[must_use]
pub fn against(culprit: &Party, device: &DeviceSummary, analysis: &Analysis<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    // Writeback is done by kernel threads, and only bfq knows for whom: the class has an effect on
    // reads and direct writes.
    let scheduler = device.scheduler.as_ref();
    let scheduler = scheduler.filter(|name| matches!(name.as_str(), "bfq" | "mq-deadline"));
    let process = analysis.process(culprit.pid).map(ProcessSummary::instance);
    if let Some((process, scheduler)) = process.zip(scheduler) {
        remedies.push(Remedy::IdleClass {
            process,
            scheduler: scheduler.clone(),
        });
    }
    if let Some(unit) = &culprit.unit
        && analysis.can_limit_unit(unit)
    {
        remedies.push(Remedy::LimitUnit {
            unit: unit.clone(),
            device: device.name.clone(),
            bytes_per_s: (device.throughput * LIMITED_FRACTION).max(1e6) as u64,
        });
    }
    remedies.extend(process.map(|process| Remedy::Pause { process }));
    remedies
}
