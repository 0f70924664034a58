//! Names of threads of which an event contains only the id.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::event::ThreadName;
use crate::probe::text::{nonempty_lines, parse_number, read_file};

/// Thread ids are reused after a while.
const CACHE_LIFETIME: Duration = Duration::from_secs(1);

/// Looks up names and caches them for a short time.
#[derive(Debug)]
pub struct ThreadNames {
    proc: PathBuf,
    saved_cmdlines: PathBuf,
    cached_names: HashMap<u32, ThreadName>,
    cache_started_at: Instant,
}

impl ThreadNames {
    /// Searches procfs first, then the names of ended threads in tracefs.
    #[must_use]
    pub fn new(proc: &Path, tracefs: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            saved_cmdlines: tracefs.join("saved_cmdlines"),
            cached_names: HashMap::new(),
            cache_started_at: Instant::now(),
        }
    }

    /// The name of a thread; empty where it is unknown.
    pub fn name_of(&mut self, pid: u32) -> ThreadName {
        if self.cache_started_at.elapsed() > CACHE_LIFETIME {
            self.cached_names.clear();
            self.cache_started_at = Instant::now();
        }
        if let Some(name) = self.cached_names.get(&pid) {
            return *name;
        }
        let name = self.find_name(pid).unwrap_or_default();
        self.cached_names.insert(pid, name);
        name
    }

    fn find_name(&self, pid: u32) -> Option<ThreadName> {
        if let Some(text) = read_file(&self.proc.join(pid.to_string()).join("comm")) {
            return Some(ThreadName::from_field(text.trim_ascii_end()));
        }
        let saved = read_file(&self.saved_cmdlines)?;
        nonempty_lines(&saved).find_map(|line| {
            let (word, name) = line.trim_ascii_start().split_at_checked(
                line.trim_ascii_start()
                    .iter()
                    .position(|byte| *byte == b' ')?,
            )?;
            (parse_number(word) == Some(u64::from(pid)))
                .then(|| ThreadName::from_field(name.get(1..).unwrap_or(b"")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_ended_thread_is_read_from_saved_cmdlines() {
        let directory = tempfile::tempdir().unwrap();
        let proc = directory.path().join("proc");
        std::fs::create_dir_all(proc.join("7")).unwrap();
        std::fs::write(proc.join("7/comm"), "still here\n").unwrap();
        std::fs::write(
            directory.path().join("saved_cmdlines"),
            "17 other\n4711 my dd\n 9 x\n",
        )
        .unwrap();
        let mut names = ThreadNames::new(&proc, directory.path());
        assert_eq!(names.name_of(7).as_bytes(), b"still here");
        assert_eq!(names.name_of(4711).as_bytes(), b"my dd");
        assert_eq!(names.name_of(9).as_bytes(), b"x");
        assert_eq!(names.name_of(8).as_bytes(), b"");
    }
}
