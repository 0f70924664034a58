//! I/O by device, and of all processes together.

use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;

/// I/O on one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceShare {
    /// Kernel's name.
    pub name: SafeText,
    /// Bytes read per second; `None` where it is not known which of several devices they came from.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second; `None` as for reads.
    pub write_bytes_per_s: Option<f64>,
    /// Reads completed per second; `None` unless requests were traced.
    pub read_ios_per_s: Option<f64>,
    /// Writes completed per second; `None` unless requests were traced.
    pub write_ios_per_s: Option<f64>,
}

impl DeviceShare {
    /// A device of which only the name is known.
    #[must_use]
    pub fn named(name: SafeText) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Bytes per second in both directions; 0 where they are unknown.
    #[must_use]
    pub fn total_bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s.unwrap_or(0.0) + self.write_bytes_per_s.unwrap_or(0.0)
    }
}

/// What the requests of all devices showed, where they were traced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TracedInterval {
    /// I/O that no process is known for: of the kernel itself (journals, metadata, swap, the lower
    /// half of loop devices), and of files that were dirty before the trace began.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 10_000>")]
    pub unattributed: Vec<DeviceShare>,
    /// Trace events that the kernel lost since the trace began; if not 0, requests are missing.
    pub events_lost: u64,
}

/// All processes and all devices together: the two lines at the top of iotop(8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TotalRates {
    /// Bytes per second that processes read from devices; `None` where the counters of some cannot
    /// be read.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes per second that processes wrote, or have to be written for them, less cancelled ones.
    pub write_bytes_per_s: Option<f64>,
    /// Bytes per second that drives read. Devices on top of others are not counted again.
    pub actual_read_bytes_per_s: Option<f64>,
    /// Bytes per second that drives wrote.
    pub actual_write_bytes_per_s: Option<f64>,
}
