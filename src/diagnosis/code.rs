//! Codes of causes.

use serde::Serialize;

/// A cause, by the order in which one is named first when several are equally severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseCode {
    /// A request or a task has not made progress for many seconds.
    HungIo,
    /// The server of a FUSE or network file system does not answer.
    FuseOrNetworkStalled,
    /// The kernel reports failed requests.
    DriveErrors,
    /// A file system has no space left.
    FileSystemFull,
    /// A control group reaches its I/O limit.
    CgroupThrottled,
    /// A software RAID is rebuilt or checked.
    RaidResync,
    /// fsck, trim, scrub and the like.
    Maintenance,
    /// Pages are swapped out and needed again.
    SwapThrashing,
    /// Files are dropped from the page cache and needed again.
    CacheThrashing,
    /// Tasks wait for each other's flushes and journal commits.
    SyncStorm,
    /// Writers wait until dirty memory is written.
    DirtyThrottled,
    /// More requests than the device serves.
    DeviceSaturated,
    /// Few requests, each of them slow.
    DeviceSlow,
    /// The link to the drive is slower than the drive.
    LinkDegraded,
    /// A file that is read in order lies in many pieces on a rotational disk.
    Fragmented,
    /// One request at a time on a device that serves many.
    QueueStarved,
    /// A setting does not suit the device.
    SetupUnfit,
    /// The processors or the memory are the limit.
    NotIo,
}

impl CauseCode {
    /// All codes, in the order of the enumeration.
    pub const ALL: [Self; 18] = [
        Self::HungIo,
        Self::FuseOrNetworkStalled,
        Self::DriveErrors,
        Self::FileSystemFull,
        Self::CgroupThrottled,
        Self::RaidResync,
        Self::Maintenance,
        Self::SwapThrashing,
        Self::CacheThrashing,
        Self::SyncStorm,
        Self::DirtyThrottled,
        Self::DeviceSaturated,
        Self::DeviceSlow,
        Self::LinkDegraded,
        Self::Fragmented,
        Self::QueueStarved,
        Self::SetupUnfit,
        Self::NotIo,
    ];

    /// Stable identifier, such as `device-saturated`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::HungIo => "hung-io",
            Self::FuseOrNetworkStalled => "fuse-or-network-stalled",
            Self::DriveErrors => "drive-errors",
            Self::FileSystemFull => "file-system-full",
            Self::CgroupThrottled => "cgroup-throttled",
            Self::RaidResync => "raid-resync",
            Self::Maintenance => "maintenance",
            Self::SwapThrashing => "swap-thrashing",
            Self::CacheThrashing => "cache-thrashing",
            Self::SyncStorm => "sync-storm",
            Self::DirtyThrottled => "dirty-throttled",
            Self::DeviceSaturated => "device-saturated",
            Self::DeviceSlow => "device-slow",
            Self::LinkDegraded => "link-degraded",
            Self::Fragmented => "fragmented",
            Self::QueueStarved => "queue-starved",
            Self::SetupUnfit => "setup-unfit",
            Self::NotIo => "not-io",
        }
    }
}

/// How serious a cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Somebody waits longer than necessary.
    Warning,
    /// Somebody does not get any further, or data are at risk.
    Critical,
}

/// How a cause was established.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// From requests, limits or messages that belong to it.
    Confirmed,
    /// From what happened at the same time.
    Probable,
}
