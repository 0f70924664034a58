//! Which file system it is whose server tasks wait for, and which process the server is.
//!
//! A command against the waiting ends all requests of a file system. Therefore it is named with one only
//! if that is certain: that a task has files open on it, or that it is the only one of its kind, does not
//! tell that the task waits for it.

use super::prelude::*;
use crate::drive::mountinfo;
use crate::drive::mounts::MountEntry;
use crate::probe::facts::FactsSample;
use crate::probe::file_systems::{is_reachable, submounts};
use crate::probe::process::blocked_task::ThreadSleep;
use crate::probe::waits::servers::FuseServer;
use crate::why::analysis::ProcessInstance;

/// The type of file systems whose requests an unmount by force does not end (`no_force_umount` in
/// fs/fuse/virtio_fs.c).
const NOT_ENDED_BY_FORCE: &str = "virtiofs";
/// Places that are named at most.
const MAX_PLACES: usize = 4;
/// What an unmount by force does.
const ENDS_WAITING: &str = "ends the waiting, and open files there are lost";

/// The server that tasks wait for.
pub(super) struct AwaitedServer {
    /// In words.
    pub text: String,
    /// `: possibly /a (nfs4) or /b (nfs4)`, where it is not.
    pub candidates: String,
    /// What helps.
    pub remedies: Vec<Remedy>,
}

impl AwaitedServer {
    /// That of a file system that is known to be the one; `sleep` is that of a task that waits for it.
    pub(super) fn of(
        analysis: &Analysis<'_>,
        facts: &FactsSample,
        mount: &MountEntry,
        sleep: Option<ThreadSleep>,
    ) -> Self {
        let (text, continued) = server_text(analysis, facts, mount);
        let unmount = unmount(&facts.mounts, mount, sleep);
        Self {
            text: format!("the server of {text}"),
            candidates: String::new(),
            remedies: continued.into_iter().chain([unmount]).collect(),
        }
    }

    /// That of one of these places, or of one that is not known, such as a file system that is not mounted
    /// any more or is mounted in another namespace. To continue a stopped server harms nobody.
    fn among(places: Vec<(String, Option<Remedy>)>) -> Self {
        let (places, continued): (Vec<String>, Vec<_>) =
            places.into_iter().take(MAX_PLACES).unzip();
        let mut candidates = places.join(" or ");
        if !candidates.is_empty() {
            candidates.insert_str(0, ": possibly ");
        }
        let continued = continued.into_iter().flatten();
        Self {
            text: "the server of a FUSE or network file system".to_owned(),
            candidates,
            remedies: continued.chain([unmount_unanswering()]).collect(),
        }
    }
}

