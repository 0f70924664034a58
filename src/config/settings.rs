//! The settings and their sources.

use std::path::PathBuf;
use std::time::Duration;

use super::file::IgnoredFile;
use crate::app::live::device_list::DeviceColumn;
use crate::app::preferences::Preferences;
use crate::app::process::ProcessColumn;
use crate::ui::theme::ThemeName;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSource {
    /// The program.
    Default,
    /// The configuration file.
    File,
    /// An option of the command line.
    Option,
    /// The environment.
    Environment,
}

/// A value and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    /// The value in effect.
    pub value: T,
    /// Where it comes from.
    pub source: ValueSource,
}

impl<T> Setting<T> {
    fn default_of(value: T) -> Self {
        Self {
            value,
            source: ValueSource::Default,
        }
    }

    /// Replaces the value.
    pub fn set(&mut self, value: T, source: ValueSource) {
        self.value = value;
        self.source = source;
    }
}

/// The configuration in effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Path of the file, whether it exists or not; `None` without a home directory.
    pub path: Option<PathBuf>,
    /// Why the file was ignored.
    pub ignored: Option<IgnoredFile>,
    /// Time between two samples.
    pub interval: Setting<Duration>,
    /// Colours.
    pub theme: Setting<ThemeName>,
    /// Column that sorts the processes; `None` is reads and writes together.
    pub sort: Setting<Option<ProcessColumn>>,
    /// Columns of the devices; all if empty.
    pub columns: Setting<Vec<DeviceColumn>>,
    /// Patterns of the devices that the Live screen leaves out.
    pub hidden_devices: Setting<Vec<String>>,
    /// Target that the launcher selects first.
    pub default_target: Setting<Option<String>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: None,
            ignored: None,
            interval: Setting::default_of(Duration::from_secs(1)),
            theme: Setting::default_of(ThemeName::Auto),
            sort: Setting::default_of(None),
            columns: Setting::default_of(Vec::new()),
            hidden_devices: Setting::default_of(Vec::new()),
            default_target: Setting::default_of(None),
        }
    }
}

impl Config {
    /// What the interface takes from it.
    #[must_use]
    pub fn preferences(&self) -> Preferences {
        Preferences {
            sort: self.sort.value,
            device_columns: self.columns.value.clone(),
            hidden_devices: self.hidden_devices.value.clone(),
            default_target: self.default_target.value.clone(),
            warning: self.ignored.as_ref().map(|it| it.to_string().into()),
        }
    }
}
