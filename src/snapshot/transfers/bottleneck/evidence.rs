//! What the observations of the last seconds reveal of a transfer.

use std::collections::VecDeque;

use crate::snapshot::transfers::waits::{DeviceLoad, ProcessActivity, WaitObservation, WaitPlace};

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
    pub(super) fn from_observations(
        observations: &VecDeque<WaitObservation>,
        is_same_device: bool,
    ) -> Self {
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
