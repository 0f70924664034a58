//! Actions on processes: listing files, setting an I/O class, sending a signal.

use std::fs;

use rustix::process::{self, Pid, PidfdFlags};

use crate::app::{IoClassChoice, ProcessAction, ProcessId, SignalChoice};
use crate::drive::ioctl::{IoClass, set_io_priority};
use crate::drive::settings::{SettingLock, SettingsManager, SystemSetting};
use crate::drive::{file_systems, identity};
use crate::model::files;
use crate::model::files::{DeletedView, FileView};
use crate::privilege;
use crate::probe::process::open_files;
use crate::probe::process::stat::parse_stat;
use crate::roots::SysPaths;

/// The open files of a process, or why they cannot be listed.
///
/// # Errors
///
/// When it has ended, or belongs to another user.
pub fn list_open_files(roots: &SysPaths, pid: u32) -> Result<Vec<FileView>, String> {
    open_files::files_of_process(roots, pid)
        .map(|opened| files::open_file_views(&opened))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("process {pid} has ended"),
            _ => format!(
                "cannot list the files of process {pid}: {error}; {}",
                privilege::root_advice(
                    ", or as its owner",
                    "a container or a security module forbids it",
                )
            ),
        })
}

/// Deleted files that still occupy space.
#[must_use]
pub fn list_deleted_files(roots: &SysPaths) -> Vec<DeletedView> {
    let (drives, systems) = (
        identity::list_block_devices(roots),
        file_systems::list_file_systems(roots),
    );
    files::deleted_file_views(&open_files::deleted_files(roots), &drives, &systems)
}

/// Switches delay accounting on until the guard is dropped.
///
/// # Errors
///
/// A sentence: without root, or before kernel 5.14, where there is no such switch.
pub fn enable_delay_accounting(settings: &SettingsManager) -> Result<SettingLock, String> {
    settings
        .lock_setting(SystemSetting::DelayAccounting)
        .and_then(|mut guard| guard.set("1").map(|()| guard))
        .map_err(|error| format!("{error}; {}", error.advice()))
}

/// Applies an action to a process, and returns a description of it.
///
/// # Errors
///
/// A sentence: the process has ended, or belongs to another user.
pub fn apply_action(
    roots: &SysPaths,
    victim: ProcessId,
    deed: ProcessAction,
) -> Result<String, String> {
    match deed {
        ProcessAction::SetIoClass(class) => set_io_class(roots, victim, class),
        ProcessAction::SendSignal(signal) => send_signal(roots, victim, signal),
    }
}

/// Whether the process id still belongs to the same process.
fn is_same_process(roots: &SysPaths, victim: ProcessId) -> bool {
    let path = roots.proc.join(format!("{}/stat", victim.pid));
    let text = fs::read(path).unwrap_or_default();
    parse_stat(&text).is_some_and(|stat| stat.start_ticks == victim.start_ticks)
}

fn send_signal(
    roots: &SysPaths,
    victim: ProcessId,
    signal: SignalChoice,
) -> Result<String, String> {
    let (number, name) = match signal {
        SignalChoice::Terminate => (process::Signal::TERM, "TERM"),
        SignalChoice::Interrupt => (process::Signal::INT, "INT"),
        SignalChoice::Stop => (process::Signal::STOP, "STOP"),
        SignalChoice::Continue => (process::Signal::CONT, "CONT"),
        SignalChoice::Kill => (process::Signal::KILL, "KILL"),
    };
    let pid = victim.pid;
    let failed = |error| format!("cannot send {name} to process {pid}: {error}");
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let raw = raw.ok_or_else(|| failed(rustix::io::Errno::SRCH))?;
    // The descriptor refers to the process itself, so the signal goes to the process that was
    // checked.
    let handle = process::pidfd_open(raw, PidfdFlags::empty()).map_err(failed)?;
    if !is_same_process(roots, victim) {
        return Err(format!("process {pid} has ended: nothing was sent"));
    }
    process::pidfd_send_signal(handle, number).map_err(failed)?;
    Ok(format!("{name} sent to process {pid}"))
}

/// Each thread has its own class, so the class is set for all of them.
fn set_io_class(
    roots: &SysPaths,
    victim: ProcessId,
    class: IoClassChoice,
) -> Result<String, String> {
    let pid = victim.pid;
    if !is_same_process(roots, victim) {
        return Err(format!("process {pid} has ended: nothing was changed"));
    }
    let (class, level, name) = match class {
        IoClassChoice::Idle => (IoClass::Idle, 0, "idle".to_owned()),
        IoClassChoice::BestEffort(level) => {
            (IoClass::BestEffort, level, format!("best effort {level}"))
        }
        IoClassChoice::Realtime => (IoClass::Realtime, 4, "realtime 4".to_owned()),
    };
    let failed = |error| format!("cannot change the I/O class of process {pid}: {error}");
    let tasks = fs::read_dir(roots.proc.join(format!("{pid}/task"))).map_err(failed)?;
    let mut changed = 0_u32;
    for task in tasks.flatten() {
        let tid = task.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(tid) = tid {
            match set_io_priority(tid, class, level) {
                Ok(()) => changed += 1,
                // A thread that has ended in the meantime is no error.
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

    fn process_id(pid: u32) -> ProcessId {
        let text = fs::read(format!("/proc/{pid}/stat")).unwrap();
        ProcessId {
            pid,
            start_ticks: parse_stat(&text).unwrap().start_ticks,
        }
    }

    #[test]
    fn process_actions_set_io_class_and_send_signal() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (roots, own) = (SysPaths::default(), process_id(child.id()));
        let done =
            apply_action(&roots, own, ProcessAction::SetIoClass(IoClassChoice::Idle)).unwrap();
        assert!(done.contains("idle"), "{done}");
        let class = crate::drive::ioctl::io_priority(own.pid).unwrap().0;
        let other = ProcessId {
            start_ticks: own.start_ticks + 1,
            ..own
        };
        let refused = apply_action(&roots, other, ProcessAction::SendSignal(SignalChoice::Kill));
        let spared = child.try_wait().unwrap().is_none();
        let sent = apply_action(
            &roots,
            own,
            ProcessAction::SendSignal(SignalChoice::Terminate),
        );
        child.wait().unwrap();
        assert_eq!(class, IoClass::Idle);
        assert!(refused.is_err() && spared, "another process of that number");
        assert!(sent.is_ok());
        assert!(apply_action(&roots, own, ProcessAction::SetIoClass(IoClassChoice::Idle)).is_err());
    }
}
