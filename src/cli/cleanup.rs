//! Removes what killed runs left behind, at the start of every command.

use std::time::Duration;

use super::output::print_status_line;
use crate::drive::SettingsManager;
use crate::probe::trace::remove_leftovers as trace_leftovers;
use crate::roots::SysPaths;
use crate::supervisor;

/// Maximum time for which a command waits for the clean-up after killed runs.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(1);

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

/// Restores system settings that a killed run left changed; returns the messages.
fn restore_leftovers() -> Vec<String> {
    let restored = SettingsManager::default().restore_leftovers().into_iter();
    let sentences = restored.flat_map(|restored| match restored {
        Ok(restored) => vec![format!(
            "diskscope: {} is {} again: a run that was killed had changed it",
            restored.path.display(),
            restored.value
        )],
        Err(error) => vec![
            format!("diskscope: {error}"),
            format!("  {}", error.advice()),
        ],
    });
    sentences.collect()
}
