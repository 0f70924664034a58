//! The bottleneck of a transfer: from the processes' own rates and waits, and the load of the devices
//! over the last seconds.

use std::collections::VecDeque;

use crate::model::memory::{is_throttled, unwritten_bytes};
use crate::model::snapshot::{
    Bottleneck, BottleneckReason, DeviceView, Throttle, TransferOperation, TransferView,
};
use crate::probe::sample::ProcessSample;

use super::context::{TransferContext, TransferDevices};
use super::groups;
use super::waits::{DeviceLoad, ProcessActivity, WaitHistory, WaitObservation, WaitPlace};

/// Above this utilization, some request almost always waits for the device.
const BUSY_UTILIZATION: f64 = 0.8;
/// A process with a lower fraction of I/O wait is busy with something else.
const LOW_IO_WAIT: f64 = 0.1;
/// A process with a higher fraction of I/O wait is limited by its device.
const HIGH_IO_WAIT: f64 = 0.5;
/// A process that uses more of one processor is limited by it.
const HIGH_CPU: f64 = 0.85;
/// Seen in this fraction of the samples, a wait is what limits the process.
const FREQUENT_WAIT: f64 = 0.3;
/// Seen in this fraction of the samples, a wait is where a process spends its time.
const MOST_SAMPLES: f64 = 0.5;
/// A source that supplies a smaller fraction of the bytes than this from its device is cached.
const MIN_DEVICE_FRACTION: f64 = 0.1;
/// Writes of at least this fraction of a disk's bytes compete with its reads.
const MIN_WRITE_FRACTION: f64 = 0.2;
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
    let limited = groups::cgroup_bottleneck(view.pid, rate, participants.devices, context);
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

/// Mean values over the observations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BottleneckEvidence {
    /// Whether source and destination are the same device.
    pub is_same_device: bool,
    /// Load of the source device.
    pub source: Option<DeviceLoad>,
    /// Load of the destination device.
    pub destination: Option<DeviceLoad>,
    /// Fraction of the bytes that the reader gets from devices; `None` if unknown.
    pub device_fraction: Option<f64>,
    /// Fraction of one processor that the busiest of the processes uses.
    pub cpu: Option<f64>,
    /// Fraction of the time that a process waited for block I/O.
    pub io_wait: Option<f64>,
    /// Fraction of the samples in which the reader waited for a page that is read.
    pub read_waits: f64,
    /// Fraction of the samples in which the writer waited for a write.
    pub write_waits: f64,
    /// Fraction of the samples in which the writer waited because of the limit of dirty memory.
    pub writer_dirty_waits: f64,
    /// Fraction of the samples in which the reader waited for the next process of a pipeline.
    pub reader_pipe_waits: f64,
    /// Fraction of the samples in which the writer waited for the previous process of a pipeline.
    pub writer_pipe_waits: f64,
    /// Fraction of the samples in which a process was in uninterruptible sleep.
    pub blocked: f64,
}

impl BottleneckEvidence {
    fn from_observations(observations: &VecDeque<WaitObservation>, is_same_device: bool) -> Self {
        let count = observations.len().max(1) as f64;
        let fraction = |holds: &dyn Fn(&WaitObservation) -> bool| {
            // Seen once, it is a coincidence.
            match observations.iter().filter(|it| holds(it)).count() {
                0 | 1 => 0.0,
                times => times as f64 / count,
            }
        };
        let mean = |value: &dyn Fn(&WaitObservation) -> Option<f64>| mean_of(observations, value);
        let read = mean(&|it| it.reader.map(|reader| reader.read_bytes_per_s));
        let moved = mean(&|it| it.reader.map(|reader| reader.moved_bytes_per_s));
        let of_processes = |value: fn(&ProcessActivity) -> Option<f64>| {
            let reader = mean(&|it| value(it.reader.as_ref()?));
            let writer = mean(&|it| value(it.writer.as_ref()?));
            match (reader, writer) {
                (Some(reader), Some(writer)) => Some(reader.max(writer)),
                (one, other) => one.or(other),
            }
        };
        Self {
            is_same_device,
            source: mean_load(observations, |it| it.source),
            destination: mean_load(observations, |it| it.destination),
            device_fraction: read
                .zip(moved)
                .and_then(|(read, moved)| (moved > 0.0).then_some(read / moved)),
            cpu: of_processes(|process| process.cpu),
            io_wait: of_processes(|process| process.io_wait),
            read_waits: fraction(&|it| it.reader_place == Some(WaitPlace::Read)),
            write_waits: fraction(&|it| it.writer_place == Some(WaitPlace::Write)),
            writer_dirty_waits: fraction(&|it| it.writer_place == Some(WaitPlace::DirtyLimit)),
            reader_pipe_waits: fraction(&|it| it.reader_place == Some(WaitPlace::Pipe)),
            writer_pipe_waits: fraction(&|it| it.writer_place == Some(WaitPlace::Pipe)),
            blocked: fraction(&|it| it.is_blocked),
        }
    }
}

