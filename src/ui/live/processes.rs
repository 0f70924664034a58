//! The processes of the Live screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::tree::tree_depths;
use crate::app::live::{LiveList, LiveState};
use crate::app::process::{ProcessColumn, transferred_bytes};
use crate::columns::command::command_text;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{ProcessView, is_delay_accounting_notice, is_other_users_notice};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::table::{SortMark, TableColumn, TableWidget, fit_columns, number_cell};
use crate::ui::widgets::text::{cut_command, cut_end, unknown_value};
use crate::units;

/// In the order of [`ProcessColumn::ALL`].
const COLUMNS: [TableColumn; 11] = [
    TableColumn::text("PROCESSES", 9, 0, 0),
    TableColumn::text("user", 8, 4, 4),
    TableColumn::numeric("rMB/s", "rMB/s", 6, 0),
    TableColumn::numeric("wMB/s", "wMB/s", 6, 0),
    TableColumn::numeric("hit%", "hit%", 4, 3),
    TableColumn::numeric("IO%", "IO%", 4, 1),
    TableColumn::numeric("SWAPIN%", "SWAPIN%", 7, 8),
    TableColumn::text("class", 5, 0, 6),
    TableColumn::text("device", 8, 6, 7),
    TableColumn::text("state", 6, 0, 5),
    TableColumn::text("command", 24, u16::MAX, 0),
];

/// Width of the column of process ids, which end where its heading ends.
const PID_WIDTH: usize = 9;

/// Fraction of time waiting for I/O that is shown as a warning.
const IO_WAIT_WARNING: f64 = 0.2;

/// Draws the processes.
pub(super) fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let listed = live.visible_processes();
    let missing = MissingWords::of_sample(live.snapshot.as_deref());
    let depths = live.show_tree.then(|| tree_depths(&listed));
    let cell = |row: usize, column: usize, width: u16| {
        let depth = depths.as_ref().map_or(0, |depths| depths[row]);
        let row = ProcessRow {
            process: listed[row],
            depth,
            totals: live.show_totals,
            missing,
        };
        row.cell(ProcessColumn::ALL[column], width, theme)
    };
    let columns = column_headings(live.show_totals);
    let selected = live.selected_process_id.and_then(|id| {
        listed
            .iter()
            .position(|process| (process.pid, process.tid) == id)
    });
    live.process_columns
        .record(fit_columns(&columns, area.width).indices());
    let order = live.visible_process_order();
    let sorted = SortMark {
        column: order.column.unwrap_or(ProcessColumn::Read).index(),
        // Without a column: by reads and writes together.
        second_column: order.column.is_none().then(|| ProcessColumn::Write.index()),
        descending: order.descending,
    };
    let table = TableWidget {
        columns: &columns,
        row_count: listed.len(),
        cell: &cell,
        selected_row: selected.filter(|_| live.focused_list == LiveList::Processes),
        sorted_by: Some(sorted),
        theme,
    };
    (&table).render(area, buf);
    if listed.is_empty() && area.height > 1 {
        let row = Rect::new(area.x, area.y + 1, area.width, 1);
        let text = if live.filter.is_empty() {
            "no process with I/O"
        } else {
            "no process matches the filter"
        };
        Line::styled(text, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
}

/// The columns; totals have no time in their unit.
fn column_headings(totals: bool) -> [TableColumn; 11] {
    let mut columns = COLUMNS;
    if totals {
        columns[2] = TableColumn::numeric("rMB", "rMB", 6, 0);
        columns[3] = TableColumn::numeric("wMB", "wMB", 6, 0);
    }
    columns
}

/// A row of the table.
struct ProcessRow<'a> {
    process: &'a ProcessView,
    /// Depth in the process tree.
    depth: usize,
    /// Whether bytes are totals instead of rates.
    totals: bool,
    /// Why values of this sample are missing.
    missing: MissingWords,
}

/// One word for why a value is missing.
#[derive(Debug, Clone, Copy)]
struct MissingWords {
    /// Of the I/O counters.
    counters: &'static str,
    /// Of IO% and SWAPIN%.
    delays: &'static str,
}

