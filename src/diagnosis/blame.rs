//! Who causes the load of a device, and who suffers from it.

use super::analysis::{Analysis, DeviceSummary, ProcessSummary, Waiter};
use super::cause::Party;
use super::code::Certainty;
use super::measurement::{Measurement, Quantity};
use crate::stats::sorting::SortList as _;

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
    /// Whether single requests prove it.
    pub certainty: Certainty,
    /// Shares as measurements.
    pub evidence: Vec<Measurement>,
}

/// Who causes and who suffers on a device. `analysis` names the waiting processes: threads of the
/// kernel are neither, because they work for others.
#[must_use]
pub fn blame(analysis: &Analysis<'_>, device: &DeviceSummary) -> Blame {
    let mut users: Vec<(&ProcessSummary, f64)> = analysis
        .processes
        .iter()
        .filter(|process| uses(analysis, process, device))
        .map(|process| (process, process.throughput()))
        .filter(|(_, throughput)| *throughput > 0.0)
        .collect();
    let traced = analysis
        .window
        .requests
        .as_ref()
        .filter(|requests| requests.device == device.name && requests.requests > 0);
    let total: f64 = users.iter().map(|(_, throughput)| throughput).sum();
    for (process, share) in &mut users {
        *share = match traced {
            Some(requests) => requests.share_of(process.pid).unwrap_or(0.0),
            None => *share / total,
        };
    }
    users.sort_list_by(|a, b| b.1.total_cmp(&a.1));
    let top = users.first().copied();
    let share_of = |pid: u32| {
        let own = users.iter().find(|(process, _)| process.pid == pid);
        own.map_or(0.0, |(_, share)| *share)
    };
    let waiting: Vec<&Waiter> = analysis.waiters_on(&device.name, SUFFERING).collect();
    let is_victim = |waiter: &&&Waiter| {
        top.is_some_and(|(culprit, share)| {
            culprit.pid != waiter.pid && share_of(waiter.pid) < share * VICTIM_SHARE
        })
    };
    let (victims, competitors): (Vec<&Waiter>, Vec<&Waiter>) =
        waiting.iter().partition(|waiter| is_victim(waiter));
    let mut evidence = Vec::new();
    let mut certainty = Certainty::Probable;
    if let Some((culprit, share)) = top {
        evidence.push(Measurement::of(
            &culprit.command,
            Quantity::TrafficShare,
            share,
        ));
        let ahead = traced.and_then(|requests| {
            let shares = victims
                .iter()
                .filter_map(|victim| requests.share_ahead(victim.pid, culprit.pid));
            shares.reduce(f64::max)
        });
        if let Some(ahead) = ahead {
            evidence.push(Measurement::of(
                &culprit.command,
                Quantity::RequestsAhead,
                ahead,
            ));
            if ahead >= PROVEN_SHARE {
                certainty = Certainty::Confirmed;
            }
        }
    }
    Blame {
        culprits: users
            .iter()
            .filter(|(_, share)| *share >= CULPRIT_SHARE)
            .take(MAX_PARTIES)
            .map(|(process, share)| culprit(process, *share))
            .collect(),
        victims: parties(&victims),
        competitors: parties(&competitors),
        certainty,
        evidence,
    }
}

/// Whether a process uses a device, as far as its open files tell.
#[must_use]
pub fn uses(analysis: &Analysis<'_>, process: &ProcessSummary, device: &DeviceSummary) -> bool {
    let mut own = process.devices.iter();
    own.any(|name| analysis.lies_on(name, &device.name))
}

fn culprit(process: &ProcessSummary, share: f64) -> Party {
    Party {
        pid: process.pid,
        command: process.command.clone(),
        unit: process.unit.clone(),
        share: Some(share),
    }
}

/// Waiting processes as parties.
#[must_use]
pub fn parties(waiters: &[&Waiter]) -> Vec<Party> {
    waiters
        .iter()
        .take(MAX_PARTIES)
        .map(|waiter| Party {
            pid: waiter.pid,
            command: waiter.command.clone(),
            unit: waiter.unit.clone(),
            share: Some(waiter.blocked),
        })
        .collect()
}
