//! Threads that the requests are attributed to.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::files::printable::printable_bytes;
use crate::tui::screens::requests::cells::time_cell;
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::table::{TableColumn, TableWidget};
use crate::tui::widgets::text::{cut_end, grouped_thousands};
use crate::units;

const COLUMNS: [TableColumn; 7] = [
    TableColumn::text("THREADS", 8, 0, 0),
    TableColumn::text("process", 16, 8, 0),
    TableColumn::numeric("requests", "requests", 9, 0),
    TableColumn::numeric("read", "read", 9, 0),
    TableColumn::numeric("written", "written", 9, 0),
    TableColumn::numeric("Q2C mean", "Q2C", 8, 1),
    TableColumn::numeric("writeback%", "writeback%", 10, 2),
];

/// Draws the threads with the most bytes.
pub(super) fn draw(view: &RequestsView, theme: Theme, area: Rect, buf: &mut Buffer) {
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let (actor, stats) = &view.top_threads[row];
        let bytes = |bytes: u64, role| {
            Line::styled(units::format_capacity(bytes as f64), theme.role_style(role))
        };
        match column {
            0 => match actor {
                Some(actor) => Line::raw(format!("{:>7}", actor.pid)),
                None => Line::styled("      -", theme.role_style(StyleRole::Faint)),
            },
            1 => {
                let name = actor.map_or_else(
                    || "others, unknown".to_owned(),
                    |actor| printable_bytes(actor.name.as_bytes()),
                );
                Line::raw(cut_end(&name, width, theme))
            }
            2 => Line::raw(grouped_thousands(stats.requests as f64)),
            3 => bytes(stats.read_bytes, StyleRole::Read),
            4 => bytes(stats.written_bytes, StyleRole::Write),
            5 => time_cell(stats.q2c.mean_ns(), theme),
            _ => Line::styled(
                format!("{:.0}", stats.writeback_share() * 100.0),
                theme.role_style(StyleRole::Faint),
            ),
        }
    };
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: view.top_threads.len(),
        cell: &cell,
        selected_row: None,
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
}
