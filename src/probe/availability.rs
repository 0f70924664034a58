//! Values that may be denied.

/// A value, or why it is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Availability<T> {
    /// It was read.
    Available(T),
    /// The kernel denies it to this user.
    NotPermitted,
    /// It does not exist: a kernel without it, or the process has ended.
    #[default]
    Absent,
}

impl<T: Copy> Availability<T> {
    /// The value, where it was read.
    #[must_use]
    pub fn value(&self) -> Option<T> {
        match self {
            Self::Available(value) => Some(*value),
            Self::NotPermitted | Self::Absent => None,
        }
    }
}
