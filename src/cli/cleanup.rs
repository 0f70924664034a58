//! Removes what killed runs left behind, at the start of every command and after a worker that was killed.

use super::output::print_status_line;
use crate::drive::settings::{LeftoverSetting, SettingsManager};
use crate::probe::trace::remove_leftovers as trace_leftovers;
use crate::roots::SysPaths;

/// Removes what killed runs left behind, and reports it.
pub(super) fn clean_up_leftovers() {
    for line in restore_leftovers() {
        print_status_line(&line);
    }
    trace_leftovers(&SysPaths::default());
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
