//! One request that is complete.

use serde::{Deserialize, Serialize};

use super::operation::Operation;
use crate::probe::trace::event::{Flags, Name, Number};

/// Who.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Actor {
    /// Thread id.
    pub pid: u32,
    /// The thread's name; empty where it was not to be found out.
    pub name: Name,
}

/// Lengths of the stages in nanoseconds, as blktrace's btt defines them (btt(1)). `None`: the
/// request did not pass that point, or did before the trace began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages {
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
pub struct Times {
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

impl Times {
    /// The stages between them.
    #[must_use]
    pub fn stages(&self) -> Stages {
        let between = |from: Option<u64>, to: Option<u64>| to?.checked_sub(from?);
        let completed = Some(self.completed);
        Stages {
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
    pub fn first(&self) -> u64 {
        self.queued
            .or(self.allocated)
            .or(self.inserted)
            .or(self.issued)
            .unwrap_or(self.completed)
    }
}

/// A request that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The drive; never a partition.
    pub device: Number,
    /// What it did.
    pub operation: Operation,
    /// The same in the kernel's letters, as it was issued or queued.
    pub flags: Flags,
    /// First sector of 512 bytes, on the drive.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Who handed it to the block layer; `None` when that was before the trace began.
    pub submitter: Option<Actor>,
    /// Who made the pages dirty that are written, where a thread of the kernel wrote them back
    /// and that was seen.
    pub dirtied_by: Option<Actor>,
    /// The device and sector that it was sent on from: a partition, a volume.
    pub from: Option<(Number, u64)>,
    /// When.
    pub times: Times,
    /// How many others joined it.
    pub merged: u32,
    /// Whether it is a part of something larger.
    pub split: bool,
    /// How often the driver gave it back.
    pub requeued: u32,
    /// 0 or a negative error number.
    pub error: i32,
}

impl Request {
    /// A request of which no more is known yet than what it is for.
    pub(super) fn new(
        device: Number,
        operation: Operation,
        flags: Flags,
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
            from: None,
            times: Times::default(),
            merged: 0,
            split: false,
            requeued: 0,
            error: 0,
        }
    }

    /// Whom it is charged to: who made the pages dirty, else who handed it over.
    #[must_use]
    pub fn charged(&self) -> Option<Actor> {
        self.dirtied_by.or(self.submitter)
    }
}

/// Requests that tests begin with.
#[cfg(test)]
impl Request {
    /// A block read at the beginning of a drive, by nobody known, at no time.
    pub(crate) fn plain() -> Self {
        Self::new((8, 0), Operation::Read, Flags::default(), 0, 4096)
    }

    /// A block that a thread of the kernel wrote back for a process.
    pub(crate) fn written_back() -> Self {
        let actor = |pid, name| {
            Some(Actor {
                pid,
                name: Name::of(name),
            })
        };
        Self {
            operation: Operation::Write,
            flags: Flags::of(b"WS"),
            sector: 2048,
            submitter: actor(9, b"kworker/u8:1"),
            dirtied_by: actor(4711, b"dd"),
            merged: 1,
            ..Self::plain()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_known_where_both_ends_are() {
        let times = Times {
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
        let backwards = Times {
            queued: Some(2000),
            ..times
        };
        assert_eq!(backwards.stages().q2c, None);
    }
}
