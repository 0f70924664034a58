//! Chooses what helps: only what has an effect on the device in question.

use super::analysis::{Analysis, DeviceSummary, ProcessSummary};
use super::cause::Party;
use super::remedy::Remedy;
use crate::drive::DriveKind;
use crate::drive::scheduler::serves_io_classes;
use crate::files::safe_text::SafeText;

/// The health of a device, where it is a drive that may report it.
#[must_use]
pub fn health_of(analysis: &Analysis<'_>, name: &SafeText) -> Option<Remedy> {
    let device = analysis.device(name)?;
    let may_report = device.kind == Some(DriveKind::Disk) && !device.is_virtual;
    may_report.then(|| Remedy::ShowHealth {
        device: name.clone(),
    })
}

/// Fraction of its throughput that a limited unit keeps, in each direction.
const LIMITED_FRACTION: f64 = 0.5;
/// A direction in which a unit moves fewer bytes per second is not limited.
const MIN_LIMITED: f64 = 1e6;

/// What helps against a process that takes most of a device.
#[must_use]
pub fn against(culprit: &Party, device: &DeviceSummary, analysis: &Analysis<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    // Writeback is done by kernel threads, and only bfq knows for whom: the class has an effect on
    // reads and direct writes.
    let kernel = analysis.kernel_version();
    let scheduler = device.scheduler.as_ref();
    let scheduler = scheduler.filter(|name| serves_io_classes(name, kernel) == Some(true));
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
        remedies.extend(limit_of(unit, device, analysis));
    }
    remedies.extend(pause_of(culprit.pid, analysis));
    remedies
}

/// A pause of a process, unless others would hang with it, or that is not known.
#[must_use]
pub fn pause_of(pid: u32, analysis: &Analysis<'_>) -> Option<Remedy> {
    let process = analysis.process(pid)?.instance();
    let is_harmless = analysis.window.stoppable.contains(&pid);
    is_harmless.then_some(Remedy::Pause { process })
}

/// Half of what a unit reads and half of what it writes now, as far as the device does: a process also has
/// files on others, and writes to memory first.
fn limit_of(unit: &SafeText, device: &DeviceSummary, analysis: &Analysis<'_>) -> Option<Remedy> {
    let limit = |rate: fn(&ProcessSummary) -> f64, most: f64| {
        let own = analysis
            .processes
            .iter()
            .filter(|it| it.unit.as_ref() == Some(unit));
        let present = own.map(rate).sum::<f64>().min(most);
        (present >= MIN_LIMITED).then_some((present * LIMITED_FRACTION) as u64)
    };
    let read = limit(|it| it.read_bytes, device.read_bytes);
    let write = limit(|it| it.write_bytes, device.write_bytes);
    read.or(write).map(|_| Remedy::LimitUnit {
        unit: unit.clone(),
        device: device.name.clone(),
        read_bytes_per_s: read,
        write_bytes_per_s: write,
    })
}
