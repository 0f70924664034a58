//! The bottleneck of a transfer: from the processes' own rates and waits, and the load of the devices
//! over the last seconds.

mod evidence;
mod judgement;

use std::collections::VecDeque;

use self::evidence::BottleneckEvidence;
use self::judgement::{Judgement, judge};
use super::context::{TransferContext, TransferDevices};
use super::groups;
use super::waits::{DeviceLoad, WaitHistory, WaitObservation};
use crate::probe::sample::ProcessSample;
use crate::snapshot::memory::{is_throttled, unwritten_bytes};
use crate::snapshot::view::{
    Bottleneck, BottleneckReason, DeviceView, Throttle, TransferOperation, TransferView,
};

pub(super) use self::judgement::BUSY_UTILIZATION;

/// With fewer samples there is no answer: one sample is a coincidence.
const MIN_OBSERVATIONS: usize = 3;

/// Another bottleneck is shown when it was found this often in a row.
const FINDINGS_TO_CHANGE: u32 = 3;

/// A bottleneck, and what it is derived from.
type Finding = (Bottleneck, BottleneckReason);

/// The processes and devices of a transfer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransferParticipants<'a> {
    /// The process that reads, or the only one.
    pub(super) reader: Option<&'a ProcessSample>,
    /// The process that writes, where it is another one.
    pub(super) writer: Option<&'a ProcessSample>,
    /// The devices.
    pub(super) devices: TransferDevices<'a>,
}

/// Follows the bottleneck of one transfer.
#[derive(Debug, Clone, Default)]
pub(super) struct BottleneckTracker {
    history: WaitHistory,
    shown: Option<Finding>,
    different_findings: u32,
}

impl BottleneckTracker {
    /// Processes a sample.
    fn update(&mut self, participants: &TransferParticipants<'_>, context: &TransferContext<'_>) {
        let devices = participants.devices;
        let load = |device: Option<&DeviceView>| device.map(DeviceLoad::of_device);
        self.history.record(
            context.sample.boot_time,
            participants.reader,
            participants.writer,
            (load(devices.source), load(devices.destination)),
        );
        let found = find_bottleneck(self.history.observations(), devices, context);
        let kind = |finding: &Option<Finding>| finding.as_ref().map(|(bottleneck, _)| *bottleneck);
        if kind(&found) == kind(&self.shown) {
            self.different_findings = 0;
            self.shown = found;
            return;
        }
        self.different_findings += 1;
        if self.shown.is_none() || self.different_findings >= FINDINGS_TO_CHANGE {
            self.different_findings = 0;
            self.shown = found;
        }
    }
}

/// Adds what processes, devices and dirty memory reveal to the view of a transfer that is not over.
pub(super) fn add_bottleneck(
    view: &mut TransferView,
    tracker: &mut BottleneckTracker,
    participants: &TransferParticipants<'_>,
    context: &TransferContext<'_>,
) {
    tracker.update(participants, context);
    let rate = view.rate_bytes_per_s.unwrap_or(0.0);
    let limited = view
        .pid
        .and_then(|pid| groups::cgroup_bottleneck(pid, rate, participants.devices, context));
    if let Some((bottleneck, device)) = limited {
        view.bottleneck = Some(bottleneck);
        view.bottleneck_reason = Some(BottleneckReason::ControlGroup { device });
        view.throttle = Some(Throttle::ControlGroup);
        return;
    }
    let Some((bottleneck, reason)) = &tracker.shown else {
        return;
    };
    view.bottleneck = Some(*bottleneck);
    view.bottleneck_reason = Some(reason.clone());
    if matches!(reason, BottleneckReason::DirtyLimit { .. }) {
        view.throttle = Some(Throttle::DirtyMemory);
    }
}

/// Adds the bytes that may be in memory only, and when they are flushed: at most what it has written,
/// and at most all dirty bytes, of its destination device where the kernel tells.
pub(super) fn add_dirty_bytes(
    view: &mut TransferView,
    devices: TransferDevices<'_>,
    context: &TransferContext<'_>,
) {
    let Some(device) = devices.destination else {
        return;
    };
    let of_device = device.dirty_bytes.zip(device.writeback_bytes);
    let dirty = of_device
        .map(|(dirty, writeback)| dirty.saturating_add(writeback))
        .or_else(|| unwritten_bytes(&context.sample.host.memory));
    view.not_on_disk_bytes = view
        .position_bytes
        .zip(dirty)
        .map(|(written, dirty)| written.min(dirty));
    if view.not_on_disk_bytes.is_some_and(|bytes| bytes > 0) {
        view.time_to_flush = device.time_to_flush;
    }
}

/// The bottleneck according to the observations of the last seconds; `None` where the evidence is not
/// clear.
fn find_bottleneck(
    observations: &VecDeque<WaitObservation>,
    devices: TransferDevices<'_>,
    context: &TransferContext<'_>,
) -> Option<Finding> {
    if observations.len() < MIN_OBSERVATIONS {
        return None;
    }
    let evidence = BottleneckEvidence::from_observations(observations, devices.is_same());
    let limited = devices.destination.is_some() && is_throttled(&context.sample.host.memory);
    let judgement = if limited && evidence.writer_dirty_waits > 0.0 {
        Judgement::DirtyLimit
    } else {
        judge(&evidence)?
    };
    Some(finding(judgement, &evidence, devices))
}

fn finding(
    judgement: Judgement,
    evidence: &BottleneckEvidence,
    devices: TransferDevices<'_>,
) -> Finding {
    let device = |view: Option<&DeviceView>, load: Option<DeviceLoad>, operation| {
        let load = load.unwrap_or_default();
        BottleneckReason::Device {
            device: view.map(|view| view.name.clone()).unwrap_or_default(),
            operation,
            await_ns: match operation {
                TransferOperation::Read => load.read_await_ns,
                TransferOperation::Write => load.write_await_ns,
            },
            busy: load.busy,
        }
    };
    let read = || device(devices.source, evidence.source, TransferOperation::Read);
    match judgement {
        Judgement::Source => (Bottleneck::Source, read()),
        Judgement::SameDisk => (Bottleneck::SameDisk, read()),
        Judgement::Destination => (
            Bottleneck::Destination,
            device(
                devices.destination,
                evidence.destination,
                TransferOperation::Write,
            ),
        ),
        Judgement::DirtyLimit => (
            Bottleneck::Destination,
            BottleneckReason::DirtyLimit {
                device: devices.destination.map(|device| device.name.clone()),
            },
        ),
        Judgement::Processor => (
            Bottleneck::NotDiskBound,
            BottleneckReason::Processor {
                fraction: evidence.cpu.unwrap_or_default(),
            },
        ),
        Judgement::Pipeline => (Bottleneck::NotDiskBound, BottleneckReason::Pipeline),
        Judgement::HardlyWaits => (
            Bottleneck::NotDiskBound,
            BottleneckReason::HardlyWaits {
                fraction: evidence.io_wait.unwrap_or_default(),
            },
        ),
    }
}
