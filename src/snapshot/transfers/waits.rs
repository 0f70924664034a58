//! What a transfer's processes and devices did in the last seconds: the evidence for its bottleneck.
//!
//! One sample says little: a wait channel is the kernel function at one moment, and a device that is
//! busy now may be idle in the next second.

use std::collections::VecDeque;
use std::time::Duration;

use crate::probe::sample::{ProcessIo, ProcessSample};
use crate::snapshot::interval::io_difference;
use crate::snapshot::view::DeviceView;

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
    const READS: [&str; 6] = [
        "folio_wait_bit_common",
        "wait_on_page_bit_common",
        "filemap_update_page",
        "filemap_get_pages",
        "filemap_read",
        "generic_file_buffered_read",
    ];
    const WRITES: [&str; 14] = [
        "folio_wait_writeback",
        "wait_on_page_writeback",
        "submit_bio_wait",
        "blkdev_issue_flush",
        "filemap_fdatawait",
        "__filemap_fdatawait",
        "file_write_and_wait",
        "jbd2_",
        "wait_transaction_locked",
        "xfs_log_",
        "xlog_",
        "btrfs_wait_",
        "wait_current_trans",
        "wbt_wait",
    ];
    let begins = |names: &[&str]| names.iter().any(|name| channel.starts_with(name));
    // Without `_common` it is the wait for writeback; with it, for a page to be read.
    let writeback = matches!(channel, "folio_wait_bit" | "wait_on_page_bit");
    if channel.starts_with("balance_dirty") {
        WaitPlace::DirtyLimit
    } else if writeback || begins(&WRITES) {
        WaitPlace::Write
    } else if begins(&READS) {
        WaitPlace::Read
    } else if channel.contains("pipe_read") || channel.contains("pipe_write") {
        WaitPlace::Pipe
    } else {
        WaitPlace::Other
    }
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

/// Counters of a process as of the last sample.
#[derive(Debug, Clone, Copy)]
struct ProcessTotals {
    pid: u32,
    at: Duration,
    io: ProcessIo,
    cpu: Option<Duration>,
    io_delay: Option<Duration>,
}

/// Turns the counters of one process into its activity.
#[derive(Debug, Clone, Default)]
struct ActivityMeter {
    last: Option<ProcessTotals>,
}

impl ActivityMeter {
    fn activity(&mut self, at: Duration, process: &ProcessSample) -> Option<ProcessActivity> {
        let now = ProcessTotals {
            pid: process.identity.pid,
            at,
            io: process.io.value()?,
            cpu: process.cpu_time,
            io_delay: process.io_delay,
        };
        let before = self.last.replace(now).filter(|last| last.pid == now.pid)?;
        let seconds = at.checked_sub(before.at)?.as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let io = io_difference(&before.io, &now.io)?;
        let fraction = |before: Option<Duration>, now: Option<Duration>| {
            Some(now?.checked_sub(before?)?.as_secs_f64() / seconds)
        };
        let moved = io
            .rchar
            .max(io.read_bytes)
            .max(io.wchar)
            .max(io.write_bytes);
        Some(ProcessActivity {
            read_bytes_per_s: io.read_bytes as f64 / seconds,
            moved_bytes_per_s: moved as f64 / seconds,
            cpu: fraction(before.cpu, now.cpu),
            io_wait: fraction(before.io_delay, now.io_delay).map(|wait| wait.min(1.0)),
        })
    }
}

/// Load of a device in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceLoad {
    /// Fraction of the time with a request in flight.
    pub busy: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// Mean response time of reads.
    pub read_await_ns: Option<f64>,
    /// Mean response time of writes.
    pub write_await_ns: Option<f64>,
}

impl DeviceLoad {
    /// The load of a device.
    #[must_use]
    pub fn of_device(device: &DeviceView) -> Self {
        Self {
            busy: device.busy,
            read_bytes_per_s: device.read_bytes_per_s,
            write_bytes_per_s: device.write_bytes_per_s,
            read_await_ns: device.read_await_ns,
            write_await_ns: device.write_await_ns,
        }
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
    reader: ActivityMeter,
    writer: ActivityMeter,
}

impl WaitHistory {
    /// Records a sample; `writer` is `None` where one process reads and writes. A sample that was
    /// recorded already is ignored.
    pub fn record(
        &mut self,
        at: Duration,
        reader: Option<&ProcessSample>,
        writer: Option<&ProcessSample>,
        (source, destination): (Option<DeviceLoad>, Option<DeviceLoad>),
    ) {
        let before = self.last_at.replace(at);
        let reading = reader.and_then(|process| self.reader.activity(at, process));
        let writing = writer.and_then(|process| self.writer.activity(at, process));
        let Some(elapsed) = before.and_then(|before| at.checked_sub(before)) else {
            return;
        };
        if elapsed.is_zero() {
            return;
        }
        let place = |process: Option<&ProcessSample>| {
            process.and_then(|process| Some(wait_place(process.wait_channel.as_deref()?)))
        };
        let blocked =
            |process: Option<&ProcessSample>| process.is_some_and(|it| it.state == Some('D'));
        self.observations.push_back(WaitObservation {
            seconds: elapsed.as_secs_f64(),
            reader: reading,
            writer: writing,
            reader_place: place(reader),
            writer_place: place(writer.or(reader)),
            is_blocked: blocked(reader) || blocked(writer),
            source,
            destination,
        });
        self.drop_old();
    }

    fn drop_old(&mut self) {
        let mut total: f64 = self.observations.iter().map(|it| it.seconds).sum();
        while self.observations.len() > 1
            && (self.observations.len() > MAX_OBSERVATIONS || total > WINDOW.as_secs_f64())
        {
            if let Some(oldest) = self.observations.pop_front() {
                total -= oldest.seconds;
            }
        }
    }

    /// The observations, the oldest first.
    #[must_use]
    pub fn observations(&self) -> &VecDeque<WaitObservation> {
        &self.observations
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
            history.record(Duration::from_secs(second), None, None, (None, None));
        }
        assert_eq!(history.observations().len(), 6);
        for tenth in 0..200 {
            let at = Duration::from_secs(100) + Duration::from_millis(tenth * 10);
            history.record(at, None, None, (None, None));
        }
        assert_eq!(history.observations().len(), MAX_OBSERVATIONS);
    }
}
