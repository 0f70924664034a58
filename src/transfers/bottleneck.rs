//! The bottleneck of a transfer: from the processes' own rates and waits, and the load of the devices
//! over the last seconds.

use super::context::{TransferContext, TransferDevice, TransferDevices};
use super::limits;
use super::view::{Bottleneck, BottleneckReason, Throttle, TransferOperation, TransferView};
use super::waits::{DeviceLoad, ProcessActivity, WaitHistory, WaitPlace};
use crate::probe::sample::ProcessSample;

/// With fewer samples there is no answer: one sample is a coincidence.
const MIN_OBSERVATIONS: usize = 3;
/// Another bottleneck is shown when it was found this often in a row.
const FINDINGS_TO_CHANGE: u32 = 3;
/// Above this utilization, some request almost always waits for the device.
pub(super) const BUSY: f64 = 0.8;
/// Below it, nobody waits for the device.
const IDLE: f64 = 0.1;
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

/// A bottleneck, and what it is derived from.
type Finding = (Bottleneck, BottleneckReason);

/// The processes and devices of a transfer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Participants<'a> {
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
    /// Adds the bottleneck to the view of a transfer that is not over.
    pub(super) fn add_to(
        &mut self,
        view: &mut TransferView,
        participants: &Participants<'_>,
        context: &TransferContext<'_>,
    ) {
        self.update(participants, context);
        let processes = [participants.reader, participants.writer];
        let mut limits = processes.into_iter().flatten();
        let limited =
            limits.find_map(|it| limits::reached_limit(it, participants.devices, context));
        if let Some((bottleneck, device)) = limited {
            view.bottleneck = Some(bottleneck);
            view.bottleneck_reason = Some(BottleneckReason::ControlGroup { device });
            view.throttle = Some(Throttle::ControlGroup);
        } else if let Some((bottleneck, reason)) = &self.shown {
            view.bottleneck = Some(*bottleneck);
            view.bottleneck_reason = Some(reason.clone());
            if matches!(reason, BottleneckReason::DirtyLimit { .. }) {
                view.throttle = Some(Throttle::DirtyMemory);
            }
        }
    }

    fn update(&mut self, participants: &Participants<'_>, context: &TransferContext<'_>) {
        let devices = participants.devices;
        let load = |device: Option<&TransferDevice<'_>>| device.map(|device| device.load);
        self.history.record(
            context.sample.boot_time,
            [participants.reader, participants.writer],
            [load(devices.source), load(devices.destination)],
        );
        let found = find_bottleneck(&self.history, devices, context);
        let kind = |finding: &Option<Finding>| finding.as_ref().map(|(bottleneck, _)| *bottleneck);
        let is_same = kind(&found) == kind(&self.shown);
        self.different_findings = if is_same {
            0
        } else {
            self.different_findings + 1
        };
        if is_same || self.shown.is_none() || self.different_findings >= FINDINGS_TO_CHANGE {
            self.different_findings = 0;
            self.shown = found;
        }
    }
}

/// The bottleneck according to the observations of the last seconds; `None` where the evidence is not
/// clear.
fn find_bottleneck(
    history: &WaitHistory,
    devices: TransferDevices<'_>,
    context: &TransferContext<'_>,
) -> Option<Finding> {
    if history.observations().len() < MIN_OBSERVATIONS {
        return None;
    }
    let mut evidence = Evidence::of(history);
    evidence.is_same_device = devices.is_same();
    evidence.is_dirty_limit_reached =
        context.is_dirty_limit_reached && devices.destination.is_some();
    let name = |device: Option<&TransferDevice<'_>>| device.map(|device| device.name.clone());
    let read = || BottleneckReason::Device {
        device: name(devices.source).unwrap_or_default(),
        operation: TransferOperation::Read,
        await_ns: evidence.source.read_await_ns,
        busy: evidence.source.busy,
    };
    Some(match judge(&evidence)? {
        Judgement::Source => (Bottleneck::Source, read()),
        Judgement::SameDisk => (Bottleneck::SameDisk, read()),
        Judgement::Destination => {
            let reason = BottleneckReason::Device {
                device: name(devices.destination).unwrap_or_default(),
                operation: TransferOperation::Write,
                await_ns: evidence.destination.write_await_ns,
                busy: evidence.destination.busy,
            };
            (Bottleneck::Destination, reason)
        }
        Judgement::DirtyLimit => {
            let device = name(devices.destination);
            (
                Bottleneck::Destination,
                BottleneckReason::DirtyLimit { device },
            )
        }
        Judgement::Processor => {
            let fraction = evidence.cpu.unwrap_or_default();
            (
                Bottleneck::NotDiskBound,
                BottleneckReason::Processor { fraction },
            )
        }
        Judgement::Pipeline => (Bottleneck::NotDiskBound, BottleneckReason::Pipeline),
        Judgement::HardlyWaits => {
            let fraction = evidence.io_wait.unwrap_or_default();
            (
                Bottleneck::NotDiskBound,
                BottleneckReason::HardlyWaits { fraction },
            )
        }
    })
}

