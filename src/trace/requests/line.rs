//! A request as a line of JSON, as `trace --json` prints it and a recording stores it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::request::{
    RequestActor, RequestOperation, RequestTimestamps, StageTimes, TracedRequest,
};
use crate::files::safe_text::SafeText;
use crate::trace::events::event::{DeviceNumber, RwbsFlags, ThreadName};

/// A request as a line of `trace --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestLine<'r> {
    /// Time of its first event, since the start of the trace.
    time_ns: u64,
    /// Thread that it is attributed to.
    pid: Option<u32>,
    /// Its name.
    command: Option<SafeText>,
    /// Reason for the attribution.
    charged: ChargeReason,
    /// Thread that submitted it.
    submitter_pid: Option<u32>,
    /// Its name.
    submitter: Option<SafeText>,
    /// The drive.
    device: Cow<'r, str>,
    /// The operation.
    operation: RequestOperation,
    /// The kernel's RWBS flags.
    flags: String,
    /// First sector of 512 bytes.
    sector: u64,
    /// Length.
    bytes: u64,
    #[serde(flatten)]
    stages: StageTimes,
    /// Number of requests that were merged into it.
    #[serde(rename = "merged")]
    merged_count: u32,
    /// Whether it is part of a larger bio.
    #[serde(rename = "split")]
    is_split: bool,
    /// How often the driver requeued it.
    #[serde(rename = "requeued")]
    requeue_count: u32,
    /// `MAJOR:MINOR SECTOR` that it was remapped from.
    from: Option<String>,
    /// 0 or a negative error number.
    error: i32,
}

/// Why a request is attributed to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChargeReason {
    /// The thread submitted it.
    Submitter,
    /// The thread dirtied the pages.
    Dirtied,
}

impl<'r> RequestLine<'r> {
    /// The line of a request; `device` is the drive's name, `began` the start of the trace on its
    /// own clock.
    #[must_use]
    pub fn new(request: &TracedRequest, device: &'r str, began: u64) -> Self {
        let name = |actor: RequestActor| SafeText::from_bytes(actor.name.as_bytes());
        let actor = request.charged_actor();
        let flags = String::from_utf8_lossy(request.flags.as_bytes());
        let from = request.remapped_from;
        Self {
            time_ns: request.timestamps.first_timestamp().saturating_sub(began),
            pid: actor.map(|actor| actor.pid),
            command: actor.map(name),
            charged: match request.dirtied_by {
                Some(_) => ChargeReason::Dirtied,
                None => ChargeReason::Submitter,
            },
            submitter_pid: request.submitter.map(|actor| actor.pid),
            submitter: request.submitter.map(name),
            device: Cow::Borrowed(device),
            operation: request.operation,
            flags: flags.into_owned(),
            sector: request.sector,
            bytes: request.bytes,
            stages: request.timestamps.stages(),
            merged_count: request.merged_count,
            is_split: request.is_split,
            requeue_count: request.requeue_count,
            from: from.map(|((major, minor), sector)| format!("{major}:{minor} {sector}")),
            error: request.error,
        }
    }

    /// The drive's name.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The request, as far as its line describes it: its times count from the start of the trace,
    /// and the device number is unknown (0:0).
    #[must_use]
    pub fn request(&self) -> TracedRequest {
        TracedRequest {
            device: (0, 0),
            operation: self.operation,
            flags: RwbsFlags::from_field(self.flags.as_bytes()),
            sector: self.sector,
            bytes: self.bytes,
            submitter: actor_of(self.submitter_pid, self.submitter.as_ref()),
            dirtied_by: match self.charged {
                ChargeReason::Dirtied => actor_of(self.pid, self.command.as_ref()),
                ChargeReason::Submitter => None,
            },
            remapped_from: self.from.as_deref().and_then(parse_origin),
            timestamps: self.timestamps(),
            merged_count: self.merged_count,
            is_split: self.is_split,
            requeue_count: self.requeue_count,
            error: self.error,
        }
    }

