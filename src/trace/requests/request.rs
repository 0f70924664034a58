//! A completed request, its operation and its stages.

use serde::{Deserialize, Serialize};

use crate::trace::events::event::{DeviceNumber, Event, RwbsFlags, ThreadName};

/// The operation of a request (kernel `blk_fill_rwbs`, kernel/trace/blktrace.c).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RequestOperation {
    /// Reads.
    Read,
    /// Writes, also zeroes.
    Write,
    /// Discards or erases.
    Discard,
    /// Flushes the drive's cache.
    Flush,
    /// Manages zones.
    Zone,
    /// Anything else, such as a command to a SCSI device.
    #[default]
    Other,
}

impl RequestOperation {
    /// Name of the operation.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["read", "write", "discard", "flush", "zone", "other"][self as usize]
    }
}

/// Kinds of events that can match, in addition to device and sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum MatchKind {
    /// An operation on sectors.
    DataOperation(RequestOperation),
    /// A requested flush. It is FWS when queued and WS when complete, and is never issued itself.
    FlushRequest,
    /// The command that flushes the cache, for any number of requested flushes.
    FlushCommand,
}

impl MatchKind {
    /// Classifies an event by its flags and length.
    pub(super) fn from_flags(flags: RwbsFlags, sectors: u32) -> Self {
        let letters = flags.as_bytes();
        // A leading F requests a flush before the operation.
        let operation = match letters {
            [b'F', b'F', ..] => return Self::FlushCommand,
            [b'F', second @ (b'R' | b'W' | b'D' | b'N' | b'Z'), ..] => *second,
            [first, ..] => *first,
            [] => b'N',
        };
        match operation {
            b'W' if sectors == 0 => Self::FlushRequest,
            b'W' => Self::DataOperation(RequestOperation::Write),
            b'R' => Self::DataOperation(RequestOperation::Read),
            b'D' => Self::DataOperation(RequestOperation::Discard),
            b'Z' => Self::DataOperation(RequestOperation::Zone),
            b'F' => Self::FlushCommand,
            _ => Self::DataOperation(RequestOperation::Other),
        }
    }

    pub(crate) fn operation(self) -> RequestOperation {
        match self {
            Self::DataOperation(operation) => operation,
            Self::FlushRequest | Self::FlushCommand => RequestOperation::Flush,
        }
    }
}

/// A thread that submits requests or dirties pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestActor {
    /// Thread id.
    pub pid: u32,
    /// The thread's name; empty where unknown.
    pub name: ThreadName,
}

impl RequestActor {
    /// The running thread of an event.
    pub(crate) fn of_event(event: &Event) -> Self {
        Self {
            pid: event.pid,
            name: event.thread_name,
        }
    }
}

/// Lengths of the stages in nanoseconds, as blktrace's btt defines them (btt(1)). `None`: the
/// request did not reach that step, or did so before the trace began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTimes {
    /// From queueing until a request was allocated: splitting, merging, and waiting for a free
    /// request.
    #[serde(rename = "q2g_ns")]
    pub q2g: Option<u64>,
    /// From allocation to insertion into the scheduler's queue: plugging.
    #[serde(rename = "g2i_ns")]
    pub g2i: Option<u64>,
    /// Time in the scheduler's queue.
    #[serde(rename = "i2d_ns")]
    pub i2d: Option<u64>,
    /// Time in driver and drive.
    #[serde(rename = "d2c_ns")]
    pub d2c: Option<u64>,
    /// Total time.
    #[serde(rename = "q2c_ns")]
    pub q2c: Option<u64>,
    /// Time before dispatch to the driver; also known for requests that bypass the scheduler.
    #[serde(rename = "q2d_ns")]
    pub q2d: Option<u64>,
}

/// Times of the steps of a request, in nanoseconds on the trace's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimestamps {
    /// Q.
    pub queued: Option<u64>,
    /// G.
    pub allocated: Option<u64>,
    /// I.
    pub inserted: Option<u64>,
    /// D; the last one of a requeued request.
    pub issued: Option<u64>,
    /// C.
    pub completed: u64,
}

