//! Judges what limits a transfer.

use super::evidence::BottleneckEvidence;
use crate::snapshot::transfers::waits::DeviceLoad;

/// Above this utilization, some request almost always waits for the device.
pub(in crate::snapshot::transfers) const BUSY_UTILIZATION: f64 = 0.8;
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