/// A file system with the process that serves it, and what helps if that is stopped.
fn server_text(
    analysis: &Analysis<'_>,
    facts: &FactsSample,
    mount: &MountEntry,
) -> (String, Option<Remedy>) {
    let text = place(&SafeText::from_path(&mount.path), &mount.file_system);
    let Some(server) = server_process(analysis, facts, mount) else {
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

fn place(mount_point: &SafeText, kind: &str) -> String {
    format!("{mount_point} ({})", SafeText::from(kind))
}

/// The server that all these tasks wait for, and what helps.
pub(super) fn search(analysis: &Analysis<'_>, waiters: &[&Waiter]) -> AwaitedServer {
    let Some(facts) = analysis.facts() else {
        let recorded = recorded_candidates(analysis, waiters).into_iter();
        return AwaitedServer::among(recorded.map(|place| (place, None)).collect());
    };
    let mut found: Vec<&MountEntry> = Vec::new();
    let mut are_certain = true;
    for waiter in waiters {
        let (mounts, is_certain) = candidates(analysis, facts, waiter);
        are_certain &= is_certain;
        for mount in mounts {
            if found.iter().all(|it| it.device_id != mount.device_id) {
                found.push(mount);
            }
        }
    }
    if let ([only], true) = (&found[..], are_certain) {
        let mut details = waiters.iter().filter_map(|it| analysis.details(it));
        let sleep = details.find_map(|it| it.sleep);
        return AwaitedServer::of(analysis, facts, only, sleep);
    }
    let places = found.into_iter();
    AwaitedServer::among(places.map(|it| server_text(analysis, facts, it)).collect())
}

/// The process that serves a FUSE file system: by the number of its connection where the kernel tells, or
/// else the one that has the mount point among its arguments, or that is the only one.
fn server_process<'a>(
    analysis: &'a Analysis<'_>,
    facts: &FactsSample,
    mount: &MountEntry,
) -> Option<&'a FuseServer> {
    if client_of_file_system(&mount.file_system) != Some(FUSE) {
        return None;
    }
    let servers = &analysis.window.looks.fuse_servers;
    let number = Some(u64::from(mount.device_id.1));
    let by_number = servers.iter().find(|it| it.connection == number);
    let point = mount.mount_point.as_bytes();
    let names_it = |it: &&FuseServer| it.arguments.split(|byte| *byte == 0).any(|it| it == point);
    let is_only_mount = facts.fuse.as_ref().is_some_and(|it| it.len() == 1);
    let only = servers
        .first()
        .filter(|_| is_only_mount && servers.len() == 1);
    by_number.or_else(|| servers.iter().find(names_it)).or(only)
}

/// The unmount of the file system whose server does not answer, where it is not certain which one that
/// is: a command would end the requests of another one.
fn unmount_unanswering() -> Remedy {
    Remedy::advice(format!(
        "find out which server does not answer: umount -f -l of its file system {ENDS_WAITING}"
    ))
}

/// The unmount of a file system that is known to be the one; `waiter` waits for its server.
fn unmount(mounts: &[MountEntry], mount: &MountEntry, waiter: Option<ThreadSleep>) -> Remedy {
    if mount.path.parent().is_none() || mount.file_system == NOT_ENDED_BY_FORCE {
        return unmount_unanswering();
    }
    let mount_point = SafeText::from_path(&mount.path);
    let text = format!("after a look at the server, umount -f -l of {mount_point} {ENDS_WAITING}");
    if !is_reachable(mounts, mount) {
        return Remedy::advice(format!(
            "{text}; another file system is mounted over {mount_point}, as findmnt shows"
        ));
    }
    let below = submounts(mounts, mount).map(|it| SafeText::from_path(&it.path));
    let below: Vec<String> = below.take(MAX_PLACES).map(Into::into).collect();
    if !below.is_empty() {
        return Remedy::advice(format!(
            "{text}. It also detaches what is mounted below: {}",
            below.join(", ")
        ));
    }
    Remedy {
        text,
        command: waiter.and_then(|waiter| unmount_command(mount, &waiter)),
        reach: RemedyReach::Mount,
    }
}

/// Unmounts a file system while a thread waits for its server, as long as its mount point leads to it: the mount
/// table lists it as the last one there, and none on it, neither below it nor over it. The numbers alone do not
/// tell: the kernel gives them to the next mount, but not while a thread waits for the server.
pub fn unmount_command(mount: &MountEntry, waiter: &ThreadSleep) -> Option<String> {
    let mount_point = SafeText::from_path(&mount.path);
    let path = exact_path(&mount_point)?;
    let (id, parent, (major, minor)) = (mount.id, mount.parent, mount.device_id);
    let (pid, tid) = (waiter.pid, waiter.tid);
    let [on_processor, in_queue, count] = waiter.run_times;
    // Behind the first path of a row, the root of the mount within its file system, and before its separator
    // is the mount point only.
    let place = basic_regex(&mountinfo::escape(path));
    Some(format!(
        "cat /proc/{pid}/task/{tid}/schedstat | grep -qx '{on_processor} {in_queue} {count}' && cat /proc/self/mountinfo | grep -a {} | tail -n 1 | grep -q '^{id} {parent} {major}:{minor} ' && ! grep -q '^[0-9]* {id} ' /proc/self/mountinfo && {}",
        shell::quote_word(format!(" /.* {place} .* - "))?,
        shell::command_line(["umount", "-f", "-l", "--", path])?,
    ))
}

