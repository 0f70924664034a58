//! The processes of the Live screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::app::live::tree::depths;
use crate::app::process::{ProcessColumn, moved};
use crate::model::live::ProcessView;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::table::{Column, Table, number_cell};
use crate::ui::widgets::text::{cut_end, unknown};
use crate::units;

/// In the order of [`ProcessColumn::ALL`].
const COLUMNS: [Column; 11] = [
    Column::words("PROCESSES", 9, 0, 0),
    Column::words("user", 8, 4, 4),
    Column::number("read MB/s", "r MB/s", 7, 0),
    Column::number("write MB/s", "w MB/s", 7, 0),
    Column::number("cache", "cache", 6, 3),
    Column::number("io wait", "io wait", 8, 1),
    Column::number("swap in", "swap in", 7, 8),
    Column::words("class", 5, 0, 6),
    Column::words("device", 8, 6, 7),
    Column::words("state", 6, 0, 5),
    Column::words("command", 16, u16::MAX, 0),
];

/// Share of time waiting for I/O from which on it is worth a look.
const WAITING: f64 = 0.2;

/// Draws them.
pub(super) fn draw(live: &LiveState, look: Look, area: Rect, buf: &mut Buffer) {
    let listed = live.processes();
    let depths = live.tree.then(|| depths(&listed));
    let cell = |row: usize, column: usize, width: u16| {
        let depth = depths.as_ref().map_or(0, |depths| depths[row]);
        cell_of(listed[row], (depth, live.totals), column, width, look)
    };
    let columns = headings(live.totals);
    let selected = live.selected.and_then(|id| {
        listed
            .iter()
            .position(|process| (process.pid, process.tid) == id)
    });
    let sorted = live.order.column.map(|column| {
        let place = ProcessColumn::ALL.iter().position(|known| *known == column);
        (place.unwrap_or(0), live.order.descending)
    });
    let table = Table {
        columns: &columns,
        rows: listed.len(),
        cell: &cell,
        selected: selected.filter(|_| !live.on_devices),
        sorted,
        look,
    };
    (&table).render(area, buf);
    if listed.is_empty() && area.height > 1 {
        let row = Rect::new(area.x, area.y + 1, area.width, 1);
        let text = if live.filter.is_empty() {
            "no process does I/O"
        } else {
            "no process matches the filter"
        };
        Line::styled(text, look.style(Meaning::Faint)).render(row, buf);
    }
}

/// The columns; what was moved in all has no time in its unit.
fn headings(totals: bool) -> [Column; 11] {
    let mut columns = COLUMNS;
    if totals {
        columns[2] = Column::number("read MB", "r MB", 7, 0);
        columns[3] = Column::number("write MB", "w MB", 7, 0);
    }
    columns
}

fn cell_of(
    process: &ProcessView,
    (depth, totals): (usize, bool),
    column: usize,
    width: u16,
    look: Look,
) -> Line<'static> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let (read, written) = moved(process, totals);
    match ProcessColumn::ALL[column] {
        ProcessColumn::Pid => Line::raw(format!("{:>7}", process.tid)),
        ProcessColumn::User => match &process.user {
            Some(user) => Line::raw(cut_end(user, width, look)),
            None => Line::from(unknown(look)),
        },
        ProcessColumn::Read => number_cell(read, mega, Meaning::Read, look),
        ProcessColumn::Write => number_cell(written, mega, Meaning::Write, look),
        ProcessColumn::Cache => match (process.cached, process.asked_read_bytes_per_s) {
            (None, Some(_)) => Line::styled("-", look.style(Meaning::Faint)),
            (share, _) => number_cell(share, percent, Meaning::Plain, look),
        },
        ProcessColumn::IoWait => {
            let meaning = match process.io_wait {
                Some(share) if share >= WAITING => Meaning::Waiting,
                _ => Meaning::Plain,
            };
            number_cell(process.io_wait, percent, meaning, look)
        }
        ProcessColumn::SwapIn => number_cell(process.swap_in, percent, Meaning::Waiting, look),
        ProcessColumn::Class => match &process.priority {
            Some(class) => Line::raw(class.clone()),
            None => Line::from(unknown(look)),
        },
        ProcessColumn::Device => Line::raw(cut_end(&process.devices.join(","), width, look)),
        ProcessColumn::State => state(process.state, look),
        ProcessColumn::Command => {
            let indent = "  ".repeat(depth.min(8));
            let command = format!("{indent}{}", process.command);
            Line::raw(cut_end(&command, width, look))
        }
    }
}

/// Bytes per second in MB/s, small ones not rounded to nothing.
fn mega(bytes: f64) -> String {
    let mega = bytes / 1e6;
    if bytes == 0.0 {
        "0".to_owned()
    } else if mega < 0.01 {
        "<0.01".to_owned()
    } else {
        units::three_digits(mega)
    }
}

/// The kernel's letter in words (proc_pid_stat(5)).
fn state(state: Option<char>, look: Look) -> Line<'static> {
    let (word, meaning) = match state {
        None => return Line::from(unknown(look)),
        Some('D') => ("disk", Meaning::Waiting),
        Some('R') => ("run", Meaning::Plain),
        Some('S' | 'I') => ("sleep", Meaning::Faint),
        Some('T' | 't') => ("stop", Meaning::Waiting),
        Some('Z') => ("zombie", Meaning::Faint),
        Some(_) => ("other", Meaning::Faint),
    };
    Line::styled(word, look.style(meaning))
}
