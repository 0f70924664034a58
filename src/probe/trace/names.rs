//! Names of threads that an event gives only the number of.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::event::Name;
use crate::probe::text::{lines, number, read};

/// A number may be given to another thread after a while.
const KEPT: Duration = Duration::from_secs(1);

/// Finds names and keeps them for a short time.
#[derive(Debug)]
pub struct Names {
    proc: PathBuf,
    saved: PathBuf,
    known: HashMap<u32, Name>,
    since: Instant,
}

impl Names {
    /// Looks in procfs first and then in what tracefs keeps of threads that ended.
    #[must_use]
    pub fn new(proc: &Path, tracefs: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            saved: tracefs.join("saved_cmdlines"),
            known: HashMap::new(),
            since: Instant::now(),
        }
    }

    /// The name of a thread; empty where nobody knows it any more.
    pub fn of(&mut self, pid: u32) -> Name {
        if self.since.elapsed() > KEPT {
            self.known.clear();
            self.since = Instant::now();
        }
        if let Some(name) = self.known.get(&pid) {
            return *name;
        }
        let name = self.look_up(pid).unwrap_or_default();
        self.known.insert(pid, name);
        name
    }

    fn look_up(&self, pid: u32) -> Option<Name> {
        if let Some(text) = read(&self.proc.join(pid.to_string()).join("comm")) {
            return Some(Name::of(text.trim_ascii_end()));
        }
        let saved = read(&self.saved)?;
        lines(&saved).find_map(|line| {
            let (word, name) = line.trim_ascii_start().split_at_checked(
                line.trim_ascii_start()
                    .iter()
                    .position(|byte| *byte == b' ')?,
            )?;
            (number(word) == Some(u64::from(pid))).then(|| Name::of(name.get(1..).unwrap_or(b"")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ended_is_looked_up_where_the_kernel_keeps_names() {
        let directory = tempfile::tempdir().unwrap();
        let proc = directory.path().join("proc");
        std::fs::create_dir_all(proc.join("7")).unwrap();
        std::fs::write(proc.join("7/comm"), "still here\n").unwrap();
        std::fs::write(
            directory.path().join("saved_cmdlines"),
            "17 other\n4711 my dd\n 9 x\n",
        )
        .unwrap();
        let mut names = Names::new(&proc, directory.path());
        assert_eq!(names.of(7).bytes(), b"still here");
        assert_eq!(names.of(4711).bytes(), b"my dd");
        assert_eq!(names.of(9).bytes(), b"x");
        assert_eq!(names.of(8).bytes(), b"");
    }
}
