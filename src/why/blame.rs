//! Who causes the load of a device, and who suffers from it.

use super::analysis::{Analysis, DeviceSummary, ProcessSummary, Waiter};
use super::cause::{Cause, Certainty, Party};
use super::evidence::{BLOCKED, REQUESTS_AHEAD, TRAFFIC_SHARE};
use super::requests::RequestEvidence;
use crate::stats::sorting::SortList as _;
use crate::units;

/// A process that is blocked for a smaller fraction of the time does not suffer.
pub const SUFFERING: f64 = 0.2;
/// Whoever has less than this fraction of the main culprit's share is its victim, not its partner.
const VICTIM_SHARE: f64 = 0.5;
/// A process with a smaller share of the traffic is not named as a culprit.
const CULPRIT_SHARE: f64 = 0.1;
/// A share of the requests ahead from which the blame is proven.
const PROVEN_SHARE: f64 = 0.25;
/// Parties that are named at most.
const MAX_PARTIES: usize = 4;

/// Who causes and who suffers on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Blame {
    /// Who causes, the largest share first.
    pub culprits: Vec<Party>,
    /// Who waits because of others, who waits most first.
    pub victims: Vec<Party>,
    /// Who waits for its own requests: processes that compete with equal shares.
    pub competitors: Vec<Party>,
    /// Share of the main culprit in the traffic.
    share: Option<f64>,
    /// Its share in the requests that completed while one of a victim waited.
    ahead: Option<f64>,
}

impl Blame {
    /// Adds the shares of the main culprit to the proof. Single requests prove the cause.
    pub fn prove(&self, cause: &mut Cause) {
        if let Some(first) = self.culprits.first() {
            cause.prove(&first.command, TRAFFIC_SHARE, self.share);
            cause.prove(&first.command, REQUESTS_AHEAD, self.ahead);
        }
        if self.ahead.is_some_and(|ahead| ahead >= PROVEN_SHARE) {
            cause.certainty = Certainty::Confirmed;
        }
    }

    /// `; 62 % of the requests served meanwhile are its`.
    pub fn share_text(&self) -> String {
        match (self.ahead, self.share) {
            (Some(share), _) => {
                let share = units::format_percent(share);
                format!("; {share} of the requests served meanwhile are its")
            }
            (None, Some(share)) => {
                format!("; {} of the traffic is its", units::format_percent(share))
            }
            (None, None) => String::new(),
        }
    }
}

/// Who causes and who suffers on a device. `analysis` names the waiting processes: threads of the
/// kernel are neither, because they work for others.
pub fn blame(analysis: &Analysis<'_>, device: &DeviceSummary) -> Blame {
    let traced = analysis.window.requests.as_ref();
    let traced = traced.filter(|it| it.device == device.name && it.requests > 0);
    let users = users(analysis, device, traced);
    // Where the threads of the kernel that work for a loop device make all requests, nobody is known as culprit.
    let top = users.first().copied();
    let top = top.filter(|(_, share)| *share >= CULPRIT_SHARE);
    let share_of = |pid: u32| {
        let own = users.iter().find(|(process, _)| process.pid == pid);
        own.map_or(0.0, |(_, share)| *share)
    };
    let waiting = analysis.blocked_on(device, SUFFERING).into_iter();
    let (victims, competitors): (Vec<&Waiter>, Vec<&Waiter>) = waiting.partition(|waiter| {
        top.is_some_and(|(culprit, share)| {
            culprit.pid != waiter.pid && share_of(waiter.pid) < share * VICTIM_SHARE
        })
    });
    let ahead = top.zip(traced).and_then(|((culprit, _), requests)| {
        let shares = victims
            .iter()
            .filter_map(|victim| requests.share_ahead(victim.pid, culprit.pid));
        shares.reduce(f64::max)
    });
    let named = users.iter().filter(|(_, share)| *share >= CULPRIT_SHARE);
    let named = named.take(MAX_PARTIES);
    Blame {
        culprits: named
            .map(|(process, share)| process.party(Some(*share)))
            .collect(),
        victims: parties(&victims),
        competitors: parties(&competitors),
        share: top.map(|(_, share)| share),
        ahead,
    }
}

/// The processes that use a device, each with its share: of the requests where they were traced,
/// otherwise of the traffic.
fn users<'a>(
    analysis: &'a Analysis<'_>,
    device: &DeviceSummary,
    traced: Option<&RequestEvidence>,
) -> Vec<(&'a ProcessSummary, f64)> {
    let processes = analysis.processes.iter();
    let users = processes.filter(|it| analysis.is_on(&it.devices, device) && it.throughput() > 0.0);
    let users: Vec<&ProcessSummary> = users.collect();
    let total: f64 = users.iter().map(|process| process.throughput()).sum();
    let share = |process: &ProcessSummary| match traced {
        Some(requests) => requests.share_of(process.pid).unwrap_or(0.0),
        None => process.throughput() / total,
    };
    let mut users: Vec<_> = users.into_iter().map(|it| (it, share(it))).collect();
    users.sort_list_by(|a, b| b.1.total_cmp(&a.1));
    users
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
