//! A cause in a few words, for one line: who waits comes first, then what for, then because of whom.

use super::parties::program;
use super::sentences::cause_sentence;
use super::values::value_text;
use crate::diagnosis::file_server::AwaitedServer;
use crate::diagnosis::{Cause, CauseDetail, Party, Quantity};

/// The cause in a few words, without a full stop.
#[must_use]
pub fn headline(cause: &Cause) -> String {
    let device = cause.device.as_deref().unwrap_or("a device");
    let who = match cause.victims.first() {
        Some(victim) => format!("{} waits", program(victim)),
        None => "processes wait".to_owned(),
    };
    let latency = latency(cause);
    let by = by_whom(cause);
    match &cause.detail {
        CauseDetail::DeviceSaturated { .. } => format!("{who}{latency}: {device} is saturated{by}"),
        CauseDetail::DeviceSlow { .. } => format!("{who}{latency}: {device} is slow"),
        CauseDetail::CgroupThrottled { unit, .. } => {
            format!("{who}: {unit} is at its I/O limit on {device}")
        }
        CauseDetail::DirtyThrottled => {
            format!("{who} for writeback: the dirty memory of {device} is at its limit{by}")
        }
        CauseDetail::SyncStorm => format!("{who}{latency}: many small flushes on {device}"),
        CauseDetail::SwapThrashing => format!("{who} for swap-in: the memory is too small"),
        CauseDetail::CacheThrashing => {
            format!("{who}: the page cache is too small for the files that are read")
        }
        CauseDetail::RaidResync { .. } => format!("{who}: {device} is resynchronized or checked"),
        CauseDetail::Maintenance => format!("{who}{latency} on {device}: maintenance{by}"),
        CauseDetail::HungIo { .. } => match cause.victims.first() {
            Some(victim) => format!("{} hangs in I/O on {device}", program(victim)),
            None => format!("requests of {device} do not complete"),
        },
        CauseDetail::Stalled { server } => match server {
            AwaitedServer::Of(mount) => {
                format!("{who}: the server of {} does not answer", mount.mount_point)
            }
            AwaitedServer::Among(_) => {
                format!("{who}: the server of a file system does not answer")
            }
        },
        CauseDetail::DriveErrors { .. } => format!("{device} reports I/O errors"),
        CauseDetail::FileSystemFull { mount_point, .. } => format!("{mount_point} is full"),
        CauseDetail::Fragmented { path } => {
            format!("{who}{latency} on {device}: {path} lies in many pieces")
        }
        CauseDetail::LinkDegraded
        | CauseDetail::QueueStarved
        | CauseDetail::SetupUnfit { .. }
        | CauseDetail::NotIo { .. } => cause_sentence(cause).trim_end_matches('.').to_owned(),
    }
}

/// ` 41.0 ms per write`.
fn latency(cause: &Cause) -> String {
    let of = |quantity, what: &str| {
        let value = cause.value(quantity)?;
        Some(format!(" {} per {what}", value_text(quantity, value)))
    };
    of(Quantity::WriteAwait, "write")
        .or_else(|| of(Quantity::ReadAwait, "read"))
        .unwrap_or_default()
}

/// ` by cp (nightly-backup.service)`, unless everybody waits for everybody.
fn by_whom(cause: &Cause) -> String {
    let is_victim = |party: &&Party| cause.victims.iter().any(|victim| victim.pid == party.pid);
    let culprit = cause.culprits.first().filter(|party| !is_victim(party));
    culprit.map_or_else(String::new, |party| match &party.unit {
        Some(unit) => format!(" by {} ({unit})", program(party)),
        None => format!(" by {} (pid {})", program(party), party.pid),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Measurement, Severity};

    fn party(pid: u32, command: &str, unit: Option<&str>) -> Party {
        Party {
            pid,
            command: command.into(),
            unit: unit.map(Into::into),
            share: None,
        }
    }

    #[test]
    fn headline_names_victim_device_and_culprit() {
        let detail = CauseDetail::DeviceSaturated { serial: true };
        let mut cause = Cause::new(detail, Severity::Warning, &"".into());
        cause.device = Some("sda".into());
        cause.evidence = vec![Measurement::of(&"sda".into(), Quantity::WriteAwait, 41e6)];
        cause.victims = vec![party(993, "postgres: writer", None)];
        cause.culprits = vec![party(4711, "/bin/cp -r a b", Some("backup.service"))];
        assert_eq!(
            headline(&cause),
            "postgres waits 41.0 ms per write: sda is saturated by cp (backup.service)"
        );
        // Who waits for everybody else is not blamed.
        cause.culprits = vec![party(993, "postgres: writer", None)];
        assert_eq!(
            headline(&cause),
            "postgres waits 41.0 ms per write: sda is saturated"
        );
    }

    #[test]
    fn headline_without_parties_names_the_device() {
        let detail = CauseDetail::DriveErrors { message: None };
        let mut cause = Cause::new(detail, Severity::Critical, &"".into());
        assert_eq!(headline(&cause), "a device reports I/O errors");
        cause.device = Some("sdb".into());
        assert_eq!(headline(&cause), "sdb reports I/O errors");
    }
}
