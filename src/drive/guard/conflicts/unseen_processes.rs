//! Why processes could not be examined.

/// Why not all processes could be examined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnseenProcesses {
    /// This PID namespace is not the first one.
    PidNamespace,
    /// /proc is mounted with `hidepid` or `subset`.
    HiddenProc,
    /// Processes start others all the time, and one of them was never examined.
    Changing,
    /// Descriptors or mappings of some processes may not be examined.
    PermissionDenied {
        /// How many.
        count: usize,
        /// One of them.
        process: u32,
    },
    /// Descriptors or mappings of some processes could not be examined.
    ExaminationFailed {
        /// How many.
        count: usize,
        /// One of them.
        process: u32,
        /// Why.
        reason: String,
    },
}