impl MissingWords {
    fn of_sample(sample: Option<&Snapshot>) -> Self {
        let notices = sample.map_or(&[][..], |sample| &sample.notices);
        let has = |is: fn(&str) -> bool| notices.iter().any(|notice| is(notice));
        let word = |reason, word| if reason { word } else { "n/a" };
        Self {
            counters: word(has(is_other_users_notice), "root"),
            delays: word(has(is_delay_accounting_notice), "off"),
        }
    }
}

impl ProcessRow<'_> {
    fn cell(&self, column: ProcessColumn, width: u16, theme: Theme) -> Line<'static> {
        let process = self.process;
        let faint = |word| Line::styled(word, theme.role_style(StyleRole::Faint));
        let percent = |share: f64| format!("{:.0}", share * 100.0);
        let (read, written) = transferred_bytes(process, self.totals);
        match column {
            ProcessColumn::Pid if process.exited => pid_cell(process.pid),
            ProcessColumn::Pid => pid_cell(process.tid),
            ProcessColumn::User => match &process.user {
                Some(user) => Line::raw(cut_end(user, width, theme)),
                None => Line::from(unknown_value(theme)),
            },
            ProcessColumn::Read if read.is_none() => faint(self.missing.counters),
            ProcessColumn::Read => number_cell(read, format_megabytes, StyleRole::Read, theme),
            ProcessColumn::Write if written.is_none() => faint(self.missing.counters),
            ProcessColumn::Write => number_cell(written, format_megabytes, StyleRole::Write, theme),
            ProcessColumn::CacheFraction => {
                match (process.cache_fraction, process.rchar_bytes_per_s) {
                    (None, Some(_)) => faint("-"),
                    (None, None) => faint(self.missing.counters),
                    (share, _) => number_cell(share, percent, StyleRole::Plain, theme),
                }
            }
            ProcessColumn::IoWait | ProcessColumn::SwapIn | ProcessColumn::IoClass
                if process.exited =>
            {
                faint("-")
            }
            ProcessColumn::IoWait if process.io_wait.is_none() => faint(self.missing.delays),
            ProcessColumn::SwapIn if process.swap_in.is_none() => faint(self.missing.delays),
            ProcessColumn::IoWait => {
                let role = match process.io_wait {
                    Some(share) if share >= IO_WAIT_WARNING => StyleRole::Warning,
                    _ => StyleRole::Plain,
                };
                number_cell(process.io_wait, percent, role, theme)
            }
            ProcessColumn::SwapIn => {
                number_cell(process.swap_in, percent, StyleRole::Warning, theme)
            }
            ProcessColumn::IoClass => match &process.priority {
                Some(class) => Line::raw(class.clone()),
                None => Line::from(unknown_value(theme)),
            },
            ProcessColumn::Device => Line::raw(cut_end(&device_names(process), width, theme)),
            ProcessColumn::KernelState if process.exited => faint("ended"),
            ProcessColumn::KernelState => state_cell(process.state, theme),
            ProcessColumn::Command => {
                let indent = "  ".repeat(self.depth.min(8));
                let room = width.saturating_sub(indent.len() as u16);
                let command = cut_command(&command_text(process), room, theme);
                Line::raw(format!("{indent}{command}"))
            }
        }
    }
}

fn pid_cell(pid: u32) -> Line<'static> {
    Line::raw(format!("{pid:>PID_WIDTH$}"))
}

/// The devices in one word.
fn device_names(process: &ProcessView) -> String {
    let names: Vec<&str> = process.device_names().collect();
    names.join(",")
}

/// Bytes per second in MB/s; small values are not rounded to zero.
fn format_megabytes(bytes: f64) -> String {
    let mega = bytes / 1e6;
    if bytes == 0.0 {
        "0".to_owned()
    } else if mega < 0.01 {
        "<0.01".to_owned()
    } else {
        units::format_three_digits(mega)
    }
}

/// The kernel's state letter as a word (proc_pid_stat(5)).
fn state_cell(state: Option<char>, theme: Theme) -> Line<'static> {
    let (word, role) = match state {
        None => return Line::from(unknown_value(theme)),
        Some('D') => ("disk", StyleRole::Warning),
        Some('R') => ("run", StyleRole::Plain),
        Some('S' | 'I') => ("sleep", StyleRole::Faint),
        Some('T' | 't') => ("stop", StyleRole::Warning),
        Some('Z') => ("zombie", StyleRole::Faint),
        Some(_) => ("other", StyleRole::Faint),
    };
    Line::styled(word, theme.role_style(role))
}
