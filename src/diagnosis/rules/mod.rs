//! One rule for each cause, with its thresholds.

use super::analysis::Analysis;
use super::cause::{Cause, NotExamined};
use super::code::CauseCode;
use super::measurement::Measurement;

mod cache_thrashing;
mod cgroup_throttled;
mod device_saturated;
mod device_slow;
mod dirty_throttled;
mod drive_errors;
mod file_system_full;
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

/// Result of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Examination {
    /// The cause is there, possibly several times: on several devices, in several groups.
    Problem(Vec<Cause>),
    /// It is not, and these values prove it.
    RuledOut(Vec<Measurement>),
    /// It could not be examined.
    NotExamined(NotExamined),
}

impl Examination {
    /// The causes, or else the values that rule the cause out.
    fn of(causes: Vec<Cause>, ruled_out: impl FnOnce() -> Vec<Measurement>) -> Self {
        match causes.is_empty() {
            true => Self::RuledOut(ruled_out()),
            false => Self::Problem(causes),
        }
    }
}

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
        CauseCode::QueueStarved => queue_starved::examine(analysis),
        CauseCode::SetupUnfit => setup_unfit::examine(analysis),
        CauseCode::NotIo => not_io::examine(analysis),
    }
}
