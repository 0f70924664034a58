//! Who causes the load of a device, and who suffers from it.

use super::analysis::{Analysis, DeviceSummary, ProcessSummary, Waiter};
use super::cause::{Cause, Certainty, Party};
use super::evidence::{Metric, TRAFFIC_SHARE, fraction};
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
/// Share of the requests that completed while a request of the victim waited.
const REQUESTS_AHEAD: Metric = fraction(
    "requests_ahead",
    "share of the requests ahead",
    "block requests (trace)",
);
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
    /// Share of the main culprit in the traffic.
    share: Option<f64>,
    /// Its share in the requests that completed while one of a victim waited.
    ahead: Option<f64>,
}

impl Blame {
    /// The shares of the main culprit as proof.
    pub fn prove(&self, cause: &mut Cause) {
        if let Some(first) = self.culprits.first() {
            cause.prove(&first.command, TRAFFIC_SHARE, self.share);
            cause.prove(&first.command, REQUESTS_AHEAD, self.ahead);
        }
    }

    /// `; 62 % of the requests served meanwhile are its`.
    #[must_use]
    pub fn share_text(&self) -> String {
        let of = |share: f64, what: &str| format!("; {} of {what}", units::format_percent(share));
        let ahead = self.ahead;
        let text = ahead.map(|share| of(share, "the requests served meanwhile are its"));
        text.or_else(|| Some(of(self.share?, "the traffic is its")))
            .unwrap_or_default()
    }
}

/// Who causes and who suffers on a device. `analysis` names the waiting processes: threads of the
/// kernel are neither, because they work for others.
#[must_use]
pub fn blame(analysis: &Analysis<'_>, device: &DeviceSummary) -> Blame {
    let traced = analysis.window.requests.as_ref();
    let traced = traced.filter(|it| it.device == device.name && it.requests > 0);
    let users = users(analysis, device, traced);
    let top = users.first().copied();
    let share_of = |pid: u32| {
        let own = users.iter().find(|(process, _)| process.pid == pid);
        own.map_or(0.0, |(_, share)| *share)
    };
    let waiting = analysis.waiters_on(&device.name, SUFFERING);
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
    let is_proven = ahead.is_some_and(|ahead| ahead >= PROVEN_SHARE);
    Blame {
        culprits: users
            .iter()
            .filter(|(_, share)| *share >= CULPRIT_SHARE)
            .take(MAX_PARTIES)
            .map(|(process, share)| process.party(Some(*share)))
            .collect(),
        victims: parties(&victims),
        competitors: parties(&competitors),
        certainty: if is_proven {
            Certainty::Confirmed
        } else {
            Certainty::Probable
        },
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
    let mut users: Vec<(&ProcessSummary, f64)> = analysis
        .processes
        .iter()
        .filter(|process| uses(analysis, process, device))
        .map(|process| (process, process.throughput()))
        .filter(|(_, throughput)| *throughput > 0.0)
        .collect();
    let total: f64 = users.iter().map(|(_, throughput)| throughput).sum();
    for (process, share) in &mut users {
        *share = match traced {
            Some(requests) => requests.share_of(process.pid).unwrap_or(0.0),
            None => *share / total,
        };
    }
    users.sort_list_by(|a, b| b.1.total_cmp(&a.1));
    users
}

/// Whether a process uses a device, as far as its open files tell.
#[must_use]
pub fn uses(analysis: &Analysis<'_>, process: &ProcessSummary, device: &DeviceSummary) -> bool {
    let mut own = process.devices.iter();
    own.any(|name| analysis.lies_on(name, &device.name))
}

/// Waiting processes as parties.
#[must_use]
pub fn parties(waiters: &[&Waiter]) -> Vec<Party> {
    let first = waiters.iter().take(MAX_PARTIES);
    first.map(|waiter| waiter.party()).collect()
}
