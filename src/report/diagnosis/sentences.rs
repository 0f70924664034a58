//! The conclusion in one sentence.

use super::parties::{name, names, program};
use super::values::value_text;
use crate::diagnosis::file_server::{AwaitedServer, ServedMount};
use crate::diagnosis::{
    Cause, CauseCode, CauseDetail, Certainty, Diagnosis, NotExamined, Quantity, Severity,
};
use crate::probe::system::device_health::RaidAction;
use crate::units;

/// File systems that are named where it is not known which one is meant.
const MAX_ALTERNATIVES: usize = 3;

/// The first cause in one sentence, or that nothing is wrong.
#[must_use]
pub fn conclusion(diagnosis: &Diagnosis) -> String {
    match diagnosis.causes.first() {
        Some(cause) if cause.code() == CauseCode::NotIo => {
            format!("Nothing is wrong with I/O. {}", cause_sentence(cause))
        }
        Some(cause) if cause.severity >= Severity::Warning => cause_sentence(cause),
        Some(cause) => format!(
            "Nothing is wrong with I/O. Worth knowing: {}",
            cause_sentence(cause)
        ),
        None if is_partly_recorded(diagnosis) => {
            "What was recorded shows nothing wrong with I/O.".to_owned()
        }
        None => "Nothing is wrong with I/O.".to_owned(),
    }
}

/// Whether a cause could not be examined because the recording does not have what it takes.
fn is_partly_recorded(diagnosis: &Diagnosis) -> bool {
    let mut reasons = diagnosis.not_examined.iter().map(|(_, reason)| reason);
    reasons.any(|reason| *reason == NotExamined::NotRecorded)
}

/// Whether a problem was found.
#[must_use]
pub fn verdict(diagnosis: &Diagnosis) -> &'static str {
    match diagnosis.is_problem() {
        true => "problem found",
        false => "no problem",
    }
}

/// A cause in one sentence.
#[must_use]
pub fn cause_sentence(cause: &Cause) -> String {
    let device = cause.device.as_deref().unwrap_or("the device");
    match &cause.detail {
        CauseDetail::DeviceSaturated { serial } => saturated(cause, device, *serial),
        CauseDetail::DeviceSlow { at_fixed_rate } => slow(cause, device, *at_fixed_rate),
        CauseDetail::CgroupThrottled { unit, .. } => format!(
            "{} waits because {unit} has reached its I/O limit on {device}{}.",
            victim(cause, unit),
            limit(cause)
        ),
        CauseDetail::DirtyThrottled => dirty_throttled(cause, device),
        CauseDetail::SyncStorm => format!(
            "{} wait for each other's flushes on {device}: {} flushes per second{}.",
            victims(cause),
            value(cause, Quantity::FlushRate).trim_end_matches("/s"),
            if_known(cause, Quantity::FlushAwait, ", ", " each")
        ),
        CauseDetail::SwapThrashing => format!(
            "{} waits for memory: {} are read from swap and {} written to it, because the memory is too small for what runs.",
            victim(cause, "The machine"),
            value(cause, Quantity::SwapIn),
            value(cause, Quantity::SwapOut)
        ),
        CauseDetail::CacheThrashing => format!(
            "Files are read again that were dropped from the page cache shortly before, {} in all{}: the memory is too small for what is read.",
            value(cause, Quantity::Refaults),
            names(&cause.victims, None).map_or_else(String::new, |who| format!(", most by {who}"))
        ),
        CauseDetail::RaidResync { action } => raid(cause, device, *action),
        CauseDetail::DriveErrors { message } => format!(
            "{device} fails: {} I/O errors in the kernel log{}.",
            value(cause, Quantity::LoggedErrors),
            message
                .as_ref()
                .map_or_else(String::new, |message| format!(", the last: {message}"))
        ),
        CauseDetail::LinkDegraded => format!(
            "{device} is connected at {}, although {} are supported.",
            value(cause, Quantity::LinkSpeed),
            value(cause, Quantity::LinkSupported)
        ),
        CauseDetail::HungIo { wait_channel, .. } => hung(cause, wait_channel.as_deref()),
        CauseDetail::Stalled { server } => stalled(cause, server),
        CauseDetail::Fragmented { path } => format!(
            "{} reads {path} in pieces of {}, and {device}, a rotational disk, seeks between them:{} at {}.",
            victim(cause, "A process"),
            value(cause, Quantity::PieceSize),
            if_known(cause, Quantity::ReadAwait, " ", " per read"),
            value(cause, Quantity::Throughput)
        ),
        CauseDetail::QueueStarved => format!(
            "{} waits {} of the time for {device}, which is not saturated: it has one request in flight at a time.",
            victim(cause, "A process"),
            value(cause, Quantity::BlockedTime)
        ),
        CauseDetail::FileSystemFull {
            mount_point,
            inodes,
        } => match inodes {
            true => format!(
                "The file system at {mount_point} has no inodes left: {} are used.",
                value(cause, Quantity::UsedFraction)
            ),
            false => format!(
                "The file system at {mount_point} is full: {} of it is used, {} are available.",
                value(cause, Quantity::UsedFraction),
                value(cause, Quantity::AvailableBytes)
            ),
        },
        CauseDetail::Maintenance => format!(
            "{} waits on {device}{} because of {}, a maintenance program{}.",
            victim(cause, "A process"),
            latency(cause),
            culprit(cause).unwrap_or_default(),
            share(cause)
        ),
        CauseDetail::SetupUnfit { reason } => format!("{device}: {reason}."),
        CauseDetail::NotIo { memory } => not_io(cause, *memory),
    }
}

