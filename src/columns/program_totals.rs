//! What programs have read and written since the first sample, ended processes included: iotop -a.

use std::collections::HashMap;

use super::{Column, Entity, field};
use crate::files::safe_text::SafeText;
use crate::snapshot::Snapshot;
use crate::snapshot::command::program_name;
use crate::snapshot::view::ProcessView;
use crate::units::Unit;

/// Processes that are remembered; beyond it those go that no snapshot has shown for the longest time.
const MAX_PROCESSES: usize = 8192;

/// A process, or with `false` its ended children: process id, start, whether it is the process itself.
type Source = (u32, u64, bool);

/// Bytes of one process, or of the ended children of one.
#[derive(Debug, Clone)]
struct SourceTotal {
    program: usize,
    read: u64,
    written: u64,
    /// Number of the snapshot that showed it last.
    seen: u64,
}

/// What a program has done.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramTotal {
    /// Its name.
    pub program: SafeText,
    /// Owner of its first process.
    pub user: Option<SafeText>,
    /// The last of its processes with I/O.
    pub pid: u32,
    /// Its processes with I/O; those that began and ended between two samples are not told apart.
    pub processes: u64,
    /// Bytes read from devices.
    pub read_bytes: u64,
    /// Bytes written to devices, less cancelled ones.
    pub write_bytes: u64,
}

type Program = Column<ProgramTotal>;

impl Entity for ProgramTotal {
    const NAME: &'static str = "program";
    #[rustfmt::skip]
    const COLUMNS: &'static [Program] = &[
        field!(Program, read_bytes, "rMB", Bytes).shown(8, 0).help("bytes read from devices"),
        field!(Program, write_bytes, "wMB", Bytes).shown(8, 0).help("bytes written to devices, less cancelled writes"),
        field!(Program, processes, "processes", Count).shown(9, 0).help("its processes with I/O"),
        field!(Program, user, "USER", (8, 4, 1)),
        field!(Program, program, "PROGRAM", (24, u16::MAX, 0)),
    ];
    type Counters = ();
}

/// Adds up processes over snapshots.
#[derive(Debug, Clone, Default)]
pub struct ProgramTotals {
    programs: Vec<ProgramTotal>,
    indices: HashMap<SafeText, usize>,
    sources: HashMap<Source, SourceTotal>,
    snapshots: u64,
}

impl ProgramTotals {
    /// Adds the I/O of a snapshot; each is given once, in order.
    pub fn add(&mut self, live: &Snapshot) {
        self.snapshots += 1;
        let seconds = live.interval.map_or(0.0, |it| it.as_secs_f64());
        for process in &live.processes {
            let is_whole = process.tid == process.pid && !process.exited;
            if is_whole || process.is_ended_children() {
                self.add_process(process, is_whole, seconds);
            }
        }
        self.forget_the_oldest();
    }

    fn forget_the_oldest(&mut self) {
        if self.sources.len() <= MAX_PROCESSES {
            return;
        }
        let mut seen: Vec<u64> = self.sources.values().map(|it| it.seen).collect();
        // Half of them, so that the next snapshots need not do it again.
        let (_, middle, _) = seen.select_nth_unstable(MAX_PROCESSES / 2);
        let oldest = *middle;
        let now = self.snapshots;
        self.sources
            .retain(|_, it| it.seen > oldest || it.seen == now);
    }

