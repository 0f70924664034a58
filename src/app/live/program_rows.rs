//! The list of processes while it shows totals: a row for each program, ended processes included.

use crate::columns::program_totals::{ProgramTotal, ProgramTotals};
use crate::snapshot::Snapshot;
use crate::snapshot::command::program_name;
use crate::snapshot::view::ProcessView;

/// Totals since the first sample, and their rows.
#[derive(Debug, Clone, Default)]
pub struct ProgramRows {
    totals: ProgramTotals,
    rows: Vec<ProcessView>,
}

impl ProgramRows {
    /// Adds a sample.
    pub fn add(&mut self, live: &Snapshot) {
        self.totals.add(live);
        let totals = self.totals.by_bytes();
        self.rows = totals.iter().map(|total| row(total, live)).collect();
    }

    /// A row for each program with I/O.
    #[must_use]
    pub fn rows(&self) -> &[ProcessView] {
        &self.rows
    }
}

/// Whether a row stands for a program and not for one process.
#[must_use]
pub fn is_program(row: &ProcessView) -> bool {
    row.tid == 0 && !row.exited
}

/// The process, where it is the only one of its program and is sampled; otherwise a row of which only
/// the totals are known.
fn row(total: &ProgramTotal, live: &Snapshot) -> ProcessView {
    let is_it = |process: &&ProcessView| {
        let is_whole = process.tid == process.pid && !process.exited;
        is_whole
            && process.pid == total.pid
            && program_name(&process.command) == total.program.as_str()
    };
    let only = live.processes.iter().find(is_it);
    let identity = match only.filter(|_| total.processes == 1) {
        Some(process) => process.clone(),
        None => ProcessView {
            pid: total.pid,
            user: total.user.clone(),
            command: match total.processes {
                0 | 1 => total.program.clone(),
                count => format!("{} ({count} processes)", total.program).into(),
            },
            ..ProcessView::default()
        },
    };
    ProcessView {
        read_accumulated_bytes: Some(total.read_bytes),
        write_accumulated_bytes: Some(total.write_bytes),
        ..identity
    }
}