/// Mean over the observations in which the value is known, weighted by their time.
fn mean_of(
    observations: &VecDeque<WaitObservation>,
    value: &dyn Fn(&WaitObservation) -> Option<f64>,
) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for observation in observations {
        if let Some(value) = value(observation) {
            sum += value * observation.seconds;
            seconds += observation.seconds;
        }
    }
    (seconds > 0.0).then(|| sum / seconds)
}

fn mean_load(
    observations: &VecDeque<WaitObservation>,
    device: fn(&WaitObservation) -> Option<DeviceLoad>,
) -> Option<DeviceLoad> {
    observations.iter().find_map(device)?;
    let mean =
        |value: fn(&DeviceLoad) -> Option<f64>| mean_of(observations, &|it| value(&device(it)?));
    Some(DeviceLoad {
        busy: mean(|load| load.busy),
        read_bytes_per_s: mean(|load| load.read_bytes_per_s),
        write_bytes_per_s: mean(|load| load.write_bytes_per_s),
        read_await_ns: mean(|load| load.read_await_ns),
        write_await_ns: mean(|load| load.write_await_ns),
    })
}

/// What limits a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Reading.
    Source,
    /// Writing.
    Destination,
    /// Writing, because of the limit of dirty memory.
    DirtyLimit,
    /// One device for both.
    SameDisk,
    /// A processor.
    Processor,
    /// Another program of its pipeline.
    Pipeline,
    /// No device: the process hardly waits for I/O.
    HardlyWaits,
}

/// Judges the evidence.
///
/// Writes go to memory at first, so a busy destination alone delays no process that does not wait for
/// it. A source that the process does not read from its device cannot be the bottleneck.
#[must_use]
pub fn judge(evidence: &BottleneckEvidence) -> Option<Judgement> {
    let busy = |load: Option<DeviceLoad>| {
        load.and_then(|load| load.busy)
            .is_some_and(|busy| busy >= BUSY_UTILIZATION)
    };
    let waits_for_next = evidence.reader_pipe_waits >= MOST_SAMPLES;
    let waits_for_previous = evidence.writer_pipe_waits >= MOST_SAMPLES;
    let reads_device = evidence.source.is_some()
        && !waits_for_next
        && evidence
            .device_fraction
            .is_none_or(|fraction| fraction >= MIN_DEVICE_FRACTION);
    let waits_for_write = evidence.write_waits >= FREQUENT_WAIT
        && (!reads_device || evidence.write_waits > evidence.read_waits);
    let waits = evidence.io_wait.is_some_and(|share| share >= HIGH_IO_WAIT);
    if evidence.writer_dirty_waits >= FREQUENT_WAIT {
        Some(Judgement::DirtyLimit)
    } else if evidence.is_same_device
        && reads_device
        && busy(evidence.source)
        && writes_compete(evidence.source)
    {
        Some(Judgement::SameDisk)
    } else if waits_for_write && evidence.destination.is_some() {
        Some(Judgement::Destination)
    } else if evidence.cpu.is_some_and(|cpu| cpu >= HIGH_CPU) {
        Some(Judgement::Processor)
    } else if reads_device
        && (busy(evidence.source) || evidence.read_waits >= FREQUENT_WAIT || waits)
    {
        Some(Judgement::Source)
    } else if waits_for_next && waits_for_previous {
        Some(Judgement::Pipeline)
    } else if evidence.destination.is_some()
        && !waits_for_previous
        && (busy(evidence.destination)
            || (!reads_device && (evidence.blocked >= FREQUENT_WAIT || waits)))
    {
        Some(Judgement::Destination)
    } else if evidence.io_wait.is_some_and(|share| share < LOW_IO_WAIT) {
        Some(Judgement::HardlyWaits)
    } else {
        None
    }
}

