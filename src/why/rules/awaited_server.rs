//! Which file system it is whose server tasks wait for.
//!
//! A command against the waiting ends all requests of a file system. Therefore it is named with one only
//! if that is certain: that a task has files open on it, or that it is the only one of its kind, does not
//! tell that the task waits for it.

use std::fmt;

use crate::drive::mounts::MountEntry;
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::mountinfo;
use crate::probe::facts::FactsSample;
use crate::probe::file_systems::{is_reachable, submounts};
use crate::probe::process::blocked_task::ThreadSleep;
use crate::snapshot::view::MountView;
use crate::why::analysis::{Analysis, Waiter};
use crate::why::cause::{Remedy, RemedyReach};
use crate::why::file_server::FileServerClient;
use crate::why::remedies::exact_path;

/// The type of file systems whose requests an unmount by force does not end (`no_force_umount` in
/// fs/fuse/virtio_fs.c).
const NOT_ENDED_BY_FORCE: &str = "virtiofs";

/// Mounts that a sentence names at most, and file systems where it is not known which one is meant.
const MAX_SUBMOUNTS: usize = 4;
const MAX_ALTERNATIVES: usize = 3;
/// What an unmount by force does.
const ENDS_WAITING: &str = "ends the waiting, and open files there are lost";

/// A mounted file system that has a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedMount {
    /// Its type.
    pub kind: SafeText,
    /// Where it is mounted.
    pub mount_point: SafeText,
}

impl fmt::Display for ServedMount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.mount_point, self.kind)
    }
}

/// The server that tasks wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AwaitedServer {
    /// That of this file system.
    Of(ServedMount),
    /// That of one of these, or of one that is not known, such as a file system that is not mounted any
    /// more or is mounted in another namespace.
    Among(Vec<ServedMount>),
}

/// `: possibly /a, /b or one of 3 others`.
pub(super) fn alternatives(mounts: &[ServedMount]) -> String {
    let mut names: Vec<String> = mounts.iter().map(ToString::to_string).collect();
    if names.len() > MAX_ALTERNATIVES + 1 {
        let others = names.split_off(MAX_ALTERNATIVES).len();
        names.push(format!("one of {others} others"));
    }
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => format!(": possibly {last}"),
        Some((last, first)) => format!(": possibly {} or {last}", first.join(", ")),
    }
}

/// The server that all these tasks wait for, and what helps.
pub(super) fn search(analysis: &Analysis<'_>, waiters: &[&Waiter]) -> (AwaitedServer, Remedy) {
    let among = |mounts| (AwaitedServer::Among(mounts), unmount_unanswering());
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
    if !is_reachable(mounts, mount) {
        return Remedy::advice(format!(
            "after a look at the server: another file system is mounted over {mount_point}, as findmnt shows. Without that one, umount -f -l {ENDS_WAITING}"
        ));
    }
    let submounts: Vec<SafeText> = submounts(mounts, mount)
        .map(|it| SafeText::from_path(&it.path))
        .collect();
    if !submounts.is_empty() {
        return Remedy::advice(format!(
            "after a look at the server: umount -f -l of {mount_point} {ENDS_WAITING}. It also detaches what is mounted below: {}",
            listed(&submounts)
        ));
    }
    Remedy {
        text: format!("after a look at the server, umount -f -l of {mount_point} {ENDS_WAITING}"),
        command: waiter.and_then(|waiter| unmount_command(mount, &waiter)),
        reach: RemedyReach::Mount,
    }
}

/// At most [`MAX_SUBMOUNTS`] of these places, and how many more there are.
fn listed(places: &[SafeText]) -> String {
    let (shown, rest) = places.split_at(places.len().min(MAX_SUBMOUNTS));
    let shown: Vec<&str> = shown.iter().map(|it| it.as_str()).collect();
    match rest.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Unmounts a file system while a thread waits for its server, as long as its mount point leads to it: the mount
/// table lists it as the last one there, and none on it, neither below it nor over it. The numbers alone do not
/// tell: the kernel gives them to the next mount, but not while a thread waits for the server.
#[must_use]
pub fn unmount_command(mount: &MountEntry, waiter: &ThreadSleep) -> Option<String> {
    let mount_point = SafeText::from_path(&mount.path);
    let path = exact_path(&mount_point)?;
    let MountEntry {
        id,
        parent,
        device_id: (major, minor),
        ..
    } = mount;
    let ThreadSleep {
        pid,
        tid,
        run_times: [on_processor, in_queue, count],
    } = waiter;
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
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '.' | '*' | '[' | '^' | '$') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
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
