//! The processes behind thread ids: read when a thread is first seen, since it may end soon.

use foldhash::{HashMap, HashSet};

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
    /// Threads that were looked at in this round.
    fresh: HashSet<u32>,
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

    /// Looks each process up once more: a shell begins each of its programs under its own name.
    pub(super) fn start_round(&mut self) {
        self.fresh.clear();
    }

    /// The id of the process of a thread. What is known about it is the last that could be read.
    pub(super) fn look_up(&mut self, roots: &SysPaths, thread: RequestActor) -> u32 {
        if self.fresh.insert(thread.pid) {
            if self.by_thread.len() >= MAX_THREADS {
                self.by_thread.clear();
            }
            if let Some(process) = self.read(roots, thread.pid) {
                // Sums by process name it by the id of its first thread, which may do no I/O.
                self.by_thread.insert(process.pid, process.clone());
                self.by_thread.insert(thread.pid, process);
            }
        }
        let known = self.by_thread.entry(thread.pid);
        let process = known.or_insert_with(|| ProcessView {
            pid: thread.pid,
            ..ProcessView::default()
        });
        if process.command.is_empty() {
            // It ended before it was read: as far as the event tells.
            process.command = SafeText::from_bytes(thread.name.as_bytes());
        }
        process.pid
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

    /// What is known about a process.
    pub(super) fn view(&self, pid: u32) -> ProcessView {
        let known = self.by_thread.get(&pid).cloned().unwrap_or_default();
        ProcessView { pid, ..known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::ThreadName;

    #[test]
    fn process_has_the_name_of_the_program_that_it_runs_last() {
        let files = [
            ("proc/77/status", "Tgid:\t70\n"),
            ("proc/70/comm", "bash\n"),
        ];
        let (root, roots) = SysPaths::with_files(&files);
        let mut processes = Processes::new(&roots);
        let actor = |pid, name: &[u8]| RequestActor {
            pid,
            name: ThreadName::from_field(name),
        };
        let mut name_of = |pid, name| {
            processes.start_round();
            let process = processes.look_up(&roots, actor(pid, name));
            (process, processes.view(process).command.to_string())
        };
        assert_eq!(name_of(77, b"worker"), (70, "bash".to_owned()));
        std::fs::write(root.path().join("proc/70/comm"), "sync\n").unwrap();
        assert_eq!(name_of(77, b"worker"), (70, "sync".to_owned()));
        std::fs::remove_dir_all(root.path().join("proc/77")).unwrap();
        assert_eq!(name_of(77, b""), (70, "sync".to_owned()), "it has ended");
        assert_eq!(name_of(99, b""), (99, String::new()));
        assert_eq!(name_of(99, b"dd"), (99, "dd".to_owned()), "never read");
    }
}
