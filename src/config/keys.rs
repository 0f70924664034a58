//! The keys of the file.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigKey {
    /// Time between two samples.
    Interval,
    /// Colours.
    Theme,
    /// Column that sorts the processes.
    Sort,
    /// Columns of the devices.
    Columns,
    /// Devices that the Live screen leaves out.
    HiddenDevices,
    /// Target that the launcher selects first.
    DefaultTarget,
}

impl ConfigKey {
    /// Every key, in the order in which they are printed.
    pub const ALL: [Self; 6] = [
        Self::Interval,
        Self::Theme,
        Self::Sort,
        Self::Columns,
        Self::HiddenDevices,
        Self::DefaultTarget,
    ];

    /// The key as the file has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Theme => "theme",
            Self::Sort => "sort",
            Self::Columns => "columns",
            Self::HiddenDevices => "hidden_devices",
            Self::DefaultTarget => "default_target",
        }
    }
}
