//! One request that is complete.

use serde::{Serialize, Serializer};

use super::operation::{Operation, letters};
use crate::printable::printable;
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
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
    /// Whom it is charged to: who made the pages dirty, else who handed it over.
    #[must_use]
    pub fn charged(&self) -> Option<Actor> {
        self.dirtied_by.or(self.submitter)
    }
}

/// A request as a line of `trace --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line<'r> {
    /// When it was first seen, since the trace began.
    time_ns: u64,
    /// Thread that it is charged to.
    pid: Option<u32>,
    /// Its name.
    command: Option<String>,
    /// `submitter`, or `dirtied` where it is charged to who made the pages dirty.
    charged: &'static str,
    /// Thread that handed it over.
    submitter_pid: Option<u32>,
    /// Its name.
    submitter: Option<String>,
    /// The drive.
    device: &'r str,
    /// What it did.
    operation: Operation,
    /// In the kernel's letters.
    #[serde(serialize_with = "letters")]
    flags: Flags,
    /// First sector of 512 bytes.
    sector: u64,
    /// Length.
    bytes: u64,
    #[serde(flatten)]
    stages: Stages,
    /// How many others joined it.
    merged: u32,
    /// Whether it is a part of something larger.
    split: bool,
    /// How often the driver gave it back.
    requeued: u32,
    /// `MAJOR:MINOR` and sector that it was sent on from.
    #[serde(serialize_with = "origin")]
    from: Option<(Number, u64)>,
    /// 0 or a negative error number.
    error: i32,
}

impl<'r> Line<'r> {
    /// The line of a request; `device` is the drive's name, `began` the time at which the trace
    /// began on its own clock.
    #[must_use]
    pub fn new(request: &Request, device: &'r str, began: u64) -> Self {
        let name = |actor: Actor| printable(actor.name.bytes());
        let charged = request.charged();
        Self {
            time_ns: request.times.first().saturating_sub(began),
            pid: charged.map(|actor| actor.pid),
            command: charged.map(name),
            charged: if request.dirtied_by.is_some() {
                "dirtied"
            } else {
                "submitter"
            },
            submitter_pid: request.submitter.map(|actor| actor.pid),
            submitter: request.submitter.map(name),
            device,
            operation: request.operation,
            flags: request.flags,
            sector: request.sector,
            bytes: request.bytes,
            stages: request.times.stages(),
            merged: request.merged,
            split: request.split,
            requeued: request.requeued,
            from: request.from,
            error: request.error,
        }
    }
}

fn origin<S: Serializer>(from: &Option<(Number, u64)>, serializer: S) -> Result<S::Ok, S::Error> {
    match from {
        Some(((major, minor), sector)) => {
            serializer.collect_str(&format_args!("{major}:{minor} {sector}"))
        }
        None => serializer.serialize_none(),
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

    #[test]
    fn a_line_has_every_field_that_scripts_rely_on() {
        let request = Request {
            device: (8, 0),
            operation: Operation::Write,
            flags: Flags::of(b"WS"),
            sector: 2048,
            bytes: 4096,
            submitter: Some(Actor {
                pid: 9,
                name: Name::of(b"kworker/u8:1"),
            }),
            dirtied_by: Some(Actor {
                pid: 4711,
                name: Name::of(b"d\x1bd"),
            }),
            from: Some(((8, 1), 0)),
            times: Times {
                queued: Some(1100),
                completed: 1500,
                ..Times::default()
            },
            merged: 1,
            split: false,
            requeued: 0,
            error: 0,
        };
        let line = serde_json::to_value(Line::new(&request, "sda", 1000)).unwrap();
        let expected = serde_json::json!({
            "time_ns": 100, "pid": 4711, "command": "d\\x1bd", "charged": "dirtied",
            "submitter_pid": 9, "submitter": "kworker/u8:1", "device": "sda",
            "operation": "write", "flags": "WS", "sector": 2048, "bytes": 4096,
            "q2g_ns": null, "g2i_ns": null, "i2d_ns": null, "d2c_ns": null, "q2c_ns": 400,
            "q2d_ns": null, "merged": 1, "split": false, "requeued": 0, "from": "8:1 0",
            "error": 0
        });
        assert_eq!(line, expected);
    }
}
