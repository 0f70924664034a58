//! Control groups of a test's own, of the first version. Needs root; the test is skipped without.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::requirement::{Requirement, skip};

/// How long the kernel may take to see that the last process of a group has ended.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(10);

const READ_LIMIT: &str = "blkio.throttle.read_bps_device";

/// A control group with one limit, removed when it is dropped.
pub struct TestCgroup(PathBuf);

impl TestCgroup {
    /// Reads at most `bytes` a second from the device with that number.
    pub fn with_read_limit((major, minor): (u32, u32), bytes: u64) -> Option<Self> {
        let limit = format!("{major}:{minor} {bytes}");
        Self::with_limit("blkio", READ_LIMIT, &limit)
    }

    /// Removes that limit, so that a process which it holds back can end.
    pub fn lift_read_limit(&self, (major, minor): (u32, u32)) {
        fs::write(self.0.join(READ_LIMIT), format!("{major}:{minor} 0")).unwrap();
    }

    /// Has at most `bytes` in memory.
    pub fn with_memory_limit(bytes: u64) -> Option<Self> {
        Self::with_limit("memory", "memory.limit_in_bytes", &bytes.to_string())
    }

    /// `None`, and why in one line, where the kernel has no such controller or refuses the limit.
    pub fn with_limit(controller: &str, file: &str, limit: &str) -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("diskscope-test-{}-{number}", std::process::id());
        let group = Self(Path::new("/sys/fs/cgroup").join(controller).join(name));
        let limited = fs::create_dir(&group.0).and_then(|()| fs::write(group.0.join(file), limit));
        if let Err(error) = limited {
            skip(
                Requirement::Cgroup,
                format!("controller {controller} of version 1: {error}"),
            );
            return None;
        }
        Some(group)
    }

    /// Its name.
    pub fn name(&self) -> String {
        let name = self.0.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// A line for sh(1) that runs a command in the group, in place of the shell after `exec`.
    pub fn command(&self, command: &str) -> String {
        let tasks = self.0.join("cgroup.procs");
        format!("echo $$ > {} && {command}", tasks.display())
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        let deadline = Instant::now() + REMOVAL_TIMEOUT;
        while self.0.exists() && fs::remove_dir(&self.0).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