    /// The timestamps that delimit the stages, from the first on.
    fn timestamps(&self) -> RequestTimestamps {
        let stages = self.stages;
        let begin = self.time_ns;
        let after = |point: Option<u64>, stage: Option<u64>| point?.checked_add(stage?);
        // Without Q it begins with the first stage that is known.
        let queued = stages.q2c.map(|_| begin);
        let allocated = match queued {
            Some(_) => after(queued, stages.q2g),
            None => stages.g2i.map(|_| begin),
        };
        let waited = stages
            .g2i
            .unwrap_or(0)
            .saturating_add(stages.i2d.unwrap_or(0));
        let issued = match queued {
            Some(_) => after(queued, stages.q2d),
            None => stages.d2c.and_then(|_| begin.checked_add(waited)),
        };
        let inserted = match issued.zip(stages.i2d) {
            Some((issued, stage)) => issued.checked_sub(stage),
            None => after(allocated, stages.g2i),
        };
        let completed = after(queued, stages.q2c).or(after(issued, stages.d2c));
        RequestTimestamps {
            queued,
            allocated,
            inserted,
            issued,
            completed: completed.unwrap_or(begin),
        }
    }
}

fn actor_of(pid: Option<u32>, name: Option<&SafeText>) -> Option<RequestActor> {
    let name = name.map_or(&[][..], |name| name.as_bytes());
    Some(RequestActor {
        pid: pid?,
        name: ThreadName::from_field(name),
    })
}

/// `MAJOR:MINOR SECTOR`.
fn parse_origin(text: &str) -> Option<(DeviceNumber, u64)> {
    let (number, sector) = text.split_once(' ')?;
    let (major, minor) = number.split_once(':')?;
    let number = (major.parse().ok()?, minor.parse().ok()?);
    Some((number, sector.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn request_line_has_every_documented_field() {
        let request = TracedRequest {
            dirtied_by: Some(RequestActor {
                pid: 4711,
                name: ThreadName::from_field(b"d\x1bd"),
            }),
            remapped_from: Some(((8, 1), 0)),
            timestamps: RequestTimestamps {
                queued: Some(1100),
                completed: 1500,
                ..RequestTimestamps::default()
            },
            ..TracedRequest::writeback_write()
        };
        let line = serde_json::to_value(RequestLine::new(&request, "sda", 1000)).unwrap();
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

    /// Any subset of timestamps, in order.
    fn times() -> impl Strategy<Value = RequestTimestamps> {
        let step = || proptest::option::of(0_u64..1 << 40);
        (step(), step(), step(), step(), 0_u64..1 << 40).prop_map(|(q, g, i, d, c)| {
            let mut at = 0;
            let mut pass = |stage: Option<u64>| {
                stage.map(|stage| {
                    at += stage;
                    at
                })
            };
            RequestTimestamps {
                queued: pass(q),
                allocated: pass(g),
                inserted: pass(i),
                issued: pass(d),
                completed: pass(Some(c)).unwrap_or(0),
            }
        })
    }

    proptest! {
        #[test]
        fn request_line_survives_serialization_round_trip(
            times in times(),
            dirtied in any::<bool>(),
            from in proptest::option::of((any::<(u32, u32)>(), any::<u64>())),
        ) {
            let plain = TracedRequest::writeback_write();
            let request = TracedRequest {
                dirtied_by: plain.dirtied_by.filter(|_| dirtied),
                remapped_from: from,
                timestamps: times,
                requeue_count: 2,
                error: -5,
                ..plain
            };
            let text = serde_json::to_string(&RequestLine::new(&request, "sda", 0)).unwrap();
            let line: RequestLine<'_> = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(line.device(), "sda");
            let again = serde_json::to_string(&RequestLine::new(&line.request(), "sda", 0)).unwrap();
            prop_assert_eq!(again, text);
        }
    }
}
