//! One rule for each cause, with its thresholds.

mod awaited_server;
mod cache_thrashing;
mod cgroup_throttled;
mod device_saturated;
mod device_slow;
mod dirty_throttled;
mod drive_errors;
mod examination;
mod file_system_full;
mod fragmented;
mod hung_io;
mod link_degraded;
mod maintenance;
mod not_io;
mod queue_starved;
mod raid_resync;
mod setup_unfit;
mod stalled;
mod swap_thrashing;
mod sync_storm;

use super::analysis::Analysis;
use super::code::CauseCode;

pub(super) use self::examination::Examination;

/// Applies all rules, in the order of the codes.
pub(super) fn examine_all(analysis: &Analysis<'_>) -> Vec<(CauseCode, Examination)> {
    CauseCode::ALL
        .into_iter()
        .map(|code| (code, examine(code, analysis)))
        .collect()
}

fn examine(code: CauseCode, analysis: &Analysis<'_>) -> Examination {
    match code {
        CauseCode::HungIo => hung_io::examine(analysis),
        CauseCode::FuseOrNetworkStalled => stalled::examine(analysis),
        CauseCode::DriveErrors => drive_errors::examine(analysis),
        CauseCode::FileSystemFull => file_system_full::examine(analysis),
        CauseCode::CgroupThrottled => cgroup_throttled::examine(analysis),
        CauseCode::RaidResync => raid_resync::examine(analysis),
        CauseCode::Maintenance => maintenance::examine(analysis),
        CauseCode::SwapThrashing => swap_thrashing::examine(analysis),
        CauseCode::CacheThrashing => cache_thrashing::examine(analysis),
        CauseCode::SyncStorm => sync_storm::examine(analysis),
        CauseCode::DirtyThrottled => dirty_throttled::examine(analysis),
        CauseCode::DeviceSaturated => device_saturated::examine(analysis),
        CauseCode::DeviceSlow => device_slow::examine(analysis),
        CauseCode::LinkDegraded => link_degraded::examine(analysis),
        CauseCode::Fragmented => fragmented::examine(analysis),
        CauseCode::QueueStarved => queue_starved::examine(analysis),
        CauseCode::SetupUnfit => setup_unfit::examine(analysis),
        CauseCode::NotIo => not_io::examine(analysis),
    }
}
