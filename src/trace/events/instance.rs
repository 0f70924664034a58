//! A trace instance: `instances/diskscope-...` (kernel Documentation/trace/ftrace.rst,
//! "Instances").

use std::fs;
use std::path::{Path, PathBuf};

use super::enabled::{EnabledEvent, FilterScope};
use super::error::TraceError;
use super::event::{DeviceNumber, kernel_number};
use super::file_event::SyncCall;
use super::leftovers;
use super::tracefs::TracefsMount;
use crate::roots::SysPaths;

/// Clocks by preference: the first is that of the samples; all of them are consistent between
/// processors.
const PREFERRED_CLOCKS: &[&str] = &["boot", "mono", "global"];
/// Bits of I_DIRTY_PAGES: 2 until kernel 6.11, 6 afterwards (include/linux/fs.h). The other of the
/// two is never set in `flags`, and in `state` only of inodes that no process writes to.
const DIRTY_PAGES_BITS: u32 = 1 << 2 | 1 << 6;

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
        let clock = PREFERRED_CLOCKS
            .iter()
            .find(|clock| instance.write_file("trace_clock", clock).is_ok());
        match clock {
            Some(_) => Ok(instance),
            None => instance
                .write_file("trace_clock", PREFERRED_CLOCKS[0])
                .map(|()| instance),
        }
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
        events: &[EnabledEvent],
        devices: &[DeviceNumber],
    ) -> Result<(), TraceError> {
        for wanted in events {
            if let Some(filter) = filter_expression(wanted.filter_scope, devices) {
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
    pub fn start_recording(&self, events: &[EnabledEvent]) -> Result<(), TraceError> {
        self.set_events_enabled(events, "1")?;
        self.write_file("tracing_on", "1")
    }

    /// Stops recording and disables events: unlike after [`TraceInstance::stop_recording`],
    /// requests pass no active tracepoint.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn disable_events(&self, events: &[EnabledEvent]) -> Result<(), TraceError> {
        self.stop_recording()?;
        self.set_events_enabled(events, "0")
    }

    fn set_events_enabled(&self, events: &[EnabledEvent], to: &str) -> Result<(), TraceError> {
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

/// A filter expression (kernel Documentation/trace/events.rst, section 5).
fn filter_expression(scope: FilterScope, devices: &[DeviceNumber]) -> Option<String> {
    match scope {
        FilterScope::Device => {
            let terms: Vec<String> = devices
                .iter()
                .map(|number| format!("dev == {}", kernel_number(*number)))
                .collect();
            (!terms.is_empty()).then(|| terms.join(" || "))
        }
        FilterScope::FirstDirtyPage => Some(format!(
            "(flags & {DIRTY_PAGES_BITS}) && !(state & {DIRTY_PAGES_BITS})"
        )),
        FilterScope::ChangedBlocks => Some("dirtied_blocks > 0".to_owned()),
        FilterScope::SyncCalls => {
            let terms: Vec<String> = SyncCall::numbers()
                .map(|number| format!("id == {number}"))
                .collect();
            Some(terms.join(" || "))
        }
        FilterScope::Unfiltered => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_filters_use_kernel_device_numbers() {
        assert_eq!(filter_expression(FilterScope::Device, &[]), None);
        assert_eq!(
            filter_expression(FilterScope::Device, &[(8, 0), (8, 1)]).unwrap(),
            "dev == 8388608 || dev == 8388609"
        );
        assert_eq!(
            filter_expression(FilterScope::FirstDirtyPage, &[(8, 0)]).unwrap(),
            "(flags & 68) && !(state & 68)"
        );
    }
}
