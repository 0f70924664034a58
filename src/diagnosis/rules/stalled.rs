//! The server of a FUSE or network file system does not answer.

use std::path::Path;
use std::time::Duration;

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, Waiter};
use crate::diagnosis::blame::parties;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
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
    let (kind, mount_point) = mount_of(analysis, first).unzip();
    let detail = CauseDetail::Stalled {
        kind,
        mount_point: mount_point.clone(),
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
    cause.remedies = mount_point
        .map(|mount_point| match is_covered(analysis, &mount_point) {
            true => Remedy::UnmountUpperFirst { mount_point },
            false => Remedy::LazyUnmount { mount_point },
        })
        .into_iter()
        .collect();
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

/// Whether the path of a mount point may lead to another file system: one more is mounted there, or one
/// was mounted later on a directory above it. The kernel lists mounts in the order in which they were
/// made; a recording has each file system once.
fn is_covered(analysis: &Analysis<'_>, mount_point: &str) -> bool {
    let Some((_, facts)) = &analysis.window.facts else {
        let mounts = analysis.last().mounts.iter().flatten();
        return mounts.filter(|it| it.mount_point == mount_point).count() > 1;
    };
    let places = facts.mounts.iter().map(|it| it.mount_point.as_str());
    let mut later = places.skip_while(|place| *place != mount_point).skip(1);
    later.any(|place| Path::new(mount_point).starts_with(place))
}

/// Type and mount point of the served file system that the process uses. A process that hangs in
/// open(2) has no file there yet: then the only connection with waiting requests is meant.
fn mount_of(analysis: &Analysis<'_>, waiter: &Waiter) -> Option<(SafeText, SafeText)> {
    let served = |kind: &str| SERVED.iter().any(|known| kind.starts_with(known));
    let details = analysis
        .window
        .blocked
        .iter()
        .find(|it| it.pid == waiter.pid);
    let used = details.and_then(|it| it.mounts.iter().find(|mount| served(&mount.kind)));
    if let Some(mount) = used {
        return Some((
            SafeText::from(&mount.kind),
            SafeText::from(&mount.mount_point),
        ));
    }
    let Some((_, facts)) = &analysis.window.facts else {
        let mounts = analysis.last().mounts.as_ref()?;
        let mut waiting = mounts
            .iter()
            .filter(|it| it.waiting.is_some_and(|it| it > 0));
        let (only, None) = (waiting.next()?, waiting.next()) else {
            return None;
        };
        return Some((only.file_system.clone(), only.mount_point.clone()));
    };
    let mut waiting = facts.fuse.as_ref()?.iter().filter(|it| it.waiting > 0);
    let (only, None) = (waiting.next()?, waiting.next()) else {
        return None;
    };
    let mut mounts = facts.mounts.iter();
    let mount = mounts.find(|mount| mount.device_id == (0, only.minor))?;
    Some((
        SafeText::from(&mount.file_system),
        SafeText::from(&mount.mount_point),
    ))
}
