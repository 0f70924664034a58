//! The processes of the Live screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::program_rows::is_program;
use crate::app::live::tree::tree_depths;
use crate::app::live::{LiveList, LiveState};
use crate::app::process::{ProcessColumn, byte_columns, process_columns, shown_column};
use crate::columns::{Value, command_text};
use crate::snapshot::Snapshot;
use crate::snapshot::view::{ProcessView, is_delay_accounting_notice, is_other_users_notice};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::table::EntityTable;
use crate::tui::widgets::text::cut_end;

/// Width of the column of process ids, which end where its heading ends.
const PID_WIDTH: usize = 9;

/// Fraction of time waiting for I/O that is shown as a warning.
const IO_WAIT_WARNING: f64 = 0.2;

/// Draws the processes.
pub(super) fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let listed = live.visible_processes();
    let missing = MissingWords::of_sample(live.snapshot.as_deref());
    let depths = live.show_tree.then(|| tree_depths(&listed));
    let cell = |row: usize, column: ProcessColumn, width: u16| {
        let depth = depths.as_ref().map_or(0, |depths| depths[row]);
        cell(listed[row], column, (depth, missing), width, theme)
    };
    let all = process_columns();
    let columns: Vec<_> = all
        .iter()
        .map(|column| shown_column(column, live.show_totals))
        .collect();
    let selected = live.selected_process_id.and_then(|id| {
        listed
            .iter()
            .position(|process| (process.pid, process.tid) == id)
    });
    let order = live.visible_process_order();
    // Without a column: by reads and writes together.
    let sorted_by: Vec<_> = match order.column {
        Some(column) => vec![column],
        None => byte_columns(),
    };
    let sorted_by: Vec<_> = sorted_by
        .into_iter()
        .map(|column| shown_column(column, live.show_totals))
        .collect();
    let table = EntityTable {
        title: "PROCESSES",
        columns: &columns,
        rows: &listed,
        cell: &cell,
        selected_row: selected.filter(|_| live.focused_list == LiveList::Processes),
        sorted_by: &sorted_by,
        descending: order.descending,
        theme,
    };
    let drawn = table.draw(area, buf);
    let is_drawn =
        |column: &&ProcessColumn| drawn.contains(&shown_column(column, live.show_totals));
    let visible = all.iter().filter(is_drawn).map(|column| column.index());
    live.process_columns.record(visible);
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

/// A cell that is not simply its value: why it is unknown, warnings, the tree.
fn cell(
    process: &ProcessView,
    column: ProcessColumn,
    (depth, missing): (usize, MissingWords),
    width: u16,
    theme: Theme,
) -> Option<Line<'static>> {
    let value = (column.get)(process);
    let faint = |word: &'static str| Some(Line::styled(word, theme.role_style(StyleRole::Faint)));
    match (column.key, &value) {
        ("pid", _) if is_program(process) => faint("-"),
        ("command", _) => {
            let indent = "  ".repeat(depth.min(8));
            let room = width.saturating_sub(indent.len() as u16);
            let command = cut_end(&command_text(process), room, theme);
            Some(Line::raw(format!("{indent}{command}")))
        }
        (_, Value::Unknown) if is_program(process) => faint("-"),
        ("pid", _) if process.exited => Some(pid_cell(process.pid)),
        ("pid", _) => Some(pid_cell(process.tid)),
        ("io_wait" | "swap_in", Value::Unknown) => faint(missing.delays),
        ("cached", Value::Unknown) => faint(missing.counters),
        (_, Value::Unknown) if column.unit.cell_unit() == "MB/s" => faint(missing.counters),
        ("io_wait", Value::Number(share)) if *share >= IO_WAIT_WARNING => {
            warned(column, &value, theme)
        }
        ("swap_in", Value::Number(share)) if *share > 0.0 => warned(column, &value, theme),
        ("state", _) => Some(state_cell(process, value.cell(column.unit), theme)),
        _ => None,
    }
}

fn warned(column: ProcessColumn, value: &Value, theme: Theme) -> Option<Line<'static>> {
    let style = theme.role_style(StyleRole::Warning);
    Some(Line::styled(value.cell(column.unit), style))
}

fn pid_cell(pid: u32) -> Line<'static> {
    Line::raw(format!("{pid:>PID_WIDTH$}"))
}

fn state_cell(process: &ProcessView, word: String, theme: Theme) -> Line<'static> {
    let role = match process.state {
        _ if process.exited => StyleRole::Faint,
        Some('D' | 'T' | 't') => StyleRole::Warning,
        Some('R') => StyleRole::Plain,
        _ => StyleRole::Faint,
    };
    Line::styled(word, theme.role_style(role))
}
