//! A trace instance: `instances/diskscope-...` (kernel Documentation/trace/ftrace.rst,
//! "Instances").

use std::fs;
use std::path::{Path, PathBuf};

use super::catalog::EventSpec;
use super::error::TraceError;
use super::event::DeviceNumber;
use super::leftovers;
use super::tracefs::TracefsMount;
use crate::roots::SysPaths;

/// An instance; dropping it removes it. An instance that a killed process left is removed at the
/// next start.
#[derive(Debug)]
pub struct TraceInstance {
    path: PathBuf,
    // Its paths are below the mount, which has to live as long.
    tracefs: TracefsMount,
    roots: SysPaths,
}

impl TraceInstance {
    /// Creates an instance that is not recording yet, after removing those of processes that have
    /// ended.
    ///
    /// # Errors
    ///
    /// When it is not permitted or the kernel has no instances (before 3.10).
    pub fn create(
        roots: &SysPaths,
        tracefs: TracefsMount,
        buffer_kib: u32,
    ) -> Result<Self, TraceError> {
        let instances = tracefs.root().join("instances");
        leftovers::remove_leftovers_from(roots, &instances);
        let name = leftovers::next_instance_name(roots);
        let path = instances.join(&name);
        leftovers::write_note(roots, name.as_ref());
        if let Err(error) = fs::create_dir(&path) {
            leftovers::remove_note(roots, name.as_ref());
            return Err(TraceError::from_io_error("making", &path)(error));
        }
        let instance = Self {
            path,
            tracefs,
            roots: roots.clone(),
        };
        instance.write_file("tracing_on", "0")?;
        instance.write_file("buffer_size_kb", &buffer_kib.to_string())?;
        // That of the samples; it is consistent between processors.
        instance.write_file("trace_clock", "boot")?;
        Ok(instance)
    }

    /// A directory that a test has created.
    #[cfg(test)]
    pub(super) fn at_path(path: PathBuf) -> Self {
        let tracefs = TracefsMount::at_path(&path);
        let roots = SysPaths::under_root(&path);
        Self {
            path,
            tracefs,
            roots,
        }
    }

    /// Restricts events to some devices, where any are given.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set_filters(
        &self,
        events: &[EventSpec],
        devices: &[DeviceNumber],
    ) -> Result<(), TraceError> {
        for wanted in events {
            if let Some(filter) = wanted.filter(devices) {
                self.write_file(&format!("events/{}/filter", wanted.path), &filter)?;
            }
        }
        Ok(())
    }

    /// Lets new events replace the oldest ones when the buffer is full.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set_overwrite(&self) -> Result<(), TraceError> {
        self.write_file("options/overwrite", "1")
    }

    /// The error of reading its buffers.
    #[must_use]
    pub fn read_error(&self, error: std::io::Error) -> TraceError {
        TraceError::from_io_error("reading", &self.path)(error)
    }

    /// Enables events and starts recording.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn start_recording(&self, events: &[EventSpec]) -> Result<(), TraceError> {
        self.set_events_enabled(events, "1")?;
        self.write_file("tracing_on", "1")
    }

    /// Stops recording and disables events: unlike after [`TraceInstance::stop_recording`],
    /// requests pass no active tracepoint.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn disable_events(&self, events: &[EventSpec]) -> Result<(), TraceError> {
        self.stop_recording()?;
        self.set_events_enabled(events, "0")
    }

    fn set_events_enabled(&self, events: &[EventSpec], to: &str) -> Result<(), TraceError> {
        for wanted in events {
            self.write_file(&format!("events/{}/enable", wanted.path), to)?;
        }
        Ok(())
    }

    /// Stops recording; recorded events can still be read.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn stop_recording(&self) -> Result<(), TraceError> {
        self.write_file("tracing_on", "0")
    }

    /// The per-processor directories.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    pub fn processor_directories(&self) -> Result<Vec<PathBuf>, TraceError> {
        let directory = self.path.join("per_cpu");
        let mut paths: Vec<PathBuf> = fs::read_dir(&directory)
            .map_err(TraceError::from_io_error("listing", &directory))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        paths.sort();
        Ok(paths)
    }

    /// The root of tracefs.
    #[must_use]
    pub fn tracefs(&self) -> &Path {
        self.tracefs.root()
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), TraceError> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(TraceError::from_io_error("writing to", &path))
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        // This removes its events and buffer too. A failure cannot be reported here, and the next
        // start tries again.
        if let (Ok(()), Some(name)) = (fs::remove_dir(&self.path), self.path.file_name()) {
            leftovers::remove_note(&self.roots, name);
        }
    }
}
