//! What the user prefers, as the configuration file states it.

use super::live::device_list::DeviceColumn;
use super::process::ProcessColumn;
use crate::files::safe_text::SafeText;

/// The preferences of the interface.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preferences {
    /// Column that sorts the processes; `None` is reads and writes together.
    pub sort: Option<ProcessColumn>,
    /// Columns of the devices; all if empty.
    pub device_columns: Vec<DeviceColumn>,
    /// Patterns of devices that the Live screen leaves out.
    pub hidden_devices: Vec<String>,
    /// Target that the launcher selects first.
    pub default_target: Option<String>,
    /// Why the configuration file is ignored: shown in the footer until the first key.
    pub warning: Option<SafeText>,
}
