//! One file for each cause: its rule with its thresholds, evidence, sentences and remedies.

mod at_limit;
mod awaited_server;
mod cache_thrashing;
mod cgroup_throttled;
mod device_saturated;
mod device_slow;
mod dirty_throttled;
mod drive_errors;
mod file_system_full;
mod fuse_or_network_stalled;
mod group_limits;
mod hung_io;
mod link_degraded;
mod maintenance;
mod not_io;
mod prelude;
mod queue_starved;
mod raid_resync;
mod setup_unfit;
mod swap_thrashing;
mod sync_storm;

use super::rule::Rule;

pub use self::awaited_server::unmount_command;
#[cfg(test)]
pub(super) use self::{
    file_system_full::usage_command, not_io::processor_users_command, raid_resync::slow_resync,
};

/// The rules, by the order in which a cause is named first when several are equally severe: code of their
/// causes, what examines a window for one, and the codes of the causes that it explains.
pub(super) const RULES: [Rule; 18] = [
    Rule::new(
        "hung-io",
        hung_io::examine,
        "device-slow dirty-throttled sync-storm",
    ),
    Rule::new(
        "fuse-or-network-stalled",
        fuse_or_network_stalled::examine,
        "",
    ),
    Rule::new(
        "drive-errors",
        drive_errors::examine,
        "hung-io device-slow device-saturated dirty-throttled",
    ),
    Rule::new("file-system-full", file_system_full::examine, ""),
    Rule::new(
        "cgroup-throttled",
        cgroup_throttled::examine,
        "dirty-throttled sync-storm device-slow device-saturated queue-starved hung-io",
    ),
    Rule::new(
        "raid-resync",
        raid_resync::examine,
        "device-saturated device-slow sync-storm dirty-throttled",
    ),
    Rule::new(
        "maintenance",
        maintenance::examine,
        "device-saturated dirty-throttled sync-storm",
    ),
    Rule::new(
        "swap-thrashing",
        swap_thrashing::examine,
        "cache-thrashing device-saturated not-io",
    ),
    Rule::new(
        "cache-thrashing",
        cache_thrashing::examine,
        "device-saturated not-io",
    ),
    Rule::new(
        "sync-storm",
        sync_storm::examine,
        "device-saturated device-slow queue-starved",
    ),
    Rule::new("dirty-throttled", dirty_throttled::examine, ""),
    Rule::new(
        "device-saturated",
        device_saturated::examine,
        "dirty-throttled",
    ),
    Rule::new(
        "device-slow",
        device_slow::examine,
        "dirty-throttled device-saturated queue-starved",
    ),
    Rule::new("link-degraded", link_degraded::examine, ""),
    Rule::new("queue-starved", queue_starved::examine, ""),
    Rule::new("at-limit", at_limit::examine, ""),
    Rule::new("setup-unfit", setup_unfit::examine, ""),
    Rule::new("not-io", not_io::examine, ""),
];
