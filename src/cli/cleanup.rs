//! Removes what killed runs left behind, at the start of every command, and reports what a stopped one has
//! changed.

use std::time::Duration;

use rustix::process::Pid;

use super::output::print_status_line;
use crate::drive::settings::{LeftoverSetting, SettingsManager};
use crate::probe::trace::remove_leftovers as trace_leftovers;
use crate::roots::SysPaths;
use crate::supervisor;

/// Maximum time for which a command waits for the clean-up after killed runs. A SATA disk whose write
/// cache is switched back takes more than half of it: of several disks the others follow at the next start.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum time for which a stop from the terminal (Ctrl-Z) is delayed to look at the settings.
const REPORT_TIMEOUT: Duration = Duration::from_millis(300);

/// Removes what killed runs left behind, and reports it. The wait is bounded: a file system that
/// does not respond may be irrelevant to the command.
pub(super) fn clean_up_leftovers() {
    let cleaned = supervisor::run_in_child(CLEAN_UP_TIMEOUT, || {
        let lines = restore_leftovers();
        trace_leftovers(&SysPaths::default());
        lines
    });
    for line in cleaned.lines {
        print_status_line(&line);
    }
    if cleaned.killed_helper.is_some() {
        print_status_line(&format!(
            "diskscope: the clean-up after killed runs was stopped after {} s: /run, /sys, tracefs or \
             a disk does not respond",
            CLEAN_UP_TIMEOUT.as_secs()
        ));
        print_status_line(
            "  settings and traces that a killed run left remain until a start at which they respond",
        );
    }
}

/// Reports the system settings that a process has changed, which was stopped: they stay changed while it is.
pub(super) fn report_changed_settings(stopped: Pid) {
    let changed = supervisor::run_in_child(REPORT_TIMEOUT, || changed_settings(stopped));
    for line in changed.lines {
        print_status_line(&line);
    }
}

fn changed_settings(stopped: Pid) -> Vec<String> {
    let process = stopped.as_raw_nonzero().get().unsigned_abs();
    let changed = SettingsManager::default().settings_changed_by(process);
    let sentences = changed.into_iter().map(|setting| {
        format!(
            "diskscope: stopped: {} stays {} until this command continues (fg) or ends; it was {}",
            setting.path.display(),
            setting.value,
            setting.original
        )
    });
    sentences.collect()
}

/// Restores system settings that a killed run left changed; returns the messages.
fn restore_leftovers() -> Vec<String> {
    let restored = SettingsManager::default().restore_leftovers().into_iter();
    let sentences = restored.flat_map(|restored| match restored {
        Ok(LeftoverSetting::Restored { path, value }) => vec![format!(
            "diskscope: {} is {value} again: a run that was killed had changed it",
            path.display()
        )],
        Ok(LeftoverSetting::Revalidated { setting }) => vec![format!(
            "diskscope: settings of the disk that the kernel resets with {setting} have their old \
             values again: a run was killed before it could write them back"
        )],
        Ok(LeftoverSetting::OtherDevice { setting }) => vec![format!(
            "diskscope: {setting} was left as it is: a run that was killed had changed it, but \
             another device has that name now"
        )],
        Err(error) => vec![
            format!("diskscope: {error}"),
            format!("  {}", error.advice()),
        ],
    });
    sentences.collect()
}
