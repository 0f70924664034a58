//! What a ring keeps of the time around a trigger.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::safe_text::SafeText;

/// Requests are kept from this long before a trigger.
pub const BEFORE_TRIGGER: Duration = Duration::from_secs(20);
/// Requests are kept until this long after a trigger.
pub const AFTER_TRIGGER: Duration = Duration::from_secs(10);

/// What was observed when a condition triggered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// When the condition became true, RFC 3339.
    pub time: SafeText,
    /// The condition, as it was given.
    pub condition: SafeText,
    /// The device, process or unit that met it; empty for the machine.
    pub subject: SafeText,
    /// The value that met it.
    pub value: f64,
    /// The value with its unit, as it is shown.
    pub value_text: SafeText,
}

impl Observation {
    /// The condition, what it holds for, and the value.
    #[must_use]
    pub fn text(&self) -> SafeText {
        let met_by = format!("{} {}", self.subject, self.value_text);
        format!("{}: {}", self.condition, met_by.trim_start()).into()
    }
}

/// A trigger: what was observed, and what was kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TriggerRecord {
    /// What was observed first.
    #[serde(flatten)]
    pub first: Observation,
    /// Conditions that triggered in the time after it.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    pub further: Vec<Observation>,
    /// What is known of single requests.
    pub requests: KeptRequests,
    /// The threads that were in uninterruptible sleep.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    pub blocked: Vec<BlockedThread>,
    /// What was found in the time around it.
    pub diagnosis: Option<RecordedDiagnosis>,
}

impl TriggerRecord {
    /// What was observed first, and how many conditions triggered after it.
    #[must_use]
    pub fn summary(&self) -> SafeText {
        match self.further.len() {
            0 => self.first.text(),
            more => format!("{} and {more} more", self.first.text()).into(),
        }
    }
}

/// Single requests around a trigger. Their lines follow that of the trigger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptRequests {
    /// Number of requests that follow.
    pub kept: u64,
    /// Number of requests that were traced and left out, those farthest from the trigger.
    pub left_out: u64,
    /// How long before the trigger the requests are complete; `None` without requests.
    pub reach_ns: Option<u64>,
    /// Requests that had not completed at the end.
    pub in_flight: u64,
    /// Events that the kernel lost in that time.
    pub lost_events: u64,
    /// Why there are no requests.
    pub unavailable: Option<SafeText>,
}

/// A thread in uninterruptible sleep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockedThread {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Name of the thread.
    pub name: SafeText,
    /// Kernel function that it waits in; `None` where it cannot be read.
    pub wait_channel: Option<SafeText>,
    /// Its kernel stack, innermost function first; `None` without root.
    #[serde(deserialize_with = "crate::files::bounded::optional_bounded_list::<_, _, 256>")]
    pub stack: Option<Vec<SafeText>>,
}

/// A diagnosis as it was printed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedDiagnosis {
    /// The conclusion.
    pub sentence: SafeText,
    /// The whole text, line by line.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    pub text: Vec<SafeText>,
    /// The document of `why --json`.
    pub document: Value,
}

/// Where a trigger is in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerMark {
    /// The last snapshot that is not later than the trigger, or the first one.
    pub view: usize,
    /// Time of the trigger in milliseconds since 1970.
    pub time_ms: u64,
}