/// Whether much of a device's load are writes.
fn writes_compete(load: Option<DeviceLoad>) -> bool {
    load.is_some_and(
        |load| match (load.read_bytes_per_s, load.write_bytes_per_s) {
            (Some(read), Some(write)) => write >= MIN_WRITE_FRACTION * (read + write),
            _ => true,
        },
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn load(busy: f64) -> Option<DeviceLoad> {
        Some(DeviceLoad {
            busy: Some(busy),
            ..DeviceLoad::default()
        })
    }

    fn of(source: f64, destination: f64) -> BottleneckEvidence {
        BottleneckEvidence {
            source: load(source),
            destination: load(destination),
            device_fraction: Some(1.0),
            ..BottleneckEvidence::default()
        }
    }

    #[test]
    fn bottleneck_is_the_busy_device() {
        assert_eq!(judge(&of(0.97, 0.2)), Some(Judgement::Source));
        assert_eq!(judge(&of(0.2, 0.97)), Some(Judgement::Destination));
        // Both are busy, and memory absorbs the writes: reading is the bottleneck.
        assert_eq!(judge(&of(0.97, 0.97)), Some(Judgement::Source));
        let full = BottleneckEvidence {
            writer_dirty_waits: 0.5,
            ..of(0.97, 0.97)
        };
        assert_eq!(judge(&full), Some(Judgement::DirtyLimit));
        let same = BottleneckEvidence {
            is_same_device: true,
            ..of(0.97, 0.97)
        };
        assert_eq!(judge(&same), Some(Judgement::SameDisk));
    }

    #[test]
    fn cached_source_is_never_the_bottleneck() {
        for (source, destination, waits, blocked) in [
            (0.97, 0.97, 0.0, 0.0),
            (0.97, 0.3, 0.5, 0.5),
            (0.97, 0.3, 0.0, 0.6),
        ] {
            for is_same_device in [false, true] {
                let cached = BottleneckEvidence {
                    is_same_device,
                    device_fraction: Some(0.0),
                    write_waits: waits,
                    blocked,
                    ..of(source, destination)
                };
                assert_eq!(judge(&cached), Some(Judgement::Destination), "{cached:?}");
            }
        }
    }

    #[test]
    fn bottleneck_of_cpu_bound_program_is_not_a_disk() {
        let idle = of(0.1, 0.1);
        assert_eq!(judge(&idle), None, "unknown is no answer");
        let computing = BottleneckEvidence {
            cpu: Some(0.97),
            ..idle
        };
        assert_eq!(judge(&computing), Some(Judgement::Processor));
        let waiting = BottleneckEvidence {
            io_wait: Some(0.7),
            ..idle
        };
        assert_eq!(judge(&waiting), Some(Judgement::Source));
        let rarely = BottleneckEvidence {
            io_wait: Some(0.02),
            ..idle
        };
        assert_eq!(judge(&rarely), Some(Judgement::HardlyWaits));
    }

    #[test]
    fn pipeline_that_waits_for_its_middle_is_not_limited_by_a_busy_disk() {
        let both = BottleneckEvidence {
            reader_pipe_waits: 1.0,
            writer_pipe_waits: 0.8,
            ..of(0.9, 0.97)
        };
        assert_eq!(judge(&both), Some(Judgement::Pipeline));
        let slow_writer = BottleneckEvidence {
            writer_pipe_waits: 0.0,
            ..both
        };
        assert_eq!(judge(&slow_writer), Some(Judgement::Destination));
        let slow_reader = BottleneckEvidence {
            reader_pipe_waits: 0.0,
            ..both
        };
        assert_eq!(judge(&slow_reader), Some(Judgement::Source));
    }

    #[test]
    fn synchronous_writer_waits_for_destination_although_often_seen_running() {
        let dsync = BottleneckEvidence {
            source: None,
            device_fraction: None,
            cpu: Some(0.3),
            write_waits: 0.33,
            ..of(0.0, 0.5)
        };
        assert_eq!(judge(&dsync), Some(Judgement::Destination));
    }
}
