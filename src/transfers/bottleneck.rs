//! The bottleneck of a transfer: who waits for what, from the processes' own rates and waits, the limits
//! of their control group, and the load of the devices.
//!
//! One sample says little: a wait channel is the kernel function at one moment, and a device that is
//! busy now may be idle in the next second. So the means of the last seconds are judged.

use super::context::{Participants, TransferContext, TransferDevice};
use super::limits;
use super::view::{Bottleneck, BottleneckReason, Throttle, TransferOperation, TransferView};
use super::waits::{DeviceLoad, WaitPlace, wait_place};
use crate::files::safe_text::SafeText;
use crate::probe::interval::ProcessPair;

/// Time constant of the means, in seconds.
const TIME_CONSTANT: f64 = 3.0;
/// Weight of one interval at most: what was seen once is a coincidence.
const MAX_WEIGHT: f64 = 0.25;
/// With fewer intervals there is no answer.
const MIN_INTERVALS: u32 = 3;
/// Above this utilization, some request almost always waits for the device.
const BUSY: f64 = 0.8;
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

/// Fraction of one processor that a process used, above 1 with several threads.
fn used_processor(process: &ProcessPair<'_>) -> Option<f64> {
    let used = process
        .current
        .cpu_time?
        .checked_sub(process.previous?.cpu_time?)?;
    Some(used.as_secs_f64() / process.sample_interval()?.as_secs_f64())
}

/// A device, and its mean load.
#[derive(Debug, Clone, Default)]
struct DeviceEvidence {
    name: SafeText,
    load: DeviceLoad,
}

impl DeviceEvidence {
    /// The evidence with the last interval, of a device that is known.
    fn updated(
        before: Option<Self>,
        device: Option<&TransferDevice<'_>>,
        weight: f64,
    ) -> Option<Self> {
        let device = device?;
        let mut evidence = before.unwrap_or_default();
        evidence.name = device.name.clone();
        let (load, now) = (&mut evidence.load, device.load);
        blend(&mut load.busy, now.busy, weight);
        blend(&mut load.read_bytes_per_s, now.read_bytes_per_s, weight);
        blend(&mut load.write_bytes_per_s, now.write_bytes_per_s, weight);
        blend(&mut load.read_await_ns, now.read_await_ns, weight);
        blend(&mut load.write_await_ns, now.write_await_ns, weight);
        Some(evidence)
    }

    fn is_busy(&self) -> bool {
        self.load.busy.is_some_and(|busy| busy >= BUSY)
    }

    /// Whether much of its load are writes.
    fn has_competing_writes(&self) -> bool {
        let bytes = self.load.read_bytes_per_s.zip(self.load.write_bytes_per_s);
        bytes.is_none_or(|(read, write)| write >= MIN_WRITE_FRACTION * (read + write))
    }

    fn reason(&self, operation: TransferOperation) -> BottleneckReason {
        BottleneckReason::Device {
            device: self.name.clone(),
            operation,
            await_ns: match operation {
                TransferOperation::Read => self.load.read_await_ns,
                TransferOperation::Write => self.load.write_await_ns,
            },
            busy: self.load.busy,
        }
    }
}

/// Mean values of the last seconds, of one transfer.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    intervals: u32,
    /// Where they are known.
    source: Option<DeviceEvidence>,
    destination: Option<DeviceEvidence>,
    is_same_device: bool,
    /// Whether the kernel makes writers wait.
    is_dirty_limit_reached: bool,
    /// Bytes per second that the reader gets from devices, and those that it moves in any way.
    device_rate: Option<f64>,
    rate: Option<f64>,
    /// Fraction of one processor that the busiest of the processes uses.
    cpu: Option<f64>,
    /// Fraction of the time that a process waits for block I/O; `None` without delay accounting.
    io_wait: Option<f64>,
    /// Fractions of the intervals at whose end the reader or the writer was seen waiting: for a page that
    /// is read, for a write, for the limit of dirty memory, for the other end of a pipe.
    read_waits: f64,
    write_waits: f64,
    dirty_waits: f64,
    reader_pipe_waits: f64,
    writer_pipe_waits: f64,
    /// Fraction of the intervals at whose end a process was in uninterruptible sleep.
    blocked: f64,
}

