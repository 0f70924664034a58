//! Capabilities of the queue and the hardware of a drive.

use serde::Serialize;

use crate::drive::identity::link::{HostLink, find_host_link};
use crate::drive::identity::sysfs::{SysfsLocation, read_flag, read_line, read_number};

/// Details of a block device (kernel Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DeviceDetails {
    /// Available I/O schedulers.
    pub schedulers: Vec<String>,
    /// Size of the request queue (`nr_requests`).
    pub queue_requests: Option<u32>,
    /// Maximum discard size in bytes; 0: discard is not supported.
    pub discard_max_bytes: Option<u64>,
    /// `none`, `host-aware` or `host-managed`.
    pub zoned: Option<String>,
    /// Start of a partition on its drive, in bytes.
    pub start_bytes: Option<u64>,
    /// Link to the host.
    pub link: Option<HostLink>,
    /// Whether a loop device bypasses the page cache of its backing file.
    pub direct_io: Option<bool>,
}

impl DeviceDetails {
    pub(super) fn read(location: &SysfsLocation, transport: Option<&str>) -> Self {
        let schedulers = read_line(&location.queue_attribute("scheduler")).unwrap_or_default();
        Self {
            schedulers: schedulers
                .split_whitespace()
                .map(|name| name.trim_matches(['[', ']']).to_owned())
                .collect(),
            queue_requests: read_number(&location.queue_attribute("nr_requests")),
            discard_max_bytes: read_number(&location.queue_attribute("discard_max_bytes")),
            zoned: read_line(&location.queue_attribute("zoned")),
            start_bytes: location
                .parent
                .as_ref()
                .and_then(|_| read_number::<u64>(&location.device_directory.join("start")))
                .and_then(|sectors| sectors.checked_mul(512)),
            link: find_host_link(transport, &location.disk_directory),
            direct_io: read_flag(&location.device_directory.join("loop/dio")),
        }
    }
}
