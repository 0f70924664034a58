//! Which file system it is whose server tasks wait for.
//!
//! A command against the waiting ends all requests of a file system. Therefore it is named with one only
//! if that is certain: that a task has files open on it, or that it is the only one of its kind, does not
//! tell that the task waits for it.

use crate::diagnosis::analysis::{Analysis, Waiter};
use crate::diagnosis::file_server::{AwaitedServer, FileServerClient, ServedMount};
use crate::diagnosis::remedy::{AwaitedMount, Remedy};
use crate::drive::mounts::MountEntry;
use crate::files::safe_text::SafeText;
use crate::probe::facts::FactsSample;
use crate::probe::file_systems::{is_reachable, submounts};
use crate::probe::process::blocked_task::ThreadSleep;
use crate::snapshot::view::MountView;

/// The type of file systems whose requests an unmount by force does not end (`no_force_umount` in
/// fs/fuse/virtio_fs.c).
const NOT_ENDED_BY_FORCE: &str = "virtiofs";

/// The server that all these tasks wait for, and what helps.
pub(super) fn search(analysis: &Analysis<'_>, waiters: &[&Waiter]) -> (AwaitedServer, Remedy) {
    let among = |mounts| (AwaitedServer::Among(mounts), Remedy::UnmountUnanswering);
    let Some((_, facts)) = &analysis.window.facts else {
        return among(recorded_candidates(analysis, waiters));
    };
    let mut found: Vec<&MountEntry> = Vec::new();
    let mut are_certain = true;
    for waiter in waiters {
        let candidates = candidates(analysis, facts, waiter);
        are_certain &= candidates.are_certain;
        for mount in candidates.mounts {
            if found.iter().all(|it| it.device_id != mount.device_id) {
                found.push(mount);
            }
        }
    }
    match found.as_slice() {
        [only] if are_certain => (
            AwaitedServer::Of(served_mount(only)),
            unmount(&facts.mounts, only, sleep_of_any(analysis, waiters)),
        ),
        _ => among(found.into_iter().map(served_mount).collect()),
    }
}

fn served_mount(mount: &MountEntry) -> ServedMount {
    ServedMount {
        kind: SafeText::from(&mount.file_system),
        mount_point: SafeText::from_path(&mount.path),
    }
}

/// The sleep of the first of these tasks for which it is known.
fn sleep_of_any(analysis: &Analysis<'_>, waiters: &[&Waiter]) -> Option<ThreadSleep> {
    let mut details = waiters.iter().filter_map(|it| analysis.details(it));
    details.find_map(|it| it.sleep)
}

/// The unmount of a file system that is known to be the one; `waiter` waits for its server.
fn unmount(mounts: &[MountEntry], mount: &MountEntry, waiter: Option<ThreadSleep>) -> Remedy {
    let mount_point = SafeText::from_path(&mount.path);
    if mount.path.parent().is_none() || mount.file_system == NOT_ENDED_BY_FORCE {
        return Remedy::UnmountUnanswering;
    }
    if !is_reachable(mounts, mount) {
        return Remedy::UnmountUpperFirst { mount_point };
    }
    let submounts: Vec<SafeText> = submounts(mounts, mount)
        .map(|it| SafeText::from_path(&it.path))
        .collect();
    if !submounts.is_empty() {
        return Remedy::UnmountWithSubmounts {
            mount_point,
            submounts,
        };
    }
    let awaited = |waiter| AwaitedMount {
        id: mount.id,
        parent: mount.parent,
        device_id: mount.device_id,
        waiter,
    };
    Remedy::LazyUnmount {
        mount_point,
        mount: waiter.map(awaited),
    }
}

/// The file systems that a task may wait for.
#[derive(Default)]
struct Candidates<'a> {
    mounts: Vec<&'a MountEntry>,
    /// Whether it waits for one of them and for no other.
    are_certain: bool,
}

fn candidates<'a>(
    analysis: &Analysis<'_>,
    facts: &'a FactsSample,
    waiter: &Waiter,
) -> Candidates<'a> {
    let Some(client) = analysis.server_client(waiter) else {
        return Candidates::default();
    };
    let used = analysis.details(waiter).and_then(|it| it.used_mount_id);
    let is_used = |mount: &&MountEntry| Some(mount.id) == used;
    let of_client =
        |mount: &&MountEntry| FileServerClient::of_file_system(&mount.file_system) == Some(client);
    if let Some(mount) = facts.mounts.iter().find(is_used).filter(of_client) {
        return Candidates {
            mounts: vec![mount],
            are_certain: is_stalled_sleep(waiter),
        };
    }
    // Without a mounted fusectl none is listed.
    let connections = facts.fuse.as_ref().filter(|listed| !listed.is_empty());
    match connections.filter(|_| client == FileServerClient::Fuse) {
        Some(connections) => {
            let may_wait = connections.iter().filter(|it| it.waiting != Some(0));
            let waiting: Vec<_> = may_wait.collect();
            let is_only = matches!(waiting[..], [only] if only.waiting.is_some());
            let mounts = waiting
                .iter()
                .filter_map(|it| mount_of_device(&facts.mounts, it.device_id));
            let mounts: Vec<_> = mounts.collect();
            Candidates {
                are_certain: is_only && mounts.len() == 1 && is_waiting_at(analysis, waiter, facts),
                mounts,
            }
        }
        // What is not mounted any more, or in another namespace, is not in the table.
        None => Candidates {
            mounts: facts.mounts.iter().filter(of_client).collect(),
            are_certain: false,
        },
    }
}

/// Whether the sleep that a task is in is the one that was found too long, not a later one.
fn is_stalled_sleep(waiter: &Waiter) -> bool {
    waiter.is_still_blocked && waiter.asleep == waiter.longest
}

/// Whether that sleep began before the facts were read.
fn is_waiting_at(analysis: &Analysis<'_>, waiter: &Waiter, facts: &FactsSample) -> bool {
    let last = analysis.window.scans.last();
    let began_before = last.is_some_and(|last| facts.at + waiter.asleep >= last.at);
    is_stalled_sleep(waiter) && began_before
}

/// The mount of a FUSE file system, one whose mount point leads to it if there is any.
fn mount_of_device(mounts: &[MountEntry], device_id: (u32, u32)) -> Option<&MountEntry> {
    let is_it = |mount: &&MountEntry| {
        mount.device_id == device_id
            && FileServerClient::of_file_system(&mount.file_system) == Some(FileServerClient::Fuse)
    };
    let mut all = mounts.iter().filter(is_it);
    let first = all.clone().next();
    all.find(|mount| is_reachable(mounts, mount)).or(first)
}

/// The file systems of a recording that the tasks may wait for.
fn recorded_candidates(analysis: &Analysis<'_>, waiters: &[&Waiter]) -> Vec<ServedMount> {
    let clients = waiters.iter().map(|it| analysis.server_client(it));
    let clients: Vec<FileServerClient> = clients.flatten().collect();
    let may_wait = |mount: &&MountView| {
        FileServerClient::of_file_system(&mount.file_system).is_some_and(|it| {
            clients.contains(&it) && (it != FileServerClient::Fuse || mount.waiting != Some(0))
        })
    };
    let mounts = analysis.last().mounts.iter().flatten();
    let served = mounts.filter(may_wait).map(|mount| ServedMount {
        kind: mount.file_system.clone(),
        mount_point: mount.mount_point.clone(),
    });
    served.collect()
}
