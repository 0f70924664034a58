//! A trace instance: `instances/diskscope-...` (kernel Documentation/trace/ftrace.rst,
//! "Instances").

use std::fs;
use std::path::{Path, PathBuf};

use super::error::TraceError;
use super::leftovers;
use super::tracefs::TracefsMount;
use crate::roots::SysPaths;

/// An instance; dropping it removes it. An instance that a killed process left is removed at the
/// next start.
#[derive(Debug)]
pub(super) struct TraceInstance {
    path: PathBuf,
    // Its path is below the mount, which has to live as long.
    _tracefs: TracefsMount,
}

impl TraceInstance {
    /// Creates an instance that is not recording yet, after removing those of processes that have
    /// ended.
    ///
    /// # Errors
    ///
    /// When it is not permitted or the kernel has no instances (before 3.10).
    pub(super) fn create(
        roots: &SysPaths,
        tracefs: TracefsMount,
        buffer_kib: u32,
    ) -> Result<Self, TraceError> {
        let instances = tracefs.root().join("instances");
        leftovers::remove_leftovers_from(roots, &instances);
        let path = instances.join(leftovers::next_instance_name(roots));
        fs::create_dir(&path).map_err(TraceError::refused("making", &path))?;
        let instance = Self {
            path,
            _tracefs: tracefs,
        };
        instance.write("tracing_on", "0")?;
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        // That of the samples; it is consistent between processors.
        instance.write("trace_clock", "boot")?;
        Ok(instance)
    }

    /// A directory that a test has created.
    #[cfg(test)]
    pub(super) fn at_path(path: PathBuf) -> Self {
        Self {
            _tracefs: TracefsMount::at_path(&path),
            path,
        }
    }

    /// Its directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes to one of its files.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), TraceError> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(TraceError::refused("writing to", &path))
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        // This removes its events and buffer too. A failure cannot be reported here, and the next
        // start tries again.
        let _ = fs::remove_dir(&self.path);
    }
}