impl RequestTimestamps {
    /// The stages between the steps.
    #[must_use]
    pub fn stages(&self) -> StageTimes {
        let between = |from: Option<u64>, to: Option<u64>| to?.checked_sub(from?);
        let completed = Some(self.completed);
        StageTimes {
            q2g: between(self.queued, self.allocated),
            g2i: between(self.allocated, self.inserted),
            i2d: between(self.inserted, self.issued),
            d2c: between(self.issued, completed),
            q2c: between(self.queued, completed),
            q2d: between(self.queued, self.issued),
        }
    }

    /// The first known time.
    #[must_use]
    pub fn first_timestamp(&self) -> u64 {
        let steps = [self.queued, self.allocated, self.inserted, self.issued];
        let known = steps.into_iter().flatten().next();
        known.unwrap_or(self.completed)
    }
}

/// A completed request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedRequest {
    /// The drive; never a partition.
    pub device: DeviceNumber,
    /// The operation.
    pub operation: RequestOperation,
    /// The kernel's RWBS flags, as issued or queued.
    pub flags: RwbsFlags,
    /// First sector of 512 bytes, on the drive.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Thread that submitted it to the block layer; `None` if that was before the trace began.
    pub submitter: Option<RequestActor>,
    /// Thread that dirtied the written pages, where a kernel thread wrote them back and the
    /// dirtying was traced.
    pub dirtied_by: Option<RequestActor>,
    /// The device and sector that it was remapped from: a partition or a volume.
    pub remapped_from: Option<(DeviceNumber, u64)>,
    /// Times of its steps.
    pub timestamps: RequestTimestamps,
    /// Number of requests that were merged into it.
    pub merged_count: u32,
    /// Whether it is part of a larger bio.
    pub is_split: bool,
    /// How often the driver requeued it.
    pub requeue_count: u32,
    /// 0 or a negative error number.
    pub error: i32,
}

impl TracedRequest {
    /// The thread that it is attributed to: the one that dirtied the pages, else the submitter.
    #[must_use]
    pub fn charged_actor(&self) -> Option<RequestActor> {
        self.dirtied_by.or(self.submitter)
    }
}

/// Fixtures for tests.
#[cfg(test)]
impl TracedRequest {
    /// A block read at the start of a drive, without submitter and timestamps.
    pub(crate) fn block_read() -> Self {
        Self {
            device: (8, 0),
            operation: RequestOperation::Read,
            bytes: 4096,
            ..Self::default()
        }
    }

    /// A block that a kernel thread wrote back for a process.
    pub(crate) fn writeback_write() -> Self {
        let actor = |pid, name| {
            Some(RequestActor {
                pid,
                name: ThreadName::from_field(name),
            })
        };
        Self {
            operation: RequestOperation::Write,
            flags: RwbsFlags::from_field(b"WS"),
            sector: 2048,
            submitter: actor(9, b"kworker/u8:1"),
            dirtied_by: actor(4711, b"dd"),
            merged_count: 1,
            ..Self::block_read()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rwbs_flags_map_to_match_kinds() {
        let data = MatchKind::DataOperation;
        for (letters, sectors, kind) in [
            ("RA", 8, data(RequestOperation::Read)),
            ("WSM", 8, data(RequestOperation::Write)),
            // Flush before, and force unit access after.
            ("FWFSM", 8, data(RequestOperation::Write)),
            ("DS", 8, data(RequestOperation::Discard)),
            ("DE", 8, data(RequestOperation::Discard)),
            ("ZR", 8, data(RequestOperation::Zone)),
            ("N", 0, data(RequestOperation::Other)),
            ("", 0, data(RequestOperation::Other)),
            ("FF", 0, MatchKind::FlushCommand),
            ("FWS", 0, MatchKind::FlushRequest),
            ("WS", 0, MatchKind::FlushRequest),
        ] {
            let flags = RwbsFlags::from_field(letters.as_bytes());
            assert_eq!(MatchKind::from_flags(flags, sectors), kind, "{letters}");
        }
        assert_eq!(MatchKind::FlushRequest.operation(), RequestOperation::Flush);
    }
}