/// Why a cause was not examined.
#[must_use]
pub fn not_examined_reason(code: CauseCode, reason: NotExamined) -> &'static str {
    match (code, reason) {
        (_, NotExamined::NotPermitted) => "not permitted: root",
        (CauseCode::CgroupThrottled, NotExamined::NotReported) => "control groups are not readable",
        (CauseCode::LinkDegraded, NotExamined::NotReported) => {
            "no drive reports the speed of its link"
        }
        (CauseCode::SwapThrashing | CauseCode::CacheThrashing, NotExamined::NotReported) => {
            "/proc/vmstat is not readable"
        }
        (_, NotExamined::NotReported) => "the kernel does not report it",
        (_, NotExamined::NotRecorded) => "not part of a recording",
        (_, NotExamined::WindowTooShort) => "needs --duration 10s or more",
    }
}

fn probably(cause: &Cause) -> &'static str {
    match cause.certainty {
        Certainty::Confirmed => "because",
        Certainty::Probable => "probably because",
    }
}

fn victim(cause: &Cause, otherwise: &str) -> String {
    cause
        .victims
        .first()
        .map_or_else(|| otherwise.to_owned(), name)
}

fn victims(cause: &Cause) -> String {
    names(&cause.victims, cause.value(Quantity::WaitingTasks))
        .unwrap_or_else(|| "Processes".to_owned())
}

fn culprit(cause: &Cause) -> Option<String> {
    cause.culprits.first().map(|party| match &party.unit {
        Some(unit) => format!("{} of {unit}", program(party)),
        None => format!("{} (pid {})", program(party), party.pid),
    })
}

fn value(cause: &Cause, quantity: Quantity) -> String {
    cause
        .value(quantity)
        .map_or_else(|| "n/a".to_owned(), |value| value_text(quantity, value))
}

fn if_known(cause: &Cause, quantity: Quantity, before: &str, after: &str) -> String {
    match cause.value(quantity) {
        Some(value) => format!("{before}{}{after}", value_text(quantity, value)),
        None => String::new(),
    }
}

/// ` 41 ms a write`.
fn latency(cause: &Cause) -> String {
    let write = if_known(cause, Quantity::WriteAwait, " ", " per write");
    match write.is_empty() {
        true => if_known(cause, Quantity::ReadAwait, " ", " per read"),
        false => write,
    }
}

/// `; 62 % of the requests ahead are its own`.
fn share(cause: &Cause) -> String {
    let ahead = if_known(
        cause,
        Quantity::RequestsAhead,
        "; ",
        " of the requests served meanwhile are its",
    );
    match ahead.is_empty() {
        true => if_known(
            cause,
            Quantity::TrafficShare,
            "; ",
            " of the traffic is its",
        ),
        false => ahead,
    }
}

fn saturated(cause: &Cause, device: &str, serial: bool) -> String {
    let kind = if serial { ", a rotational disk," } else { "" };
    let others = cause.victims.first().map(|it| it.pid) != cause.culprits.first().map(|it| it.pid);
    let blamed = cause
        .culprits
        .iter()
        .all(|it| cause.victims.iter().all(|other| other.pid != it.pid));
    match culprit(cause).filter(|_| others && blamed) {
        Some(culprit) => format!(
            "{} waits{} on {device} {}{} is saturated by {culprit}{}.",
            victim(cause, "A process"),
            latency(cause),
            probably(cause),
            if kind.is_empty() {
                " it".to_owned()
            } else {
                format!(" it{kind}")
            },
            share(cause)
        ),
        None => format!(
            "{} wait for each other{} on {device}: it{kind} serves fewer requests than they issue.",
            victims(cause),
            latency(cause)
        ),
    }
}

fn slow(cause: &Cause, device: &str, at_fixed_rate: bool) -> String {
    let who = victim(cause, "A process");
    match at_fixed_rate {
        true => format!(
            "{who} waits{} on {device}, which delivers {} and not more: probably the limit of the virtual disk.",
            latency(cause),
            value(cause, Quantity::Throughput)
        ),
        false => format!(
            "{who} waits{} on {device}, which is slow although only {} requests are in flight.",
            latency(cause),
            value(cause, Quantity::QueueSize)
        ),
    }
}