impl Evidence {
    /// Adds the bottleneck to the view of a transfer that is not over.
    pub(super) fn add_to(
        &mut self,
        view: &mut TransferView,
        participants: &Participants<'_>,
        context: &TransferContext<'_>,
    ) {
        self.update(participants, context);
        let limited = limits::reached_limit(participants, context)
            .map(|(end, device)| (end, BottleneckReason::ControlGroup { device }));
        let Some((bottleneck, reason)) = limited.or_else(|| self.judge()) else {
            return;
        };
        view.throttle = match reason {
            BottleneckReason::ControlGroup { .. } => Some(Throttle::ControlGroup),
            BottleneckReason::DirtyLimit { .. } => Some(Throttle::DirtyMemory),
            _ => view.throttle,
        };
        view.bottleneck = Some(bottleneck);
        view.bottleneck_reason = Some(reason);
    }

    /// Adds what was seen in the last interval.
    fn update(&mut self, participants: &Participants<'_>, context: &TransferContext<'_>) {
        let Some(seconds) = context.interval.seconds() else {
            return;
        };
        let weight = (1.0 - (-seconds / TIME_CONSTANT).exp()).min(MAX_WEIGHT);
        let (reader, writer) = (participants.reader, participants.writer);
        let (from, to) = (participants.source, participants.destination);
        self.intervals += 1;
        self.source = DeviceEvidence::updated(self.source.take(), from, weight);
        self.destination = DeviceEvidence::updated(self.destination.take(), to, weight);
        self.is_same_device = participants.is_same_disk();
        self.is_dirty_limit_reached = context.is_dirty_limit_reached;
        if let Some((io, time)) = reader.and_then(ProcessPair::io_delta) {
            let seconds = time.as_secs_f64();
            let moved = [io.rchar, io.read_bytes, io.wchar, io.write_bytes];
            let moved = moved.into_iter().max().unwrap_or(0);
            blend(
                &mut self.device_rate,
                Some(io.read_bytes as f64 / seconds),
                weight,
            );
            blend(&mut self.rate, Some(moved as f64 / seconds), weight);
        }
        let both = || participants.processes();
        let cpu = both().filter_map(used_processor).reduce(f64::max);
        blend(&mut self.cpu, cpu, weight);
        let waits = both().filter_map(|it| it.time_fraction(|process| process.io_delay));
        blend(&mut self.io_wait, waits.reduce(f64::max), weight);
        let place = |process: Option<&ProcessPair<'_>>| {
            Some(wait_place(process?.current.wait_channel.as_deref()?))
        };
        // One process may read and write.
        let (reads, writes) = (place(reader), place(writer.or(reader)));
        let is_blocked = both().any(|it| it.current.state == Some('D'));
        for (fraction, is_seen) in [
            (&mut self.read_waits, reads == Some(WaitPlace::Read)),
            (&mut self.write_waits, writes == Some(WaitPlace::Write)),
            (&mut self.dirty_waits, writes == Some(WaitPlace::DirtyLimit)),
            (&mut self.reader_pipe_waits, reads == Some(WaitPlace::Pipe)),
            (&mut self.writer_pipe_waits, writes == Some(WaitPlace::Pipe)),
            (&mut self.blocked, is_blocked),
        ] {
            *fraction += weight * (f64::from(u8::from(is_seen)) - *fraction);
        }
    }

    /// Who waits for what; `None` where the evidence is not clear.
    ///
    /// Writes go to memory at first, so a busy destination alone delays no process that does not wait for
    /// it. A source that the process does not read from its device cannot be the bottleneck, unless it is
    /// seen waiting for it: what it reads from holes is in memory. Nobody waits for an idle device.
    fn judge(&self) -> Option<Finding> {
        if self.intervals < MIN_INTERVALS {
            return None;
        }
        let waits_for_next = self.reader_pipe_waits >= MOST_SAMPLES;
        let waits_for_previous = self.writer_pipe_waits >= MOST_SAMPLES;
        let rates = self.device_rate.zip(self.rate);
        let is_cached = rates.is_some_and(|(read, moved)| read < MIN_DEVICE_FRACTION * moved);
        let waits_for_read = self.read_waits >= FREQUENT_WAIT;
        let source = self.source.as_ref();
        let source = source.filter(|_| !waits_for_next && (!is_cached || waits_for_read));
        let destination = self.destination.as_ref();
        let waits_for_write = self.write_waits >= FREQUENT_WAIT
            && (source.is_none() || self.write_waits > self.read_waits);
        let waits = self.io_wait.is_some_and(|share| share >= HIGH_IO_WAIT);
        let is_blocked = self.blocked >= FREQUENT_WAIT || waits;
        let limit_waits =
            self.is_dirty_limit_reached && destination.is_some() && self.dirty_waits > 0.0;
        if limit_waits || self.dirty_waits >= FREQUENT_WAIT {
            let device = destination.map(|it| it.name.clone());
            let reason = BottleneckReason::DirtyLimit { device };
            return Some((Bottleneck::Destination, reason));
        }
        let reads = |it: &DeviceEvidence| it.reason(TransferOperation::Read);
        if let Some(device) = source
            && self.is_same_device
            && device.is_busy()
            && device.has_competing_writes()
        {
            return Some((Bottleneck::SameDisk, reads(device)));
        }
        let writes =
            |it: &DeviceEvidence| (Bottleneck::Destination, it.reason(TransferOperation::Write));
        if let Some(device) = destination.filter(|_| waits_for_write) {
            return Some(writes(device));
        }
        if let Some(fraction) = self.cpu.filter(|cpu| *cpu >= HIGH_CPU) {
            return not_disk(BottleneckReason::Processor { fraction });
        }
        if let Some(device) = source
            && (device.is_busy() || waits_for_read || waits)
        {
            return Some((Bottleneck::Source, reads(device)));
        }
        if waits_for_next && waits_for_previous {
            return not_disk(BottleneckReason::Pipeline);
        }
        let is_used = |it: &DeviceEvidence| it.load.busy.is_none_or(|busy| busy >= IDLE);
        if let Some(device) = destination.filter(|_| !waits_for_previous)
            && (device.is_busy() || (source.is_none() && is_blocked && is_used(device)))
        {
            return Some(writes(device));
        }
        let fraction = self.io_wait.filter(|share| *share < LOW_IO_WAIT)?;
        not_disk(BottleneckReason::HardlyWaits { fraction })
    }
}