/// A basic regular expression, as of grep(1), that matches this text only.
fn basic_regex(text: &str) -> String {
    let special = ['\\', '.', '*', '[', '^', '$'];
    let quoted = text.chars().map(|character| {
        let escape = if special.contains(&character) {
            "\\"
        } else {
            ""
        };
        format!("{escape}{character}")
    });
    quoted.collect()
}

/// The file systems that a task may wait for, and whether it waits for one of them and for no other.
fn candidates<'a>(
    analysis: &Analysis<'_>,
    facts: &'a FactsSample,
    waiter: &Waiter,
) -> (Vec<&'a MountEntry>, bool) {
    let Some(client) = analysis.server_client(waiter) else {
        return (Vec::new(), false);
    };
    // Whether the sleep that it is in is the one that was found too long, not a later one.
    let is_stalled = waiter.asleep == waiter.longest;
    let of_client = |mount: &&MountEntry| client_of_file_system(&mount.file_system) == Some(client);
    let used = analysis.details(waiter).and_then(|it| it.used_mount_id);
    let mut mounts = facts.mounts.iter();
    let used = mounts
        .find(|mount| Some(mount.id) == used)
        .filter(of_client);
    if let Some(mount) = used {
        return (vec![mount], is_stalled);
    }
    // Without a mounted fusectl none is listed.
    let connections = facts.fuse.as_ref().filter(|listed| !listed.is_empty());
    let Some(connections) = connections.filter(|_| client == FUSE) else {
        // What is not mounted any more, or in another namespace, is not in the table.
        return (facts.mounts.iter().filter(of_client).collect(), false);
    };
    let waiting: Vec<_> = connections
        .iter()
        .filter(|it| it.waiting != Some(0))
        .collect();
    let is_only = matches!(waiting[..], [only] if only.waiting.is_some());
    let mounts = waiting
        .iter()
        .filter_map(|it| mount_of_device(&facts.mounts, it.device_id));
    let mounts: Vec<_> = mounts.collect();
    let scanned = analysis.window.scans.last();
    // The sleep began before the facts were read.
    let was_waiting = scanned.is_some_and(|last| facts.at + waiter.asleep >= last.at);
    let is_certain = is_only && mounts.len() == 1 && is_stalled && was_waiting;
    (mounts, is_certain)
}

/// The mount of a FUSE file system, one whose mount point leads to it if there is any.
fn mount_of_device(mounts: &[MountEntry], device_id: (u32, u32)) -> Option<&MountEntry> {
    let is_it = |mount: &&MountEntry| {
        mount.device_id == device_id && client_of_file_system(&mount.file_system) == Some(FUSE)
    };
    let mut all = mounts.iter().filter(is_it);
    let first = all.clone().next();
    all.find(|mount| is_reachable(mounts, mount)).or(first)
}

/// The file systems of a recording that the tasks may wait for.
fn recorded_candidates(analysis: &Analysis<'_>, waiters: &[&Waiter]) -> Vec<String> {
    let clients = waiters.iter().filter_map(|it| analysis.server_client(it));
    let clients: Vec<_> = clients.collect();
    let mounts = analysis.last.mounts.iter().flatten();
    let served = mounts.filter(|mount| {
        let client = client_of_file_system(&mount.file_system);
        let is_idle = client == Some(FUSE) && mount.waiting == Some(0);
        client.is_some_and(|it| clients.contains(&it)) && !is_idle
    });
    served
        .map(|it| place(&it.mount_point, &it.file_system))
        .collect()
}
