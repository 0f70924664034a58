//! What a transfer's processes and devices did in the last seconds: the evidence for its bottleneck.
//!
//! One sample says little: a wait channel is the kernel function at one moment, and a device that is
//! busy now may be idle in the next second.

use std::collections::VecDeque;
use std::time::Duration;

use crate::probe::interval::io_difference;
use crate::probe::sample::{ProcessIo, ProcessSample};

/// The bottleneck is derived from the observations of this time.
const WINDOW: Duration = Duration::from_secs(6);
/// Observations that are kept at most, with short intervals.
const MAX_OBSERVATIONS: usize = 32;

/// Where a process waits, according to the kernel function that it is blocked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPlace {
    /// For a page that is read.
    Read,
    /// For a write or a flush to complete.
    Write,
    /// For writeback, because of the limit of dirty memory.
    DirtyLimit,
    /// For the next process of a pipeline.
    Pipe,
    /// For something else.
    Other,
}

/// The place that a wait channel stands for (mm/filemap.c, mm/page-writeback.c, block/, fs/jbd2,
/// fs/xfs, fs/btrfs; names since kernel 4.15).
#[must_use]
pub fn wait_place(channel: &str) -> WaitPlace {
    const READS: &str = "folio_wait_bit_common wait_on_page_bit_common filemap_update_page \
        filemap_get_pages filemap_read generic_file_buffered_read";
    const WRITES: &str = "folio_wait_writeback wait_on_page_writeback submit_bio_wait \
        blkdev_issue_flush filemap_fdatawait __filemap_fdatawait file_write_and_wait jbd2_ \
        wait_transaction_locked xfs_log_ xlog_ btrfs_wait_ wait_current_trans wbt_wait";
    let begins = |names: &str| {
        let mut names = names.split_ascii_whitespace();
        names.any(|name| channel.starts_with(name))
    };
    // Without `_common` it is the wait for writeback; with it, for a page to be read.
    let writeback = matches!(channel, "folio_wait_bit" | "wait_on_page_bit");
    if channel.starts_with("balance_dirty") {
        WaitPlace::DirtyLimit
    } else if writeback || begins(WRITES) {
        WaitPlace::Write
    } else if begins(READS) {
        WaitPlace::Read
    } else if channel.contains("pipe_read") || channel.contains("pipe_write") {
        WaitPlace::Pipe
    } else {
        WaitPlace::Other
    }
}

/// Load of a device in an interval; `None` if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceLoad {
    /// Fraction of the time with a request in flight.
    pub busy: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// Reads per second.
    pub read_ios_per_s: Option<f64>,
    /// Writes per second.
    pub write_ios_per_s: Option<f64>,
    /// Mean response time of reads.
    pub read_await_ns: Option<f64>,
    /// Mean response time of writes.
    pub write_await_ns: Option<f64>,
}

/// What a process did in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessActivity {
    /// Bytes read from devices per second.
    pub read_bytes_per_s: f64,
    /// Bytes read from devices or by system calls per second, whichever is more.
    pub moved_bytes_per_s: f64,
    /// Processor time as a fraction of one processor; `None` if unknown.
    pub cpu: Option<f64>,
    /// Fraction of the time that it waited for block I/O; `None` without delay accounting.
    pub io_wait: Option<f64>,
}

/// A process as of the last sample.
#[derive(Debug, Clone, Copy)]
struct ProcessTotals {
    pid: u32,
    io: ProcessIo,
    cpu: Option<Duration>,
    io_delay: Option<Duration>,
}

impl ProcessTotals {
    fn of(process: &ProcessSample) -> Option<Self> {
        Some(Self {
            pid: process.identity.pid,
            io: process.io.value()?,
            cpu: process.cpu_time,
            io_delay: process.io_delay,
        })
    }

    fn activity_since(&self, before: &Self, seconds: f64) -> Option<ProcessActivity> {
        if before.pid != self.pid {
            return None;
        }
        let io = io_difference(&before.io, &self.io)?;
        let fraction = |before: Option<Duration>, now: Option<Duration>| {
            Some(now?.checked_sub(before?)?.as_secs_f64() / seconds)
        };
        let moved = [io.rchar, io.read_bytes, io.wchar, io.write_bytes];
        Some(ProcessActivity {
            read_bytes_per_s: io.read_bytes as f64 / seconds,
            moved_bytes_per_s: moved.into_iter().max().unwrap_or(0) as f64 / seconds,
            cpu: fraction(before.cpu, self.cpu),
            io_wait: fraction(before.io_delay, self.io_delay).map(|wait| wait.min(1.0)),
        })
    }
}

