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

use super::analysis::Analysis;
use super::cause::{Cause, NotExamined};
use super::evidence::Evidence;

#[cfg(test)]
pub(super) use self::{
    file_system_full::usage_command, not_io::processor_users_command, raid_resync::slow_resync,
};

/// Examines a window for one cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Code of its causes.
    pub code: &'static str,
    /// The causes, several where it is there on several devices or in several groups; they get the code.
    pub examine: fn(&Analysis<'_>) -> Result<Vec<Cause>, NotExamined>,
    /// The values that rule it out where there is none.
    pub evidence: fn(&Analysis<'_>) -> Vec<Evidence>,
    /// The codes of the causes that it explains, on the same device or for the same process.
    pub explains: &'static str,
}

/// Defines the rules: file, code, and the codes of the causes that they explain.
macro_rules! rules {
    ($($file:ident $code:literal explains $explains:literal;)*) => {
        /// The rules, by the order in which a cause is named first when several are equally severe.
        pub(super) const RULES: &[Rule] = &[$(Rule {
            code: $code,
            examine: $file::examine,
            evidence: $file::evidence,
            explains: $explains,
        }),*];
    };
}

rules! {
    hung_io "hung-io" explains "device-slow dirty-throttled sync-storm";
    fuse_or_network_stalled "fuse-or-network-stalled" explains "";
    drive_errors "drive-errors" explains "hung-io device-slow device-saturated dirty-throttled";
    file_system_full "file-system-full" explains "";
    cgroup_throttled "cgroup-throttled"
        explains "dirty-throttled sync-storm device-slow device-saturated hung-io";
    raid_resync "raid-resync" explains "device-saturated device-slow sync-storm dirty-throttled";
    maintenance "maintenance" explains "device-saturated dirty-throttled sync-storm";
    swap_thrashing "swap-thrashing" explains "cache-thrashing device-saturated not-io";
    cache_thrashing "cache-thrashing" explains "device-saturated not-io";
    sync_storm "sync-storm" explains "device-saturated device-slow";
    dirty_throttled "dirty-throttled" explains "";
    device_saturated "device-saturated" explains "dirty-throttled";
    device_slow "device-slow" explains "dirty-throttled device-saturated";
    link_degraded "link-degraded" explains "";
    queue_starved "queue-starved" explains "";
    at_limit "at-limit" explains "";
    setup_unfit "setup-unfit" explains "";
    not_io "not-io" explains "";
}
