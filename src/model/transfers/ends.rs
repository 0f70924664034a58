//! Which end a transfer waits for, and what of it is not on a disk yet.

use crate::model::live::{
    Bottleneck, DeviceView, ProcessView, Throttle, TransferState, TransferView,
};
use crate::model::memory::{is_throttled, unwritten};
use crate::model::places::device_at;
use crate::probe::Sample;

use super::groups;
use super::tracked::{End, Tracked};

/// Busy for this share of time, somebody always waits for a device.
const BUSY: f64 = 0.8;
/// A process that waits for I/O for less of its time than this does something else.
const HARDLY_WAITS: f64 = 0.1;
/// One that waits for more than this waits for its device.
const MOSTLY_WAITS: f64 = 0.5;

/// What else is known at the moment of a view.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The sample.
    pub now: &'a Sample,
    /// Its devices.
    pub devices: &'a [DeviceView],
    /// Its processes.
    pub processes: &'a [ProcessView],
}

/// Adds to a view what the devices and dirty memory say.
pub fn complete(view: &mut TransferView, tracked: &Tracked, scene: &Scene<'_>) {
    let written = tracked.destination.as_ref().and(view.position_bytes);
    let dirty = unwritten(&scene.now.host.memory);
    let source = device(tracked.source.as_ref(), scene);
    let destination = device(tracked.destination.as_ref(), scene);
    view.unwritten_bytes = destination
        .and(written)
        .zip(dirty)
        .map(|(written, dirty)| written.min(dirty));
    if view.state == TransferState::Finished {
        return;
    }
    let process = scene.processes.iter().find(|it| it.tid == view.pid);
    let evidence = Evidence {
        source: source.and_then(|device| device.busy),
        destination: destination.and_then(|device| device.busy),
        same: matches!((source, destination), (Some(a), Some(b)) if a.name == b.name),
        throttled: tracked.destination.is_some() && held_back(process, scene.now),
        waits: process.and_then(|process| process.io_wait),
        runs: process.is_some_and(|process| process.state == Some('R')),
    };
    let rate = view.rate_bytes_per_s.unwrap_or(0.0);
    if let Some(end) = groups::limited_end(view.pid, rate, (source, destination), scene) {
        view.waits_for = Some(end);
        view.throttled = Some(Throttle::ControlGroup);
        return;
    }
    view.waits_for = bottleneck(&evidence);
    view.throttled = if evidence.throttled {
        Some(Throttle::DirtyMemory)
    } else {
        tracked.limited.then_some(Throttle::OwnLimit)
    };
}

fn device<'a>(end: Option<&End>, scene: &Scene<'a>) -> Option<&'a DeviceView> {
    let name = device_at(scene.now, end?.place())?;
    scene.devices.iter().find(|device| device.name == name)
}

/// Whether the kernel makes it wait because too much is dirty.
fn held_back(process: Option<&ProcessView>, now: &Sample) -> bool {
    let blocked = process.and_then(|process| process.blocked_in.as_deref());
    blocked.is_some_and(|function| function.starts_with("balance_dirty"))
        || is_throttled(&now.host.memory)
}

/// What speaks for either end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// Share of time in which the device that is read was busy.
    pub source: Option<f64>,
    /// Share of time in which the device that is written was busy.
    pub destination: Option<f64>,
    /// Whether it is one device.
    pub same: bool,
    /// Whether the kernel makes writers wait.
    pub throttled: bool,
    /// Share of time in which the process waited for block I/O.
    pub waits: Option<f64>,
    /// Whether it was running at the moment of the sample.
    pub runs: bool,
}

/// The end that holds it up; `None` where nothing speaks clearly.
///
/// What is written goes to memory at first, so a busy destination alone holds nobody up until
/// writers are made to wait: a busy source comes first.
#[must_use]
pub fn bottleneck(evidence: &Evidence) -> Option<Bottleneck> {
    let busy = |share: Option<f64>| share.is_some_and(|share| share >= BUSY);
    let (source, destination) = (busy(evidence.source), busy(evidence.destination));
    if evidence.same && source {
        Some(Bottleneck::Both)
    } else if evidence.throttled {
        Some(Bottleneck::Destination)
    } else if source {
        Some(Bottleneck::Source)
    } else if destination {
        Some(Bottleneck::Destination)
    } else if evidence.waits.is_some_and(|share| share >= MOSTLY_WAITS) {
        evidence.source.map(|_| Bottleneck::Source)
    } else if evidence.runs || evidence.waits.is_some_and(|share| share < HARDLY_WAITS) {
        Some(Bottleneck::Program)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_that_is_busy_holds_it_up() {
        let of = |source, destination| Evidence {
            source: Some(source),
            destination: Some(destination),
            ..Evidence::default()
        };
        assert_eq!(bottleneck(&of(0.97, 0.2)), Some(Bottleneck::Source));
        assert_eq!(bottleneck(&of(0.2, 0.97)), Some(Bottleneck::Destination));
        // Both busy, and memory takes what is written: reading is what it waits for.
        assert_eq!(bottleneck(&of(0.97, 0.97)), Some(Bottleneck::Source));
        let full = Evidence {
            throttled: true,
            ..of(0.97, 0.97)
        };
        assert_eq!(bottleneck(&full), Some(Bottleneck::Destination));
        let same = Evidence {
            same: true,
            ..of(0.97, 0.97)
        };
        assert_eq!(bottleneck(&same), Some(Bottleneck::Both));
    }

    #[test]
    fn a_program_that_computes_waits_for_nobody() {
        let idle = Evidence {
            source: Some(0.1),
            ..Evidence::default()
        };
        assert_eq!(bottleneck(&idle), None, "unknown is no answer");
        let computing = Evidence { runs: true, ..idle };
        assert_eq!(bottleneck(&computing), Some(Bottleneck::Program));
        let waiting = Evidence {
            waits: Some(0.7),
            ..idle
        };
        assert_eq!(bottleneck(&waiting), Some(Bottleneck::Source));
    }
}
