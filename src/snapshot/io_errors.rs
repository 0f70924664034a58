//! I/O errors in an interval.

use std::collections::BTreeMap;

use super::view::IoErrorsView;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::system::kernel_log::{IoErrorSample, NewErrors};

/// Maximum length of an error message in characters.
const MAX_MESSAGE_CHARS: usize = 160;

/// The devices with errors since `before`; `None` where errors were not sampled or cannot be read.
pub fn io_error_views(
    before: Option<&SystemSample>,
    now: &SystemSample,
) -> Option<Vec<IoErrorsView>> {
    let errors = now.io_errors.as_ref()?;
    let before = before.and_then(|before| before.io_errors.as_ref());
    let mut devices: BTreeMap<&str, IoErrorsView> = BTreeMap::new();
    let is_logged = match &errors.logged {
        NewErrors::Read(logged) => {
            for error in logged {
                let view = devices.entry(&error.device).or_default();
                view.logged = Some(view.logged.unwrap_or(0) + 1);
                view.message = Some(SafeText::from(&error.message).cut(MAX_MESSAGE_CHARS));
            }
            true
        }
        NewErrors::NotPermitted | NewErrors::Absent => false,
    };
    if !is_logged && errors.command_errors.is_empty() {
        return None;
    }
    for (device, failed) in &errors.command_errors {
        let new = before.and_then(|before| new_errors(before, device, *failed));
        if new.is_some_and(|new| new > 0) || devices.contains_key(device.as_str()) {
            devices.entry(device).or_default().failed_commands = new;
        }
    }
    let views = devices.into_iter().map(|(device, view)| IoErrorsView {
        device: device.into(),
        logged: view.logged.or(is_logged.then_some(0)),
        ..view
    });
    Some(views.collect())
}

/// Commands that failed since `before`; `None` after the counter was reset.
fn new_errors(before: &IoErrorSample, device: &str, failed: u64) -> Option<u64> {
    let mut counters = before.command_errors.iter();
    let (_, earlier) = counters.find(|(name, _)| name == device)?;
    failed.checked_sub(*earlier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::system::kernel_log::KernelIoError;

    fn sample(logged: NewErrors, failed: &[(&str, u64)]) -> SystemSample {
        let counted = failed
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        SystemSample {
            io_errors: Some(IoErrorSample {
                logged,
                command_errors: counted.collect(),
            }),
            ..SystemSample::default()
        }
    }

    fn logged(devices: &[&str]) -> NewErrors {
        let error = |device: &&str| KernelIoError {
            device: (*device).to_owned(),
            message: format!("I/O error, dev {device}"),
        };
        NewErrors::Read(devices.iter().map(error).collect())
    }

    #[test]
    fn logged_errors_and_failed_commands_are_counted_per_device() {
        let before = sample(logged(&[]), &[("sda", 3), ("sdb", 0)]);
        let now = sample(logged(&["sda", "sda", "sdz"]), &[("sda", 5), ("sdb", 0)]);
        let views = io_error_views(Some(&before), &now).unwrap();
        let found: Vec<_> = views
            .iter()
            .map(|view| (&*view.device, view.logged, view.failed_commands))
            .collect();
        assert_eq!(found, [("sda", Some(2), Some(2)), ("sdz", Some(1), None)]);
        assert_eq!(views[0].message, Some("I/O error, dev sda".into()));
    }

    #[test]
    fn failed_commands_count_where_the_log_cannot_be_read() {
        let before = sample(NewErrors::NotPermitted, &[("sda", 3), ("sdb", 9)]);
        let now = sample(NewErrors::NotPermitted, &[("sda", 4), ("sdb", 2)]);
        let views = io_error_views(Some(&before), &now).unwrap();
        assert_eq!(views.len(), 1, "a counter that went backwards is unknown");
        assert_eq!(views[0].count(), Some(1));
        // A drive that counts a failed command which the kernel did not log as an error.
        let before = sample(logged(&[]), &[("sda", 3)]);
        let now = sample(logged(&[]), &[("sda", 4)]);
        let views = io_error_views(Some(&before), &now).unwrap();
        assert_eq!(views[0].count(), Some(0));
        let unreadable = sample(NewErrors::NotPermitted, &[]);
        assert_eq!(io_error_views(None, &unreadable), None);
        assert_eq!(io_error_views(None, &SystemSample::default()), None);
    }
}