fn limit(cause: &Cause) -> String {
    let bytes = if_known(cause, Quantity::LimitBytes, " of ", "");
    match bytes.is_empty() {
        true => if_known(cause, Quantity::LimitIops, " of ", ""),
        false => bytes,
    }
}

fn dirty_throttled(cause: &Cause, device: &str) -> String {
    let who = victim(cause, "A writer");
    let own = cause.victims.first().map(|it| it.pid) == cause.culprits.first().map(|it| it.pid);
    let written = if_known(cause, Quantity::Throughput, " at ", "");
    match culprit(cause).filter(|_| !own) {
        Some(culprit) => format!(
            "{who} is throttled {} of the time because {culprit} fills the memory with data for {device}, which writes{written}.",
            value(cause, Quantity::BlockedTime)
        ),
        None => format!(
            "{who} is throttled {} of the time: {device} writes{written} only, and the memory for unwritten data is used up.",
            value(cause, Quantity::BlockedTime)
        ),
    }
}

fn raid(cause: &Cause, device: &str, action: RaidAction) -> String {
    let action = match action {
        RaidAction::Resync => "is resynchronized",
        RaidAction::Recover => "is rebuilt",
        RaidAction::Check => "is checked",
        RaidAction::Repair => "is repaired",
        RaidAction::Reshape => "is reshaped",
    };
    match cause.victims.is_empty() {
        true => format!("{device} {action}; nobody waits for it."),
        false => format!(
            "{} waits on {device}, which {action}.",
            victim(cause, "A process")
        ),
    }
}

fn hung(cause: &Cause, channel: Option<&str>) -> String {
    let place = channel.map_or_else(String::new, |channel| format!(" in {channel}"));
    let device = cause
        .device
        .as_ref()
        .map_or_else(String::new, |device| format!(" on {device}"));
    match cause.victims.is_empty() {
        true => format!(
            "{} requests{device} do not complete.",
            value(cause, Quantity::StuckRequests)
        ),
        false => format!(
            "{} hangs{device}: blocked{place} without interruption for {}.",
            victims(cause),
            value(cause, Quantity::BlockedFor)
        ),
    }
}

fn stalled(cause: &Cause, server: &AwaitedServer) -> String {
    let of = |mount: &ServedMount| format!("{} ({})", mount.mount_point, mount.kind);
    let (place, candidates) = match server {
        AwaitedServer::Of(mount) => (format!("the server of {}", of(mount)), String::new()),
        AwaitedServer::Among(mounts) => (
            "the server of a FUSE or network file system".to_owned(),
            alternatives(mounts.iter().map(of).collect()),
        ),
    };
    format!(
        "{} waits for {place}, which has not answered for {}{candidates}.",
        victims(cause),
        value(cause, Quantity::BlockedFor)
    )
}

/// `: possibly /a, /b or one of 3 others`.
fn alternatives(mut names: Vec<String>) -> String {
    if names.len() > MAX_ALTERNATIVES + 1 {
        let others = names.split_off(MAX_ALTERNATIVES).len();
        names.push(format!("one of {others} others"));
    }
    let Some(last) = names.pop() else {
        return String::new();
    };
    match names.is_empty() {
        true => format!(": possibly {last}"),
        false => format!(": possibly {} or {last}", names.join(", ")),
    }
}

fn not_io(cause: &Cause, memory: bool) -> String {
    match memory {
        true => format!(
            "Tasks wait for memory {} of the time.",
            value(cause, Quantity::MemoryPressure)
        ),
        false => format!(
            "The processors are the limit, {} busy{}.",
            value(cause, Quantity::CpuBusy),
            cause
                .culprits
                .first()
                .map_or_else(String::new, |party| format!(
                    "; {} uses {} of what is used",
                    name(party),
                    units::format_percent(party.share.unwrap_or(0.0))
                ))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_are_possible_are_listed_up_to_a_few() {
        let listed = |count: usize| {
            let name = |number| format!("/{number} (nfs4)");
            alternatives((1..=count).map(name).collect())
        };
        assert_eq!(listed(0), "");
        assert_eq!(listed(1), ": possibly /1 (nfs4)");
        assert_eq!(listed(2), ": possibly /1 (nfs4) or /2 (nfs4)");
        let four = ": possibly /1 (nfs4), /2 (nfs4), /3 (nfs4) or /4 (nfs4)";
        assert_eq!(listed(4), four);
        let more = ": possibly /1 (nfs4), /2 (nfs4), /3 (nfs4) or one of 2 others";
        assert_eq!(listed(5), more);
    }
}
