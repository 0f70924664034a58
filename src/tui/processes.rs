//! Actions on processes: listing files, setting an I/O class, sending a signal.

use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::app::error::{OpenFilesError, ProcessActionError};
use crate::app::{
    IoClassChoice, ProcessAction, ProcessActionOutcome, ProcessId, REALTIME_LEVEL, SignalChoice,
};
use crate::drive::identity;
use crate::drive::settings::{SettingError, SettingLock, SettingsManager, SystemSetting};
use crate::probe::file_systems;
use crate::probe::process::io_priority::{IoClass, set_io_priority};
use crate::probe::process::numbers::ProcessNumbers;
use crate::probe::process::open_files;
use crate::probe::process::stat::parse_stat;
use crate::roots::SysPaths;
use crate::snapshot::files;
use crate::snapshot::files::{DeletedView, FileView};

/// The open files of a process.
///
/// # Errors
///
/// When it has ended, or belongs to another user.
pub fn list_open_files(roots: &SysPaths, pid: u32) -> Result<Vec<FileView>, OpenFilesError> {
    open_files::files_of_process(roots, pid)
        .map(|opened| files::open_file_views(&opened))
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => OpenFilesError::Ended { pid },
            _ => OpenFilesError::Refused { pid, source },
        })
}

/// Deleted files that still occupy space.
#[must_use]
pub fn list_deleted_files(roots: &SysPaths) -> Vec<DeletedView> {
    let (drives, mounted) = (
        identity::list_block_devices(roots),
        file_systems::list_file_systems(roots),
    );
    files::deleted_file_views(&open_files::deleted_files(roots), &drives, &mounted)
}

/// Switches delay accounting on until the lock is dropped.
///
/// # Errors
///
/// Without root, or before kernel 5.14, which has no such setting.
pub fn enable_delay_accounting(settings: &SettingsManager) -> Result<SettingLock, SettingError> {
    let mut lock = settings.lock_setting(SystemSetting::DelayAccounting)?;
    lock.set(1)?;
    Ok(lock)
}

/// Applies an action to a process.
///
/// # Errors
///
/// When the process has ended, or belongs to another user, and where its number is another process's in a
/// system call.
pub fn apply_action(
    roots: &SysPaths,
    process: ProcessId,
    action: ProcessAction,
) -> Result<ProcessActionOutcome, ProcessActionError> {
    if ProcessNumbers::of_procfs(roots) == ProcessNumbers::Other {
        let pid = process.pid;
        return Err(ProcessActionError::OtherNumbers { pid, action });
    }
    match action {
        ProcessAction::SetIoClass(class) => set_io_class(roots, process, class),
        ProcessAction::SendSignal(signal) => send_signal(roots, process, signal),
    }
}

/// Fails when the process id does not belong to the same process any more.
fn check_same_process(
    roots: &SysPaths,
    process: ProcessId,
    action: ProcessAction,
) -> Result<(), ProcessActionError> {
    let path = roots.proc.join(format!("{}/stat", process.pid));
    let text = fs::read(path).unwrap_or_default();
    let is_same = parse_stat(&text).is_some_and(|stat| stat.start_ticks == process.start_ticks);
    let pid = process.pid;
    is_same
        .then_some(())
        .ok_or(ProcessActionError::Ended { pid, action })
}

fn send_signal(
    roots: &SysPaths,
    process: ProcessId,
    signal: SignalChoice,
) -> Result<ProcessActionOutcome, ProcessActionError> {
    let number = match signal {
        SignalChoice::Terminate => Signal::TERM,
        SignalChoice::Interrupt => Signal::INT,
        SignalChoice::Stop => Signal::STOP,
        SignalChoice::Continue => Signal::CONT,
        SignalChoice::Kill => Signal::KILL,
    };
    let pid = process.pid;
    let failed = |error: Errno| ProcessActionError::Signal {
        pid,
        signal,
        source: error.into(),
    };
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let raw = raw.ok_or_else(|| failed(Errno::SRCH))?;
    // The descriptor refers to the process itself, so the signal goes to the process that was
    // checked.
    let descriptor = pidfd_open(raw, PidfdFlags::empty()).map_err(failed)?;
    check_same_process(roots, process, ProcessAction::SendSignal(signal))?;
    pidfd_send_signal(descriptor, number).map_err(failed)?;
    Ok(ProcessActionOutcome::SignalSent { pid, signal })
}

/// Each thread has its own class, so the class is set for all of them.
fn set_io_class(
    roots: &SysPaths,
    process: ProcessId,
    class: IoClassChoice,
) -> Result<ProcessActionOutcome, ProcessActionError> {
    let pid = process.pid;
    check_same_process(roots, process, ProcessAction::SetIoClass(class))?;
    let (kernel_class, level) = match class {
        IoClassChoice::Idle => (IoClass::Idle, 0),
        IoClassChoice::BestEffort(level) => (IoClass::BestEffort, level),
        IoClassChoice::Realtime => (IoClass::Realtime, REALTIME_LEVEL),
    };
    let failed = |source| ProcessActionError::IoClass { pid, class, source };
    let tasks = fs::read_dir(roots.proc.join(format!("{pid}/task"))).map_err(failed)?;
    let mut thread_count = 0;
    for task in tasks.flatten() {
        let tid = task.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(tid) = tid else { continue };
        match set_io_priority(tid, kernel_class, level) {
            Ok(()) => thread_count += 1,
            // A thread that has ended in the meantime is no error.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(ProcessActionOutcome::IoClassSet {
        pid,
        class,
        thread_count,
    })
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
    fn process_of_a_procfs_of_another_namespace_gets_no_signal_and_no_io_class() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = process_id(child.id());
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/self/status", "Tgid:\t7\nNStgid:\t7\t1\n"),
            (&format!("proc/{}/stat", child.id()), &stat),
        ]);
        let actions = ProcessAction::SIGNAL_CHOICES.into_iter();
        let actions = actions.chain(ProcessAction::IO_CLASS_CHOICES);
        let refused = actions.map(|action| apply_action(&roots, process, action).unwrap_err());
        let refused: Vec<_> = refused.collect();
        let lives = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(lives);
        for error in refused {
            assert!(
                matches!(error, ProcessActionError::OtherNumbers { .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn process_actions_set_io_class_and_send_signal() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (roots, own) = (SysPaths::default(), process_id(child.id()));
        let done =
            apply_action(&roots, own, ProcessAction::SetIoClass(IoClassChoice::Idle)).unwrap();
        assert!(
            matches!(
                done,
                ProcessActionOutcome::IoClassSet {
                    thread_count: 1,
                    ..
                }
            ),
            "{done}"
        );
        let class = crate::probe::process::io_priority::io_priority(own.pid)
            .unwrap()
            .class;
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
        assert!(
            matches!(refused, Err(ProcessActionError::Ended { .. })) && spared,
            "another process with this id"
        );
        assert!(sent.is_ok());
        assert!(apply_action(&roots, own, ProcessAction::SetIoClass(IoClassChoice::Idle)).is_err());
    }
}