/// What was seen in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WaitObservation {
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// The reader; `None` if it was not seen twice.
    pub reader: Option<ProcessActivity>,
    /// The writer, where it is another process.
    pub writer: Option<ProcessActivity>,
    /// Where the reader was blocked at the end of the interval.
    pub reader_place: Option<WaitPlace>,
    /// Where the writer was blocked; equal to the reader's where it is the same process.
    pub writer_place: Option<WaitPlace>,
    /// Whether one of them was in uninterruptible sleep.
    pub is_blocked: bool,
    /// The device that is read.
    pub source: Option<DeviceLoad>,
    /// The device that is written.
    pub destination: Option<DeviceLoad>,
}

/// The observations of the last seconds.
#[derive(Debug, Clone, Default)]
pub struct WaitHistory {
    observations: VecDeque<WaitObservation>,
    last_at: Option<Duration>,
    /// The reader and the writer as of the last sample.
    last: [Option<ProcessTotals>; 2],
}

impl WaitHistory {
    /// Records a sample; `writer` is `None` where one process reads and writes. A sample that was
    /// recorded already is ignored.
    pub fn record(
        &mut self,
        at: Duration,
        processes: [Option<&ProcessSample>; 2],
        devices: [Option<DeviceLoad>; 2],
    ) {
        let before = self.last_at.replace(at);
        let now = processes.map(|process| process.and_then(ProcessTotals::of));
        let last = std::mem::replace(&mut self.last, now);
        let elapsed = before.and_then(|before| at.checked_sub(before));
        let Some(elapsed) = elapsed.filter(|elapsed| !elapsed.is_zero()) else {
            return;
        };
        let seconds = elapsed.as_secs_f64();
        let activity = |index: usize| now[index]?.activity_since(last[index].as_ref()?, seconds);
        let [reader, writer] = processes;
        let place = |process: Option<&ProcessSample>| {
            process.and_then(|process| Some(wait_place(process.wait_channel.as_deref()?)))
        };
        let is_blocked = |it: &&ProcessSample| it.state == Some('D');
        self.observations.push_back(WaitObservation {
            seconds,
            reader: activity(0),
            writer: activity(1),
            reader_place: place(reader),
            writer_place: place(writer.or(reader)),
            is_blocked: processes.iter().flatten().any(is_blocked),
            source: devices[0],
            destination: devices[1],
        });
        let mut total: f64 = self.observations.iter().map(|it| it.seconds).sum();
        while self.observations.len() > 1
            && (self.observations.len() > MAX_OBSERVATIONS || total > WINDOW.as_secs_f64())
            && let Some(oldest) = self.observations.pop_front()
        {
            total -= oldest.seconds;
        }
    }

    /// The observations, the oldest first.
    #[must_use]
    pub fn observations(&self) -> &VecDeque<WaitObservation> {
        &self.observations
    }

    /// Fraction of the samples for which something holds; 0 if for one only: seen once, it is a
    /// coincidence.
    #[must_use]
    pub fn fraction(&self, holds: impl Fn(&WaitObservation) -> bool) -> f64 {
        let times = self.observations.iter().filter(|it| holds(it)).count();
        if times < 2 {
            return 0.0;
        }
        times as f64 / self.observations.len() as f64
    }

    /// Mean of a value where it is known, weighted by time.
    #[must_use]
    pub fn mean(&self, value: impl Fn(&WaitObservation) -> Option<f64>) -> Option<f64> {
        let (mut sum, mut seconds) = (0.0, 0.0);
        for observation in &self.observations {
            if let Some(value) = value(observation) {
                sum += value * observation.seconds;
                seconds += observation.seconds;
            }
        }
        (seconds > 0.0).then(|| sum / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_channels_of_reads_and_writes_are_distinguished() {
        assert_eq!(wait_place("folio_wait_bit_common"), WaitPlace::Read);
        assert_eq!(wait_place("folio_wait_bit"), WaitPlace::Write);
        assert_eq!(wait_place("submit_bio_wait"), WaitPlace::Write);
        assert_eq!(wait_place("jbd2_log_wait_commit"), WaitPlace::Write);
        assert_eq!(
            wait_place("balance_dirty_pages_ratelimited_flags"),
            WaitPlace::DirtyLimit
        );
        assert_eq!(wait_place("anon_pipe_write"), WaitPlace::Pipe);
        assert_eq!(wait_place("do_select"), WaitPlace::Other);
    }

    #[test]
    fn history_keeps_the_last_seconds() {
        let mut history = WaitHistory::default();
        for second in 0..30 {
            history.record(Duration::from_secs(second), [None; 2], [None; 2]);
        }
        assert_eq!(history.observations().len(), 6);
        for tenth in 0..200 {
            let at = Duration::from_secs(100) + Duration::from_millis(tenth * 10);
            history.record(at, [None; 2], [None; 2]);
        }
        assert_eq!(history.observations().len(), MAX_OBSERVATIONS);
    }
}
