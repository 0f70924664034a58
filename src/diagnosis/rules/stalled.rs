//! The server of a FUSE or network file system does not answer.

use std::time::Duration;

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, Waiter};
use crate::diagnosis::blame::parties;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::drive::mounts::{MountEntry, is_reachable};
use crate::safe_text::SafeText;

/// Sleep in one request from which the server does not answer; in a shorter window this fraction
/// of it, but not less than the last value.
const STALLED: Duration = Duration::from_secs(4);
const WHOLE_WINDOW: f64 = 0.7;
const LEAST: Duration = Duration::from_secs(2);
/// File system types whose server is another program or another machine.
const SERVED: [&str; 8] = [
    "fuse",
    "nfs",
    "cifs",
    "smb",
    "ceph",
    "9p",
    "afs",
    "glusterfs",
];

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    if !analysis.window.has_blocked_tasks() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let limit = STALLED
        .min(Duration::from_secs_f64(analysis.seconds * WHOLE_WINDOW))
        .max(LEAST);
    let stalled: Vec<&Waiter> = analysis
        .waiters
        .iter()
        .filter(|waiter| {
            waiter.longest >= limit && !waiter.is_kernel_thread && analysis.waits_for_server(waiter)
        })
        .collect();
    let Some(first) = stalled.first() else {
        let evidence =
            fuse_waiting(analysis).map(|it| Measurement::of_machine(Quantity::FuseWaiting, it));
        return Examination::RuledOut(evidence.into_iter().collect());
    };
    let mount = mount_of(analysis, first);
    let detail = CauseDetail::Stalled {
        kind: mount.as_ref().map(|it| it.kind.clone()),
        mount_point: mount.as_ref().map(|it| it.mount_point.clone()),
    };
    let mut cause = Cause::new(detail, Severity::Critical, analysis.begin());
    cause.certainty = Certainty::Confirmed;
    let slept = first.longest.as_nanos() as f64;
    cause.evidence = vec![
        Measurement::of(&first.command, Quantity::BlockedFor, slept),
        Measurement::of(&first.command, Quantity::BlockedTime, first.blocked),
        Measurement::of_machine(Quantity::WaitingTasks, stalled.len() as f64),
    ];
    cause.evidence.extend(
        fuse_waiting(analysis)
            .filter(|count| *count > 0.0)
            .map(|count| Measurement::of_machine(Quantity::FuseWaiting, count)),
    );
    cause.victims = parties(&stalled);
    cause.remedies = mount.map(ServedMount::remedy).into_iter().collect();
    Examination::Problem(vec![cause])
}

/// Requests that wait for FUSE servers at the end of the window.
fn fuse_waiting(analysis: &Analysis<'_>) -> Option<f64> {
    let Some((_, facts)) = &analysis.window.facts else {
        let mounts = analysis.last().mounts.as_ref()?;
        let counts = mounts.iter().filter_map(|mount| mount.waiting);
        return Some(counts.sum::<u64>() as f64);
    };
    let connections = facts.fuse.as_ref()?;
    Some(connections.iter().map(|it| it.waiting).sum::<u64>() as f64)
}

/// A served file system.
struct ServedMount {
    kind: SafeText,
    mount_point: SafeText,
    /// Whether its mount point leads to it, and not to what is mounted over it.
    is_reachable: bool,
}

impl ServedMount {
    fn of_table(mounts: &[MountEntry], mount: &MountEntry) -> Self {
        Self {
            kind: SafeText::from(&mount.file_system),
            mount_point: SafeText::from_path(&mount.path),
            is_reachable: is_reachable(mounts, mount),
        }
    }

    fn remedy(self) -> Remedy {
        let mount_point = self.mount_point;
        match self.is_reachable {
            true => Remedy::LazyUnmount { mount_point },
            false => Remedy::UnmountUpperFirst { mount_point },
        }
    }
}

/// The served file system that the process uses. A process that hangs in open(2) has no file there
/// yet: then the only connection with waiting requests is meant.
fn mount_of(analysis: &Analysis<'_>, waiter: &Waiter) -> Option<ServedMount> {
    let Some((_, facts)) = &analysis.window.facts else {
        return recorded_mount(analysis);
    };
    let served = |kind: &str| SERVED.iter().any(|known| kind.starts_with(known));
    let mut blocked = analysis.window.blocked.iter();
    let details = blocked.find(|it| it.pid == waiter.pid);
    let used = details.and_then(|it| it.mounts.iter().find(|mount| served(&mount.kind)));
    let mut mounts = facts.mounts.iter();
    let mount = match used {
        Some(used) => mounts.find(|mount| mount.id == used.id)?,
        None => {
            let mut waiting = facts.fuse.as_ref()?.iter().filter(|it| it.waiting > 0);
            let (only, None) = (waiting.next()?, waiting.next()) else {
                return None;
            };
            mounts.find(|mount| mount.device_id == (0, only.minor))?
        }
    };
    Some(ServedMount::of_table(&facts.mounts, mount))
}

/// The only file system of a recording with waiting requests. A recording has each one once, without
/// the order of the mounts.
fn recorded_mount(analysis: &Analysis<'_>) -> Option<ServedMount> {
    let mounts = analysis.last().mounts.as_ref()?;
    let is_waiting = |count: Option<u64>| count.is_some_and(|count| count > 0);
    let mut waiting = mounts.iter().filter(|it| is_waiting(it.waiting));
    let (only, None) = (waiting.next()?, waiting.next()) else {
        return None;
    };
    let mut same_place = mounts
        .iter()
        .filter(|it| it.mount_point == only.mount_point);
    Some(ServedMount {
        kind: only.file_system.clone(),
        mount_point: only.mount_point.clone(),
        is_reachable: same_place.nth(1).is_none(),
    })
}
