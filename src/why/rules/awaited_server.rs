//! Which file system it is whose server tasks wait for, and which process the server is.
//!
//! It is named if that is certain: that a task has files open on one, or that it is the only one of its
//! kind, does not tell that the task waits for it.

use super::prelude::*;
use crate::drive::mounts::MountEntry;
use crate::probe::waits::servers::FuseServer;

/// Places that are named at most.
const MAX_PLACES: usize = 4;

/// The server that tasks wait for.
pub(super) struct AwaitedServer {
    /// In words.
    pub text: String,
    /// `: possibly /a (nfs4) or /b (nfs4)`, where it is not certain which one it is.
    pub candidates: String,
    /// What helps.
    pub remedies: Vec<Remedy>,
}

impl AwaitedServer {
    /// The server that all these tasks wait for, and what helps.
    pub(super) fn search(analysis: &Analysis<'_>, waiters: &[&Waiter]) -> Self {
        let mut found: Vec<&MountEntry> = Vec::new();
        let mut are_certain = true;
        for waiter in waiters {
            let (mounts, is_certain) = candidates(analysis, waiter);
            are_certain &= is_certain;
            for mount in mounts {
                if found.iter().all(|it| it.device_id != mount.device_id) {
                    found.push(mount);
                }
            }
        }
        Self::of(analysis, &found, are_certain && found.len() == 1)
    }

    /// That of one of these file systems; without certainty it may also be one that is not mounted any more or
    /// is mounted in another namespace. To continue a stopped server harms nobody. An unmount is no command:
    /// another file system may be mounted there when it is pasted.
    pub(super) fn of(analysis: &Analysis<'_>, mounts: &[&MountEntry], is_certain: bool) -> Self {
        let mut places = Vec::new();
        let mut remedies = Vec::new();
        for mount in mounts.iter().take(MAX_PLACES) {
            let (text, continued) = server_text(analysis, mount);
            places.push(text);
            remedies.extend(continued);
        }
        let places = places.join(" or ");
        let (text, candidates, place) = if is_certain {
            let place = mounts.first().map(|it| SafeText::from_path(&it.path));
            let place = place.unwrap_or_default().into();
            (format!("the server of {places}"), String::new(), place)
        } else {
            let candidates = match &places[..] {
                "" => String::new(),
                places => format!(": possibly {places}"),
            };
            let text = "the server of a FUSE or network file system".to_owned();
            (text, candidates, "its file system".to_owned())
        };
        remedies.push(Remedy::advice(format!(
            "after a look at the server that does not answer, umount -f -l of {place} ends the waiting, and open files there are lost"
        )));
        Self {
            text,
            candidates,
            remedies,
        }
    }
}

/// A file system with the process that serves it, and what helps if that is stopped.
fn server_text(analysis: &Analysis<'_>, mount: &MountEntry) -> (String, Option<Remedy>) {
    let place = SafeText::from_path(&mount.path);
    let text = format!("{place} ({})", SafeText::from(&mount.file_system));
    let Some(server) = server_process(analysis, mount) else {
        return (text, None);
    };
    let (pid, start_ticks) = (server.pid, server.start_ticks);
    let text = format!("{text}, {} (pid {pid})", SafeText::from_bytes(&server.name));
    if !server.is_stopped {
        return (text, None);
    }
    let continued = continue_process(ProcessInstance { pid, start_ticks });
    (text + ", which is stopped (state T)", Some(continued))
}

/// The process that serves a FUSE file system: by the number of its connection where the kernel tells, or
/// else the one that has the mount point among its arguments.
fn server_process<'a>(analysis: &'a Analysis<'_>, mount: &MountEntry) -> Option<&'a FuseServer> {
    if client_of_file_system(&mount.file_system) != Some(FUSE) {
        return None;
    }
    let mut servers = analysis.window.looks.fuse_servers.iter();
    let number = Some(u64::from(mount.device_id.1));
    let by_number = servers.clone().find(|it| it.connection == number);
    let point = mount.mount_point.as_bytes();
    let names_it = |it: &&FuseServer| it.arguments.split(|byte| *byte == 0).any(|it| it == point);
    by_number.or_else(|| servers.find(names_it))
}

/// The file systems that a task may wait for, and whether it waits for one of them and for no other.
fn candidates<'a>(analysis: &Analysis<'a>, waiter: &Waiter) -> (Vec<&'a MountEntry>, bool) {
    let known = analysis.facts().zip(analysis.server_client(waiter));
    let Some((facts, client)) = known else {
        return (Vec::new(), false);
    };
    let of_client = |mount: &&MountEntry| client_of_file_system(&mount.file_system) == Some(client);
    let mounts = facts.mounts.iter().filter(of_client);
    let used = analysis.details(waiter).and_then(|it| it.used_mount_id);
    if let Some(mount) = mounts.clone().find(|mount| Some(mount.id) == used) {
        return (vec![mount], true);
    }
    // Without a mounted fusectl none is listed.
    let connections = facts.fuse.as_ref().filter(|listed| !listed.is_empty());
    let Some(connections) = connections.filter(|_| client == FUSE) else {
        // What is not mounted any more, or in another namespace, is not in the table.
        return (mounts.collect(), false);
    };
    let waiting = connections.iter().filter(|it| it.waiting != Some(0));
    let waiting: Vec<_> = waiting.collect();
    let mount_of = |device_id| mounts.clone().find(|mount| mount.device_id == device_id);
    let found = waiting.iter().filter_map(|it| mount_of(it.device_id));
    let found: Vec<_> = found.collect();
    let is_only = matches!(waiting[..], [only] if only.waiting.is_some());
    let is_certain = is_only && found.len() == 1;
    (found, is_certain)
}
