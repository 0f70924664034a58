//! Views of blocked tasks and of I/O errors.

use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;

/// A task in uninterruptible sleep (state D). Threads of the kernel are left out: they wait for
/// work too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockedTaskView {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Command line of its process, safe to print.
    pub command: SafeText,
    /// Name of the unit that it belongs to.
    pub unit: Option<SafeText>,
    /// Nanoseconds since the first sample that found it in this sleep: no context switch since
    /// then. 0 in that sample.
    pub blocked_ns: u64,
    /// Kernel function that it waits in.
    #[serde(rename = "blocked_in")]
    pub wait_channel: Option<SafeText>,
}

/// I/O errors of a device in the interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IoErrorsView {
    /// Kernel's name of the device, which may no longer exist.
    pub device: SafeText,
    /// Errors that the kernel logged; `None` where the log cannot be read.
    pub logged: Option<u64>,
    /// Commands that failed (`ioerr_cnt` of SCSI drives); `None` where they are not counted.
    pub failed_commands: Option<u64>,
    /// The last error that was logged.
    pub message: Option<SafeText>,
}

impl IoErrorsView {
    /// The errors to report: those logged. Where the log cannot be read the failed commands, of
    /// which some are harmless.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.logged.or(self.failed_commands)
    }
}
