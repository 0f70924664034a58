//! One request that is complete.

use serde::{Deserialize, Serialize};

use super::operation::RequestOperation;
use crate::probe::trace::event::{DeviceNumber, RwbsFlags, ThreadName};

/// Who.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestActor {
    /// Thread id.
    pub pid: u32,
    /// The thread's name; empty where it was not to be found out.
    pub name: ThreadName,
}

/// Lengths of the stages in nanoseconds, as blktrace's btt defines them (btt(1)). `None`: the
/// request did not pass that point, or did before the trace began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTimes {
    /// From the block layer's entrance until a request was allocated: splitting, merging, and
    /// waiting for a free request.
    #[serde(rename = "q2g_ns")]
    pub q2g: Option<u64>,
    /// From there into the scheduler's queue: being plugged.
    #[serde(rename = "g2i_ns")]
    pub g2i: Option<u64>,
    /// In the scheduler's queue.
    #[serde(rename = "i2d_ns")]
    pub i2d: Option<u64>,
    /// In the driver and the drive.
    #[serde(rename = "d2c_ns")]
    pub d2c: Option<u64>,
    /// All of it.
    #[serde(rename = "q2c_ns")]
    pub q2c: Option<u64>,
    /// All that comes before the driver: also known of requests that went there directly.
    #[serde(rename = "q2d_ns")]
    pub q2d: Option<u64>,
}

/// When a request passed which point, in nanoseconds on the trace's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimestamps {
    /// Q.
    pub queued: Option<u64>,
    /// G.
    pub allocated: Option<u64>,
    /// I.
    pub inserted: Option<u64>,
    /// D; of a request that was given back, the last one.
    pub issued: Option<u64>,
    /// C.
    pub completed: u64,
}

impl RequestTimestamps {
    /// The stages between them.
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

    /// The first point that is known.
    #[must_use]
    pub fn first_timestamp(&self) -> u64 {
        self.queued
            .or(self.allocated)
            .or(self.inserted)
            .or(self.issued)
            .unwrap_or(self.completed)
    }
}

/// A request that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedRequest {
    /// The drive; never a partition.
    pub device: DeviceNumber,
    /// What it did.
    pub operation: RequestOperation,
    /// The same in the kernel's letters, as it was issued or queued.
    pub flags: RwbsFlags,
    /// First sector of 512 bytes, on the drive.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Who handed it to the block layer; `None` when that was before the trace began.
    pub submitter: Option<RequestActor>,
    /// Who made the pages dirty that are written, where a thread of the kernel wrote them back
    /// and that was seen.
    pub dirtied_by: Option<RequestActor>,
    /// The device and sector that it was sent on from: a partition, a volume.
    pub remapped_from: Option<(DeviceNumber, u64)>,
    /// When.
    pub timestamps: RequestTimestamps,
    /// How many others joined it.
    pub merged_count: u32,
    /// Whether it is a part of something larger.
    pub is_split: bool,
    /// How often the driver gave it back.
    pub requeue_count: u32,
    /// 0 or a negative error number.
    pub error: i32,
}

impl TracedRequest {
    /// A request of which no more is known yet than what it is for.
    pub(super) fn new(
        device: DeviceNumber,
        operation: RequestOperation,
        flags: RwbsFlags,
        sector: u64,
        bytes: u64,
    ) -> Self {
        Self {
            device,
            operation,
            flags,
            sector,
            bytes,
            submitter: None,
            dirtied_by: None,
            remapped_from: None,
            timestamps: RequestTimestamps::default(),
            merged_count: 0,
            is_split: false,
            requeue_count: 0,
            error: 0,
        }
    }

    /// Whom it is charged to: who made the pages dirty, else who handed it over.
    #[must_use]
    pub fn charged_actor(&self) -> Option<RequestActor> {
        self.dirtied_by.or(self.submitter)
    }
}

/// Requests that tests begin with.
#[cfg(test)]
impl TracedRequest {
    /// A block read at the beginning of a drive, by nobody known, at no time.
    pub(crate) fn block_read() -> Self {
        Self::new(
            (8, 0),
            RequestOperation::Read,
            RwbsFlags::default(),
            0,
            4096,
        )
    }

    /// A block that a thread of the kernel wrote back for a process.
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
    fn stage_time_is_known_when_both_timestamps_are() {
        let times = RequestTimestamps {
            queued: Some(100),
            allocated: Some(130),
            inserted: None,
            issued: Some(200),
            completed: 1000,
        };
        let stages = times.stages();
        assert_eq!((stages.q2g, stages.g2i, stages.i2d), (Some(30), None, None));
        assert_eq!(
            (stages.q2d, stages.d2c, stages.q2c),
            (Some(100), Some(800), Some(900))
        );
        // A clock that went backwards yields nothing rather than something huge.
        let backwards = RequestTimestamps {
            queued: Some(2000),
            ..times
        };
        assert_eq!(backwards.stages().q2c, None);
    }
}
