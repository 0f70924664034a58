//! I/O errors between samples.

use super::device_health::read_command_errors;
use super::kernel_log::{KernelLog, NewErrors};
use crate::roots::SysPaths;

/// What is known about I/O errors at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IoErrorSample {
    /// Errors that the kernel has logged since the previous sample.
    pub logged: NewErrors,
    /// Commands that failed since each drive was found, by name; drives that do not count them are
    /// absent.
    pub command_errors: Vec<(String, u64)>,
}

/// Reads I/O errors; keeps the kernel log open in between.
#[derive(Debug)]
pub struct IoErrorReader {
    kernel_log: KernelLog,
}

impl IoErrorReader {
    /// Opens the kernel log at its end.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        Self {
            kernel_log: KernelLog::open_at_end(roots),
        }
    }

    /// The errors since the last call, since the creation for the first.
    pub fn read(&mut self, roots: &SysPaths) -> IoErrorSample {
        IoErrorSample {
            logged: self.kernel_log.new_errors(),
            command_errors: read_command_errors(roots),
        }
    }
}
