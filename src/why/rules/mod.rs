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
mod fragmented;
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

/// The rules, by the order in which a cause is named first when several are equally severe.
pub(super) const RULES: [Rule; 19] = [
    hung_io::RULE,
    fuse_or_network_stalled::RULE,
    drive_errors::RULE,
    file_system_full::RULE,
    cgroup_throttled::RULE,
    raid_resync::RULE,
    maintenance::RULE,
    swap_thrashing::RULE,
    cache_thrashing::RULE,
    sync_storm::RULE,
    dirty_throttled::RULE,
    device_saturated::RULE,
    device_slow::RULE,
    link_degraded::RULE,
    fragmented::RULE,
    queue_starved::RULE,
    at_limit::RULE,
    setup_unfit::RULE,
    not_io::RULE,
];
