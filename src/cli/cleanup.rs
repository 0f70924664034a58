//! Removes what killed runs left behind, at the start of every command and after a worker that was killed.

use super::output::print_status_line;
use crate::drive::SettingsManager;
use crate::roots::SysPaths;
use crate::trace::events::remove_leftovers as trace_leftovers;

/// Removes what killed runs left behind, and reports it; `after_kill` of the worker of this run.
pub(super) fn clean_up_leftovers(after_kill: bool) {
    for line in restore_leftovers() {
        print_status_line(&line);
    }
    trace_leftovers(&SysPaths::default(), after_kill);
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