/// Mean values of the last seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Evidence {
    /// Whether source and destination are known, and what they did.
    has_source: bool,
    has_destination: bool,
    source: DeviceLoad,
    destination: DeviceLoad,
    is_same_device: bool,
    /// Whether the kernel makes writers wait, who have a destination.
    is_dirty_limit_reached: bool,
    /// Fraction of the bytes that the reader gets from devices; `None` if unknown.
    device_fraction: Option<f64>,
    /// Fraction of one processor that the busiest of the processes uses.
    cpu: Option<f64>,
    /// Fraction of the time that a process waited for block I/O.
    io_wait: Option<f64>,
    /// Fractions of the samples in which the reader or the writer was seen waiting: for a page that is
    /// read, for a write, for the limit of dirty memory, for the other end of a pipe.
    read_waits: f64,
    write_waits: f64,
    dirty_waits: f64,
    reader_pipe_waits: f64,
    writer_pipe_waits: f64,
    /// Fraction of the samples in which a process was in uninterruptible sleep.
    blocked: f64,
}

impl Evidence {
    fn of(history: &WaitHistory) -> Self {
        let read = history.mean(|it| Some(it.reader?.read_bytes_per_s));
        let moved = history.mean(|it| Some(it.reader?.moved_bytes_per_s));
        let greater = |value: fn(&ProcessActivity) -> Option<f64>| {
            let reader = history.mean(|it| value(it.reader.as_ref()?));
            let writer = history.mean(|it| value(it.writer.as_ref()?));
            reader.into_iter().chain(writer).reduce(f64::max)
        };
        let reader = |place| history.fraction(|it| it.reader_place == Some(place));
        let writer = |place| history.fraction(|it| it.writer_place == Some(place));
        let observations = history.observations();
        Self {
            has_source: observations.iter().any(|it| it.source.is_some()),
            has_destination: observations.iter().any(|it| it.destination.is_some()),
            source: DeviceLoad {
                busy: history.mean(|it| it.source?.busy),
                read_bytes_per_s: history.mean(|it| it.source?.read_bytes_per_s),
                write_bytes_per_s: history.mean(|it| it.source?.write_bytes_per_s),
                read_await_ns: history.mean(|it| it.source?.read_await_ns),
                ..DeviceLoad::default()
            },
            destination: DeviceLoad {
                busy: history.mean(|it| it.destination?.busy),
                write_await_ns: history.mean(|it| it.destination?.write_await_ns),
                ..DeviceLoad::default()
            },
            device_fraction: read
                .zip(moved)
                .and_then(|(read, moved)| (moved > 0.0).then_some(read / moved)),
            cpu: greater(|process| process.cpu),
            io_wait: greater(|process| process.io_wait),
            read_waits: reader(WaitPlace::Read),
            write_waits: writer(WaitPlace::Write),
            dirty_waits: writer(WaitPlace::DirtyLimit),
            reader_pipe_waits: reader(WaitPlace::Pipe),
            writer_pipe_waits: writer(WaitPlace::Pipe),
            blocked: history.fraction(|it| it.is_blocked),
            ..Self::default()
        }
    }

    /// Whether much of the source's load are writes.
    fn writes_compete(&self) -> bool {
        let bytes = self
            .source
            .read_bytes_per_s
            .zip(self.source.write_bytes_per_s);
        bytes.is_none_or(|(read, write)| write >= MIN_WRITE_FRACTION * (read + write))
    }
}

