//! The bottleneck of a transfer, and the bytes of it that are not on disk yet.

use crate::model::file_locations::device_at_location;
use crate::model::memory::{is_throttled, unwritten_bytes};
use crate::model::snapshot::{
    Bottleneck, DeviceView, ProcessView, Throttle, TransferState, TransferView,
};
use crate::probe::SystemSample;

use super::context::{TransferContext, TransferDevices};
use super::groups;
use super::transfer::{Transfer, TransferFile};

/// Above this utilization, some request always waits for the device.
const BUSY_UTILIZATION: f64 = 0.8;
/// A process with a lower fraction of I/O wait is busy with something else.
const LOW_IO_WAIT: f64 = 0.1;
/// A process with a higher fraction of I/O wait is limited by its device.
const HIGH_IO_WAIT: f64 = 0.5;

/// Adds what devices and dirty memory reveal to a view.
pub fn add_bottleneck(view: &mut TransferView, transfer: &Transfer, context: &TransferContext<'_>) {
    let written = transfer.destination.as_ref().and(view.position_bytes);
    let dirty = unwritten_bytes(&context.sample.host.memory);
    let devices = TransferDevices {
        source: device_of(transfer.source.as_ref(), context),
        destination: device_of(transfer.destination.as_ref(), context),
    };
    view.not_on_disk_bytes = devices
        .destination
        .and(written)
        .zip(dirty)
        .map(|(written, dirty)| written.min(dirty));
    if view.state == TransferState::Finished {
        return;
    }
    let process = context.processes.iter().find(|it| it.tid == view.pid);
    let evidence = BottleneckEvidence {
        source_utilization: devices.source.and_then(|device| device.busy),
        destination_utilization: devices.destination.and_then(|device| device.busy),
        is_same_device: devices.is_same(),
        is_throttled: transfer.destination.is_some() && is_dirty_throttled(process, context.sample),
        io_wait: process.and_then(|process| process.io_wait),
        is_running: process.is_some_and(|process| process.state == Some('R')),
    };
    let rate = view.rate_bytes_per_s.unwrap_or(0.0);
    if let Some(limited) = groups::cgroup_bottleneck(view.pid, rate, devices, context) {
        view.bottleneck = Some(limited);
        view.throttle = Some(Throttle::ControlGroup);
        return;
    }
    view.bottleneck = bottleneck(&evidence);
    view.throttle = if evidence.is_throttled {
        Some(Throttle::DirtyMemory)
    } else {
        transfer.is_rate_limited.then_some(Throttle::OwnLimit)
    };
}

fn device_of<'a>(
    file: Option<&TransferFile>,
    context: &TransferContext<'a>,
) -> Option<&'a DeviceView> {
    let name = device_at_location(context.sample, file?.location())?;
    context.devices.iter().find(|device| device.name == name)
}

/// Whether the kernel throttles the process because of dirty memory.
fn is_dirty_throttled(process: Option<&ProcessView>, now: &SystemSample) -> bool {
    let blocked = process.and_then(|process| process.wait_channel.as_deref());
    blocked.is_some_and(|function| function.starts_with("balance_dirty"))
        || is_throttled(&now.host.memory)
}

/// Evidence for the bottleneck.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BottleneckEvidence {
    /// Utilization of the source device.
    pub source_utilization: Option<f64>,
    /// Utilization of the destination device.
    pub destination_utilization: Option<f64>,
    /// Whether both are the same device.
    pub is_same_device: bool,
    /// Whether the kernel throttles writers.
    pub is_throttled: bool,
    /// Fraction of time in which the process waited for block I/O.
    pub io_wait: Option<f64>,
    /// Whether it was running at the time of the sample.
    pub is_running: bool,
}

/// The bottleneck; `None` where the evidence is not clear.
///
/// Writes go to memory at first, so a busy destination alone delays no process until writers are
/// throttled: a busy source takes precedence.
#[must_use]
pub fn bottleneck(evidence: &BottleneckEvidence) -> Option<Bottleneck> {
    let busy = |share: Option<f64>| share.is_some_and(|share| share >= BUSY_UTILIZATION);
    let (source, destination) = (
        busy(evidence.source_utilization),
        busy(evidence.destination_utilization),
    );
    if evidence.is_same_device && source {
        Some(Bottleneck::SameDisk)
    } else if evidence.is_throttled {
        Some(Bottleneck::Destination)
    } else if source {
        Some(Bottleneck::Source)
    } else if destination {
        Some(Bottleneck::Destination)
    } else if evidence.io_wait.is_some_and(|share| share >= HIGH_IO_WAIT) {
        evidence.source_utilization.map(|_| Bottleneck::Source)
    } else if evidence.is_running || evidence.io_wait.is_some_and(|share| share < LOW_IO_WAIT) {
        Some(Bottleneck::NotDiskBound)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bottleneck_is_the_busy_device() {
        let of = |source, destination| BottleneckEvidence {
            source_utilization: Some(source),
            destination_utilization: Some(destination),
            ..BottleneckEvidence::default()
        };
        assert_eq!(bottleneck(&of(0.97, 0.2)), Some(Bottleneck::Source));
        assert_eq!(bottleneck(&of(0.2, 0.97)), Some(Bottleneck::Destination));
        // Both are busy, and memory absorbs the writes: reading is the bottleneck.
        assert_eq!(bottleneck(&of(0.97, 0.97)), Some(Bottleneck::Source));
        let full = BottleneckEvidence {
            is_throttled: true,
            ..of(0.97, 0.97)
        };
        assert_eq!(bottleneck(&full), Some(Bottleneck::Destination));
        let same = BottleneckEvidence {
            is_same_device: true,
            ..of(0.97, 0.97)
        };
        assert_eq!(bottleneck(&same), Some(Bottleneck::SameDisk));
    }

    #[test]
    fn bottleneck_of_cpu_bound_program_is_not_a_disk() {
        let idle = BottleneckEvidence {
            source_utilization: Some(0.1),
            ..BottleneckEvidence::default()
        };
        assert_eq!(bottleneck(&idle), None, "unknown is no answer");
        let computing = BottleneckEvidence {
            is_running: true,
            ..idle
        };
        assert_eq!(bottleneck(&computing), Some(Bottleneck::NotDiskBound));
        let waiting = BottleneckEvidence {
            io_wait: Some(0.7),
            ..idle
        };
        assert_eq!(bottleneck(&waiting), Some(Bottleneck::Source));
    }
}
