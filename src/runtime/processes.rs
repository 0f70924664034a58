//! What the interface asks of processes: their files, another I/O class, a signal.

use std::fs;

use rustix::process::{self, Pid, PidfdFlags};

use crate::app::live::{Class, Deed, Signal, Victim};
use crate::drive::ioctl::{IoClass, set_io_priority};
use crate::drive::settings::{Guard, Setting, Settings};
use crate::drive::{file_systems, identity};
use crate::model::files::{self, DeletedView, FileView};
use crate::privilege;
use crate::probe::{open_files, process::stat};
use crate::roots::Roots;

/// What a process has open, or why that cannot be told.
///
/// # Errors
/// When it is gone, or another user's.
pub fn files(roots: &Roots, pid: u32) -> Result<Vec<FileView>, String> {
    open_files::of_process(roots, pid)
        .map(|opened| files::opened(&opened))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("process {pid} has ended"),
            _ => format!(
                "cannot list the files of process {pid}: {error}; {}",
                privilege::as_root_or(
                    ", or as its owner",
                    "a container or a security module forbids it",
                )
            ),
        })
}

/// Deleted files that hold space.
#[must_use]
pub fn deleted(roots: &Roots) -> Vec<DeletedView> {
    let (drives, systems) = (identity::list(roots), file_systems::list(roots));
    files::deleted(&open_files::deleted(roots), &drives, &systems)
}

/// Switches delay accounting on until the guard goes.
///
/// # Errors
/// A sentence: without root, or before kernel 5.14, where there is no such switch.
pub fn count_waiting(settings: &Settings) -> Result<Guard, String> {
    settings
        .guard(Setting::DelayAccounting)
        .and_then(|mut guard| guard.set("1").map(|()| guard))
        .map_err(|error| format!("{error}; {}", error.advice()))
}

/// Does something to a process, and says what was done.
///
/// # Errors
/// A sentence: the process has ended, or is another user's.
pub fn act(roots: &Roots, victim: Victim, deed: Deed) -> Result<String, String> {
    match deed {
        Deed::Class(class) => prioritise(roots, victim, class),
        Deed::Signal(signal) => send(roots, victim, signal),
    }
}

/// Whether the process id still belongs to the process that was seen.
fn is_same(roots: &Roots, victim: Victim) -> bool {
    let path = roots.proc.join(format!("{}/stat", victim.pid));
    let text = fs::read(path).unwrap_or_default();
    stat(&text).is_some_and(|stat| stat.start_ticks == victim.start_ticks)
}

fn send(roots: &Roots, victim: Victim, signal: Signal) -> Result<String, String> {
    let (number, name) = match signal {
        Signal::Terminate => (process::Signal::TERM, "TERM"),
        Signal::Interrupt => (process::Signal::INT, "INT"),
        Signal::Stop => (process::Signal::STOP, "STOP"),
        Signal::Continue => (process::Signal::CONT, "CONT"),
        Signal::Kill => (process::Signal::KILL, "KILL"),
    };
    let pid = victim.pid;
    let failed = |error| format!("cannot send {name} to process {pid}: {error}");
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let raw = raw.ok_or_else(|| failed(rustix::io::Errno::SRCH))?;
    // The descriptor stays with the process: what is checked is what is sent to.
    let handle = process::pidfd_open(raw, PidfdFlags::empty()).map_err(failed)?;
    if !is_same(roots, victim) {
        return Err(format!("process {pid} has ended: nothing was sent"));
    }
    process::pidfd_send_signal(handle, number).map_err(failed)?;
    Ok(format!("{name} sent to process {pid}"))
}

/// Every thread has a class of its own: all of them are given it.
fn prioritise(roots: &Roots, victim: Victim, class: Class) -> Result<String, String> {
    let pid = victim.pid;
    if !is_same(roots, victim) {
        return Err(format!("process {pid} has ended: nothing was changed"));
    }
    let (class, level, name) = match class {
        Class::Idle => (IoClass::Idle, 0, "idle".to_owned()),
        Class::BestEffort(level) => (IoClass::BestEffort, level, format!("best effort {level}")),
        Class::Realtime => (IoClass::Realtime, 4, "realtime 4".to_owned()),
    };
    let failed = |error| format!("cannot change the I/O class of process {pid}: {error}");
    let tasks = fs::read_dir(roots.proc.join(format!("{pid}/task"))).map_err(failed)?;
    let mut changed = 0_u32;
    for task in tasks.flatten() {
        let tid = task.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(tid) = tid {
            match set_io_priority(tid, class, level) {
                Ok(()) => changed += 1,
                // A thread that ended meanwhile is no trouble.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(format!(
        "process {pid} has I/O class {name} now ({changed} threads)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn victim(pid: u32) -> Victim {
        let text = fs::read(format!("/proc/{pid}/stat")).unwrap();
        Victim {
            pid,
            start_ticks: stat(&text).unwrap().start_ticks,
        }
    }

    #[test]
    fn a_class_is_changed_and_a_signal_is_sent() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (roots, own) = (Roots::default(), victim(child.id()));
        let done = act(&roots, own, Deed::Class(Class::Idle)).unwrap();
        assert!(done.contains("idle"), "{done}");
        let class = crate::drive::ioctl::io_priority(own.pid).unwrap().0;
        let other = Victim {
            start_ticks: own.start_ticks + 1,
            ..own
        };
        let refused = act(&roots, other, Deed::Signal(Signal::Kill));
        let spared = child.try_wait().unwrap().is_none();
        let sent = act(&roots, own, Deed::Signal(Signal::Terminate));
        child.wait().unwrap();
        assert_eq!(class, IoClass::Idle);
        assert!(refused.is_err() && spared, "another process of that number");
        assert!(sent.is_ok());
        assert!(act(&roots, own, Deed::Class(Class::Idle)).is_err());
    }
}
