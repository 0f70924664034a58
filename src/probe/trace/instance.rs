//! A trace buffer of our own: `instances/diskscope-...`
//! (kernel Documentation/trace/ftrace.rst, "Instances").

use std::fs;
use std::path::{Path, PathBuf};

use super::decode::{Scope, Wanted, kernel_number};
use super::error::TraceError;
use super::event::Number;
use super::leftovers;
use super::tracefs::Tracefs;
use crate::roots::Roots;

/// Clocks by preference: the first is that of the samples; all of them agree between processors.
const CLOCKS: &[&str] = &["boot", "mono", "global"];
/// Bits of I_DIRTY_PAGES: 2 until kernel 6.11, 6 afterwards (include/linux/fs.h). The other of
/// the two is never set in `flags`, and in `state` only of inodes that nobody writes to.
const DIRTY_PAGES: u32 = 1 << 2 | 1 << 6;

/// An instance; removed when it is dropped. What a kill left is removed at the next start.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    // Its paths lead through the mount, which has to live as long.
    tracefs: Tracefs,
    roots: Roots,
}

impl Instance {
    /// Makes an instance that records nothing yet, after removing those of processes that are no
    /// more.
    ///
    /// # Errors
    /// When it is not permitted or the kernel has no instances (before 3.10).
    pub fn create(roots: &Roots, tracefs: Tracefs, buffer_kib: u32) -> Result<Self, TraceError> {
        let instances = tracefs.root().join("instances");
        leftovers::remove_from(roots, &instances);
        let name = leftovers::next_name(roots);
        let path = instances.join(&name);
        leftovers::note(roots, name.as_ref());
        if let Err(error) = fs::create_dir(&path) {
            leftovers::forget(roots, name.as_ref());
            return Err(TraceError::of("making", &path)(error));
        }
        let instance = Self {
            path,
            tracefs,
            roots: roots.clone(),
        };
        instance.write("tracing_on", "0")?;
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        let clock = CLOCKS
            .iter()
            .find(|clock| instance.write("trace_clock", clock).is_ok());
        match clock {
            Some(_) => Ok(instance),
            None => instance.write("trace_clock", CLOCKS[0]).map(|()| instance),
        }
    }

    /// A directory that a test has made.
    #[cfg(test)]
    pub(super) fn of_a_test(path: PathBuf) -> Self {
        let tracefs = Tracefs::of_a_test(&path);
        let roots = Roots::below(&path);
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
    pub fn restrict(&self, events: &[Wanted], devices: &[Number]) -> Result<(), TraceError> {
        for wanted in events {
            if let Some(filter) = filter(wanted.scope, devices) {
                self.write(&format!("events/{}/filter", wanted.path), &filter)?;
            }
        }
        Ok(())
    }

    /// Switches on events and begins to record.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn begin(&self, events: &[Wanted]) -> Result<(), TraceError> {
        self.switch(events, "1")?;
        self.write("tracing_on", "1")
    }

    /// Stops recording and switches events off: unlike after [`Instance::pause`] requests do not
    /// pass by a tracepoint that does something.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn silence(&self, events: &[Wanted]) -> Result<(), TraceError> {
        self.pause()?;
        self.switch(events, "0")
    }

    fn switch(&self, events: &[Wanted], to: &str) -> Result<(), TraceError> {
        for wanted in events {
            self.write(&format!("events/{}/enable", wanted.path), to)?;
        }
        Ok(())
    }

    /// Stops recording; what was recorded can still be read.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn pause(&self) -> Result<(), TraceError> {
        self.write("tracing_on", "0")
    }

    /// The directories of the processors.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn processors(&self) -> Result<Vec<PathBuf>, TraceError> {
        let directory = self.path.join("per_cpu");
        let mut paths: Vec<PathBuf> = fs::read_dir(&directory)
            .map_err(TraceError::of("listing", &directory))?
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

    fn write(&self, name: &str, text: &str) -> Result<(), TraceError> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(TraceError::of("writing to", &path))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // It takes its events and buffer with it. There is nobody left to tell of a failure, and
        // the next start tries again.
        if let (Ok(()), Some(name)) = (fs::remove_dir(&self.path), self.path.file_name()) {
            leftovers::forget(&self.roots, name);
        }
    }
}

/// A filter expression (kernel Documentation/trace/events.rst, section 5).
fn filter(scope: Scope, devices: &[Number]) -> Option<String> {
    match scope {
        Scope::Device => {
            let terms: Vec<String> = devices
                .iter()
                .map(|number| format!("dev == {}", kernel_number(*number)))
                .collect();
            (!terms.is_empty()).then(|| terms.join(" || "))
        }
        Scope::FirstDirty => Some(format!(
            "(flags & {DIRTY_PAGES}) && !(state & {DIRTY_PAGES})"
        )),
        Scope::Writeback => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_name_the_devices_as_the_kernel_keeps_them() {
        assert_eq!(filter(Scope::Device, &[]), None);
        assert_eq!(
            filter(Scope::Device, &[(8, 0), (8, 1)]).unwrap(),
            "dev == 8388608 || dev == 8388609"
        );
        assert_eq!(
            filter(Scope::FirstDirty, &[(8, 0)]).unwrap(),
            "(flags & 68) && !(state & 68)"
        );
    }
}