/// What limits a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
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
/// it. A source that the process does not read from its device cannot be the bottleneck, unless it is
/// seen waiting for it: what it reads from holes is in memory. Nobody waits for an idle device.
fn judge(evidence: &Evidence) -> Option<Judgement> {
    let is_busy = |load: DeviceLoad| load.busy.is_some_and(|busy| busy >= BUSY);
    let is_used = |load: DeviceLoad| load.busy.is_none_or(|busy| busy >= IDLE);
    let waits_for_next = evidence.reader_pipe_waits >= MOST_SAMPLES;
    let waits_for_previous = evidence.writer_pipe_waits >= MOST_SAMPLES;
    let is_cached = evidence
        .device_fraction
        .is_some_and(|fraction| fraction < MIN_DEVICE_FRACTION);
    let waits_for_read = evidence.read_waits >= FREQUENT_WAIT;
    let reads_device = evidence.has_source && !waits_for_next && (!is_cached || waits_for_read);
    let waits_for_write = evidence.write_waits >= FREQUENT_WAIT
        && (!reads_device || evidence.write_waits > evidence.read_waits);
    let waits = evidence.io_wait.is_some_and(|share| share >= HIGH_IO_WAIT);
    let is_blocked = evidence.blocked >= FREQUENT_WAIT || waits;
    let limit_waits = evidence.is_dirty_limit_reached && evidence.dirty_waits > 0.0;
    if limit_waits || evidence.dirty_waits >= FREQUENT_WAIT {
        Some(Judgement::DirtyLimit)
    } else if evidence.is_same_device
        && reads_device
        && is_busy(evidence.source)
        && evidence.writes_compete()
    {
        Some(Judgement::SameDisk)
    } else if waits_for_write && evidence.has_destination {
        Some(Judgement::Destination)
    } else if evidence.cpu.is_some_and(|cpu| cpu >= HIGH_CPU) {
        Some(Judgement::Processor)
    } else if reads_device && (is_busy(evidence.source) || waits_for_read || waits) {
        Some(Judgement::Source)
    } else if waits_for_next && waits_for_previous {
        Some(Judgement::Pipeline)
    } else if evidence.has_destination
        && !waits_for_previous
        && (is_busy(evidence.destination)
            || (!reads_device && is_blocked && is_used(evidence.destination)))
    {
        Some(Judgement::Destination)
    } else if evidence.io_wait.is_some_and(|share| share < LOW_IO_WAIT) {
        Some(Judgement::HardlyWaits)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(busy: f64) -> DeviceLoad {
        DeviceLoad {
            busy: Some(busy),
            ..DeviceLoad::default()
        }
    }

    fn of(source: f64, destination: f64) -> Evidence {
        Evidence {
            has_source: true,
            has_destination: true,
            source: load(source),
            destination: load(destination),
            device_fraction: Some(1.0),
            ..Evidence::default()
        }
    }

    #[test]
    fn bottleneck_is_the_busy_device() {
        assert_eq!(judge(&of(0.97, 0.2)), Some(Judgement::Source));
        assert_eq!(judge(&of(0.2, 0.97)), Some(Judgement::Destination));
        // Both are busy, and memory absorbs the writes: reading is the bottleneck.
        assert_eq!(judge(&of(0.97, 0.97)), Some(Judgement::Source));
        let full = Evidence {
            dirty_waits: 0.5,
            ..of(0.97, 0.97)
        };
        assert_eq!(judge(&full), Some(Judgement::DirtyLimit));
        let same = Evidence {
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
                let cached = Evidence {
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
        let computing = Evidence {
            cpu: Some(0.97),
            ..idle
        };
        assert_eq!(judge(&computing), Some(Judgement::Processor));
        let waiting = Evidence {
            io_wait: Some(0.7),
            ..idle
        };
        assert_eq!(judge(&waiting), Some(Judgement::Source));
        let rarely = Evidence {
            io_wait: Some(0.02),
            ..idle
        };
        assert_eq!(judge(&rarely), Some(Judgement::HardlyWaits));
    }

    #[test]
    fn pipeline_that_waits_for_its_middle_is_not_limited_by_a_busy_disk() {
        let both = Evidence {
            reader_pipe_waits: 1.0,
            writer_pipe_waits: 0.8,
            ..of(0.9, 0.97)
        };
        assert_eq!(judge(&both), Some(Judgement::Pipeline));
        let slow_writer = Evidence {
            writer_pipe_waits: 0.0,
            ..both
        };
        assert_eq!(judge(&slow_writer), Some(Judgement::Destination));
        let slow_reader = Evidence {
            reader_pipe_waits: 0.0,
            ..both
        };
        assert_eq!(judge(&slow_reader), Some(Judgement::Source));
    }

    #[test]
    fn synchronous_writer_waits_for_destination_although_often_seen_running() {
        let dsync = Evidence {
            has_source: false,
            device_fraction: None,
            cpu: Some(0.3),
            write_waits: 0.33,
            ..of(0.0, 0.5)
        };
        assert_eq!(judge(&dsync), Some(Judgement::Destination));
    }

    #[test]
    fn nobody_waits_for_an_idle_destination() {
        let sparse = Evidence {
            device_fraction: Some(0.05),
            io_wait: Some(0.9),
            blocked: 0.9,
            ..of(0.97, 0.0)
        };
        assert_eq!(judge(&sparse), None, "what is read comes from holes");
        let seen = Evidence {
            read_waits: 0.5,
            ..sparse
        };
        assert_eq!(judge(&seen), Some(Judgement::Source));
    }
}
