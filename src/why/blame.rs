//! Who causes the load of a device, and who suffers from it.

use super::analysis::{Analysis, DeviceSummary, ProcessSummary, Waiter};
use super::cause::{Cause, Party};
use super::evidence::{BLOCKED, DEVICE_SHARE, TRAFFIC_SHARE};
use crate::stats::sorting::SortList as _;
use crate::units;

/// A process that is blocked for a smaller fraction of the time does not suffer.
pub const SUFFERING: f64 = 0.2;
/// Whoever has less than this fraction of the main culprit's share is its victim, not its partner.
const VICTIM_SHARE: f64 = 0.5;
/// A process with a smaller share of the traffic is not named as a culprit.
const CULPRIT_SHARE: f64 = 0.1;
/// A share of the requests from which the blame is proven.
const PROVEN_SHARE: f64 = 0.25;
/// Parties that are named at most.
const MAX_PARTIES: usize = 4;

/// Who causes and who suffers on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Blame {
    /// Who causes, the largest share first: of the time of the requests where they were traced, otherwise
    /// of the traffic.
    pub culprits: Vec<Party>,
    /// Who waits because of others, who waits most first.
    pub victims: Vec<Party>,
    /// Who waits for its own requests: processes that compete with equal shares.
    pub competitors: Vec<Party>,
    /// Whether the shares are those of the traced requests.
    is_traced: bool,
    /// Whether the requests of several processes were in flight at once.
    is_contended: bool,
}

impl Blame {
    /// Adds the share of the main culprit to the proof.
    pub fn prove(&self, cause: &mut Cause) {
        if let Some(first) = self.culprits.first() {
            let metric = if self.is_traced {
                DEVICE_SHARE
            } else {
                TRAFFIC_SHARE
            };
            cause.prove(&first.command, metric, first.share);
        }
    }

    /// Whether single requests prove who causes it.
    pub fn is_proven(&self) -> bool {
        let share = self.culprits.first().and_then(|it| it.share);
        self.is_contended && !self.victims.is_empty() && share >= Some(PROVEN_SHARE)
    }

    /// `; 62 % of the traffic is its`.
    pub fn share_text(&self) -> String {
        let share = self.culprits.first().and_then(|it| it.share);
        let of = if self.is_traced {
            "of the device's time"
        } else {
            "of the traffic"
        };
        share.map_or_else(String::new, |share| {
            format!("; {} {of} is its", units::format_percent(share))
        })
    }
}

/// Who causes and who suffers on a device. `analysis` names the waiting processes: threads of the
/// kernel are neither, because they work for others.
pub fn blame(analysis: &Analysis<'_>, device: &DeviceSummary) -> Blame {
    let traced = analysis.window.requests.as_ref();
    let traced = traced.filter(|it| it.device == device.name && it.requests > 0);
    let processes = analysis.processes.iter();
    let users = processes.filter(|it| analysis.is_on(&it.devices, device) && it.throughput() > 0.0);
    let users: Vec<&ProcessSummary> = users.collect();
    let total: f64 = users.iter().map(|process| process.throughput()).sum();
    let share = |process: &ProcessSummary| match traced {
        Some(requests) => requests.share_of(process.pid),
        None => process.throughput() / total,
    };
    let users = users.into_iter().map(|it| it.party(Some(share(it))));
    let mut users: Vec<Party> = users.collect();
    users.sort_list_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    let share_of = |pid: u32| {
        let own = users.iter().find(|it| it.pid == pid);
        own.and_then(|it| it.share).unwrap_or(0.0)
    };
    // Where the threads of the kernel that work for a loop device make all requests, nobody is known as culprit.
    let named = users.iter().filter(|it| it.share >= Some(CULPRIT_SHARE));
    let culprits: Vec<Party> = named.take(MAX_PARTIES).cloned().collect();
    let is_victim = |waiter: &&Waiter| {
        culprits.first().is_some_and(|top| {
            top.pid != waiter.pid && share_of(waiter.pid) < top.share.unwrap_or(0.0) * VICTIM_SHARE
        })
    };
    let waiting = analysis.blocked_on(device, SUFFERING).into_iter();
    let (victims, competitors): (Vec<&Waiter>, Vec<&Waiter>) = waiting.partition(is_victim);
    Blame {
        victims: parties(&victims),
        competitors: parties(&competitors),
        is_traced: traced.is_some(),
        is_contended: traced.is_some_and(|requests| requests.is_contended),
        culprits,
    }
}

/// Waiting processes as those who suffer, with the proof of who waits most.
pub fn suffer(cause: &mut Cause, waiters: &[&Waiter]) {
    cause.victims = parties(waiters);
    if let Some(first) = waiters.first() {
        cause.prove(&first.command, BLOCKED, first.blocked);
    }
}

/// Waiting processes as parties.
pub fn parties(waiters: &[&Waiter]) -> Vec<Party> {
    let first = waiters.iter().take(MAX_PARTIES);
    first.map(|waiter| waiter.party()).collect()
}
