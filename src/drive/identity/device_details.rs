//! Details of a block device beyond its identity.

use serde::Serialize;

use crate::drive::identity::link::HostLink;

/// Details of a block device (kernel Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DeviceDetails {
    /// Available I/O schedulers.
    pub schedulers: Vec<String>,
    /// Size of the request queue (`nr_requests`).
    pub queue_requests: Option<u32>,
    /// Maximum request size of the hardware, in KiB.
    pub max_hardware_request_kib: Option<u32>,
    /// Preferred minimum request size in bytes; the chunk size of a RAID.
    pub minimum_io_bytes: Option<u64>,
    /// Optimal request size in bytes, such as the stripe size of a RAID; `None` if it has none.
    pub optimal_io_bytes: Option<u64>,
    /// Maximum discard size in bytes; 0: discard is not supported.
    pub discard_max_bytes: Option<u64>,
    /// `none`, `host-aware` or `host-managed`.
    pub zoned: Option<String>,
    /// Whether it supports forced unit access.
    pub fua: Option<bool>,
    /// Start of a partition on its drive, in bytes.
    pub start_bytes: Option<u64>,
    /// Link to the host.
    pub link: Option<HostLink>,
    /// Degrees Celsius (kernel Documentation/hwmon/drivetemp.rst; the composite temperature of
    /// NVMe).
    pub temperature_celsius: Option<f64>,
    /// Whether a loop device bypasses the page cache of its backing file.
    pub direct_io: Option<bool>,
}
