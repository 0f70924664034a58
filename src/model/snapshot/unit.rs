//! View of a control group.

use serde::{Deserialize, Serialize};

use crate::probe::sample::UnitKind;
use crate::safe_text::SafeText;

/// A service, container, session or other control group over the interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitView {
    /// Path of its group, beginning with `/`.
    pub path: SafeText,
    /// What `systemctl` or the container's runtime calls it.
    pub name: SafeText,
    /// What it is.
    pub kind: UnitKind,
    /// Bytes read from drives per second, like all rates with the groups inside of it. `None` for
    /// the first sample, and where the kernel does not count: the controller `io` is not enabled.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written to drives per second. With version 1 of control groups without buffered
    /// writes.
    pub write_bytes_per_s: Option<f64>,
    /// Reads per second.
    pub read_ios_per_s: Option<f64>,
    /// Writes per second.
    pub write_ios_per_s: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which at least one of its tasks waited for
    /// I/O; `None` without PSI.
    pub pressure_some: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which all of its tasks waited for I/O.
    pub pressure_full: Option<f64>,
    /// Its limits; empty without limits.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 10_000>")]
    pub limits: Vec<UnitLimit>,
}

impl UnitView {
    /// Whether `systemctl` of the system knows it by this name: a group inside another service or scope
    /// belongs to a user's manager, a container or whoever made it, and can have the name of a unit of
    /// the system.
    #[must_use]
    pub fn belongs_to_system_manager(&self) -> bool {
        let is_unit = |name: &str| name.ends_with(".service") || name.ends_with(".scope");
        let mut inner_first = self.path.rsplit('/');
        inner_first.next() == Some(self.name.as_str())
            && is_unit(&self.name)
            && !inner_first.any(is_unit)
    }

    /// The highest use of its limits: 1 at the limit. `None` without limits or rates.
    #[must_use]
    pub fn limit_usage(&self) -> Option<f64> {
        let usages = self.limits.iter().filter_map(|limit| limit.usage);
        usages.reduce(f64::max)
    }

    /// Bytes per second in both directions; 0 where they are not counted.
    #[must_use]
    pub fn total_bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s.unwrap_or(0.0) + self.write_bytes_per_s.unwrap_or(0.0)
    }
}

/// I/O limits of a unit on one device; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitLimit {
    /// Name of the device, or its number where it has none.
    pub device: SafeText,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads per second.
    pub read_ios_per_s: Option<u64>,
    /// Writes per second.
    pub write_ios_per_s: Option<u64>,
    /// Highest rate on the device as a fraction of its limit: 1 at the limit. `None` without rates.
    pub usage: Option<f64>,
}