fn not_disk(reason: BottleneckReason) -> Option<Finding> {
    Some((Bottleneck::NotDiskBound, reason))
}

/// Adds a value, where it is known, to a mean.
fn blend(mean: &mut Option<f64>, value: Option<f64>, weight: f64) {
    let Some(value) = value else { return };
    *mean = Some(mean.map_or(value, |mean| mean + weight * (value - mean)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: f64, destination: f64) -> Evidence {
        let device = |busy| DeviceEvidence {
            load: DeviceLoad {
                busy: Some(busy),
                ..DeviceLoad::default()
            },
            ..DeviceEvidence::default()
        };
        Evidence {
            intervals: MIN_INTERVALS,
            source: Some(device(source)),
            destination: Some(device(destination)),
            device_rate: Some(1e6),
            rate: Some(1e6),
            ..Evidence::default()
        }
    }

    /// The finding with this evidence: the bottleneck, or the reason why it is no disk.
    fn judged(evidence: &Evidence) -> Option<&'static str> {
        let (bottleneck, reason) = evidence.judge()?;
        Some(match (bottleneck, reason) {
            (_, BottleneckReason::DirtyLimit { .. }) => "dirty limit",
            (_, BottleneckReason::Processor { .. }) => "processor",
            (_, BottleneckReason::Pipeline) => "pipeline",
            (_, BottleneckReason::HardlyWaits { .. }) => "hardly waits",
            (Bottleneck::Source, _) => "source",
            (Bottleneck::Destination, _) => "destination",
            (Bottleneck::SameDisk, _) => "both",
            (Bottleneck::NotDiskBound, _) => "program",
        })
    }

    /// Evidence of devices with these utilizations, changed.
    fn with(busy: (f64, f64), change: impl Fn(&mut Evidence)) -> Option<&'static str> {
        let mut evidence = of(busy.0, busy.1);
        change(&mut evidence);
        judged(&evidence)
    }

    #[test]
    fn bottleneck_is_the_busy_device() {
        assert_eq!(judged(&of(0.97, 0.2)), Some("source"));
        assert_eq!(judged(&of(0.2, 0.97)), Some("destination"));
        // Both are busy, and memory absorbs the writes: reading is the bottleneck.
        let both = (0.97, 0.97);
        assert_eq!(with(both, |_| {}), Some("source"));
        assert_eq!(with(both, |it| it.dirty_waits = 0.5), Some("dirty limit"));
        assert_eq!(with(both, |it| it.is_same_device = true), Some("both"));
    }

    #[test]
    fn cached_source_is_never_the_bottleneck() {
        for (busy, waits, blocked) in [
            ((0.97, 0.97), 0.0, 0.0),
            ((0.97, 0.3), 0.5, 0.5),
            ((0.97, 0.3), 0.0, 0.6),
        ] {
            for is_same_device in [false, true] {
                let found = with(busy, |it| {
                    it.is_same_device = is_same_device;
                    it.device_rate = Some(0.0);
                    it.write_waits = waits;
                    it.blocked = blocked;
                });
                assert_eq!(found, Some("destination"), "{busy:?}");
            }
        }
    }

    #[test]
    fn bottleneck_of_cpu_bound_program_is_not_a_disk() {
        let idle = (0.1, 0.1);
        assert_eq!(with(idle, |_| {}), None, "unknown is no answer");
        assert_eq!(with(idle, |it| it.cpu = Some(0.97)), Some("processor"));
        assert_eq!(with(idle, |it| it.io_wait = Some(0.7)), Some("source"));
        assert_eq!(
            with(idle, |it| it.io_wait = Some(0.02)),
            Some("hardly waits")
        );
    }

    #[test]
    fn pipeline_that_waits_for_its_middle_is_not_limited_by_a_busy_disk() {
        for (reader, writer, expected) in [
            (1.0, 0.8, "pipeline"),
            (1.0, 0.0, "destination"),
            (0.0, 0.8, "source"),
        ] {
            let found = with((0.9, 0.97), |it| {
                it.reader_pipe_waits = reader;
                it.writer_pipe_waits = writer;
            });
            assert_eq!(found, Some(expected));
        }
    }

    #[test]
    fn synchronous_writer_waits_for_destination_although_often_seen_running() {
        let found = with((0.0, 0.5), |it| {
            it.source = None;
            it.rate = None;
            it.cpu = Some(0.3);
            it.write_waits = 0.33;
        });
        assert_eq!(found, Some("destination"));
    }

    #[test]
    fn nobody_waits_for_an_idle_destination() {
        for (read_waits, expected) in [(0.0, None), (0.5, Some("source"))] {
            let found = with((0.97, 0.0), |it| {
                // What is read comes from holes.
                it.device_rate = Some(5e4);
                it.io_wait = Some(0.9);
                it.blocked = 0.9;
                it.read_waits = read_waits;
            });
            assert_eq!(found, expected);
        }
    }
}
