//! The processes behind thread ids: read when a thread is first seen, since it may end soon.

use foldhash::HashMap;

use super::view::ProcessView;
use crate::files::safe_text::SafeText;
use crate::probe::control_groups::{IoHierarchies, UnitNames};
use crate::probe::process::stat::parse_thread_group;
use crate::probe::text::read_file;
use crate::roots::SysPaths;
use crate::trace::requests::RequestActor;

/// More threads are not kept.
const MAX_THREADS: usize = 65_536;

/// Processes by the id of any of their threads.
#[derive(Debug, Default)]
pub(super) struct Processes {
    by_thread: HashMap<u32, ProcessView>,
    hierarchies: IoHierarchies,
    units: UnitNames,
}

impl Processes {
    pub(super) fn new(roots: &SysPaths) -> Self {
        Self {
            hierarchies: IoHierarchies::find(roots),
            ..Self::default()
        }
    }

    /// Reads the process of a thread, unless it is known.
    pub(super) fn look_up(&mut self, roots: &SysPaths, thread: u32) {
        if self.by_thread.contains_key(&thread) {
            return;
        }
        if self.by_thread.len() >= MAX_THREADS {
            self.by_thread.clear();
        }
        if let Some(process) = self.read(roots, thread) {
            // Sums by process name it by the id of its first thread, which may do no I/O.
            self.by_thread.insert(process.pid, process.clone());
            self.by_thread.insert(thread, process);
        }
    }

    /// Reads a known process again, which runs another program now: a shell begins each of its
    /// programs under its own name.
    pub(super) fn executed(&mut self, roots: &SysPaths, pid: u32) {
        if !self.by_thread.contains_key(&pid) {
            return;
        }
        // The old name is better than none where it has ended meanwhile.
        if let Some(process) = self.read(roots, pid) {
            self.by_thread.insert(pid, process);
        }
    }

    fn read(&mut self, roots: &SysPaths, thread: u32) -> Option<ProcessView> {
        let directory = roots.proc.join(thread.to_string());
        let status = read_file(&directory.join("status"))?;
        let pid = parse_thread_group(&status).unwrap_or(thread);
        let name = read_file(&roots.proc.join(pid.to_string()).join("comm"))
            .or_else(|| read_file(&directory.join("comm")))?;
        let group = self.hierarchies.membership(roots, pid).group;
        let unit = group.and_then(|group| self.units.unit_of(roots, &group));
        Some(ProcessView {
            pid,
            command: SafeText::from_bytes(name.trim_ascii_end()),
            unit: unit.map(|unit| unit.name.clone()),
        })
    }

    /// The process of a thread; as far as the events tell, where it ended before it was read.
    pub(super) fn view_of(&self, actor: RequestActor) -> ProcessView {
        match self.by_thread.get(&actor.pid) {
            Some(process) => process.clone(),
            None => ProcessView {
                pid: actor.pid,
                command: SafeText::from_bytes(actor.name.as_bytes()),
                unit: None,
            },
        }
    }

    /// The id of the process of a thread.
    pub(super) fn process_id(&self, thread: u32) -> u32 {
        self.by_thread
            .get(&thread)
            .map_or(thread, |process| process.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::ThreadName;

    #[test]
    fn process_has_the_name_of_the_program_that_it_runs_last() {
        let files = [
            ("proc/77/status", "Tgid:\t77\n"),
            ("proc/77/comm", "bash\n"),
        ];
        let (root, roots) = SysPaths::with_files(&files);
        let mut processes = Processes::new(&roots);
        let name = |processes: &Processes| {
            let name = ThreadName::default();
            let actor = RequestActor { pid: 77, name };
            processes.view_of(actor).command.to_string()
        };
        // One that was not seen before has no part in the trace.
        processes.executed(&roots, 77);
        assert!(processes.by_thread.is_empty());
        processes.look_up(&roots, 77);
        assert_eq!(name(&processes), "bash");
        std::fs::write(root.path().join("proc/77/comm"), "sync\n").unwrap();
        processes.look_up(&roots, 77);
        processes.executed(&roots, 77);
        assert_eq!(name(&processes), "sync");
        std::fs::remove_dir_all(root.path().join("proc/77")).unwrap();
        processes.executed(&roots, 77);
        assert_eq!(name(&processes), "sync", "it has ended");
    }
}