    fn add_process(&mut self, process: &ProcessView, is_whole: bool, seconds: f64) {
        let (Some(read), Some(written)) = (
            process.read_accumulated_bytes,
            process.write_accumulated_bytes,
        ) else {
            return;
        };
        let source = (process.pid, process.start_ticks, is_whole);
        let is_known = self.sources.contains_key(&source);
        if read + written == 0 && !is_known {
            return;
        }
        let program = self.program(process, is_whole);
        // One that was forgotten has been counted up to this interval.
        let before = |all: u64, rate: Option<f64>| {
            let in_interval = rate.map(|rate| (rate * seconds).round() as u64);
            in_interval.map_or(0, |it| all.saturating_sub(it))
        };
        let snapshot = self.snapshots;
        let known = self.sources.entry(source).or_insert_with(|| SourceTotal {
            program,
            read: before(read, process.read_bytes_per_s),
            written: before(written, process.write_bytes_per_s),
            seen: snapshot,
        });
        known.seen = snapshot;
        // Each child that ends belongs to its own program, a process to the one of its first sample.
        let index = if is_whole { known.program } else { program };
        let total = &mut self.programs[index];
        total.read_bytes += read.saturating_sub(known.read);
        total.write_bytes += written.saturating_sub(known.written);
        total.pid = process.pid;
        if is_whole && !is_known {
            total.processes += 1;
        }
        if !is_whole {
            let ended = process.ended_programs.iter().map(|it| it.count);
            total.processes += ended.sum::<u64>();
        }
        (known.read, known.written) = (read, written);
    }

    /// Index of the program of a line.
    fn program(&mut self, process: &ProcessView, is_whole: bool) -> usize {
        let name = match process.ended_programs.as_slice() {
            _ if is_whole => program_name(&process.command).to_owned(),
            [only] => only.name.to_string(),
            _ => format!("children of {}", program_name(&process.command)),
        };
        let name = SafeText::from(name);
        if let Some(index) = self.indices.get(&name) {
            return *index;
        }
        self.programs.push(ProgramTotal {
            program: name.clone(),
            user: process.user.clone(),
            pid: process.pid,
            processes: 0,
            read_bytes: 0,
            write_bytes: 0,
        });
        self.indices.insert(name, self.programs.len() - 1);
        self.programs.len() - 1
    }

    /// The programs with I/O, most bytes first.
    #[must_use]
    pub fn by_bytes(&self) -> Vec<&ProgramTotal> {
        let bytes = |it: &&ProgramTotal| it.read_bytes.saturating_add(it.write_bytes);
        let mut programs: Vec<_> = self.programs.iter().filter(|it| bytes(it) > 0).collect();
        programs.sort_by_key(|it| std::cmp::Reverse(bytes(it)));
        programs
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::EndedProgram;

    fn process(pid: u32, command: &str, read: u64) -> ProcessView {
        ProcessView {
            pid,
            tid: pid,
            command: command.into(),
            read_accumulated_bytes: Some(read),
            write_accumulated_bytes: Some(0),
            ..ProcessView::default()
        }
    }

    fn ended(parent: u32, accumulated: u64, programs: &[(&str, u64)]) -> ProcessView {
        let program = |(name, count): &(&str, u64)| EndedProgram {
            name: (*name).into(),
            count: *count,
        };
        ProcessView {
            tid: 0,
            exited: true,
            ended_programs: programs.iter().map(program).collect(),
            ..process(parent, "bash", accumulated)
        }
    }

    #[test]
    fn totals_keep_ended_processes_by_program() {
        let mut totals = ProgramTotals::default();
        let thread = ProcessView {
            tid: 8,
            ..process(7, "cat", 100)
        };
        for processes in [
            vec![process(7, "/usr/bin/cat /a", 100), thread],
            vec![process(7, "/usr/bin/cat /a", 250), process(9, "cat /b", 30)],
            vec![ended(2, 40, &[("cat", 1)])],
            vec![ended(2, 60, &[("dd", 1)])],
            vec![ended(2, 67, &[("dd", 1), ("cat", 1)])],
            vec![],
        ] {
            let mut live = ViewBuilder::default().update(Arc::default());
            live.processes = processes;
            totals.add(&live);
        }
        let found: Vec<_> = totals
            .by_bytes()
            .iter()
            .map(|it| (it.program.to_string(), it.read_bytes, it.processes))
            .collect();
        let expected = [
            ("cat".to_owned(), 320, 3),
            ("dd".to_owned(), 20, 1),
            ("children of bash".to_owned(), 7, 2),
        ];
        assert_eq!(found, expected);
    }
}
