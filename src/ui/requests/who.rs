//! Threads that the requests are attributed to.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::time_cell;
use crate::model::requests::RequestsView;
use crate::safe_text::printable::printable_bytes;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::table::{TableColumn, TableWidget};
use crate::ui::widgets::text::{cut_end, grouped_thousands};
use crate::units;

const COLUMNS: [TableColumn; 7] = [
    TableColumn::text("WHO", 8, 0, 0),
    TableColumn::text("process", 16, 8, 0),
    TableColumn::numeric("requests", "requests", 9, 0),
    TableColumn::numeric("read", "read", 9, 0),
    TableColumn::numeric("written", "written", 9, 0),
    TableColumn::numeric("mean time", "mean", 8, 1),
    TableColumn::numeric("dirtied", "dirtied", 8, 2),
];

/// Draws the threads with the most bytes.
pub(super) fn draw(view: &RequestsView, look: Theme, area: Rect, buf: &mut Buffer) {
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let (actor, toll) = &view.top_threads[row];
        let bytes = |bytes: u64, meaning| {
            Line::styled(
                units::format_capacity(bytes as f64),
                look.role_style(meaning),
            )
        };
        match column {
            0 => match actor {
                Some(actor) => Line::raw(format!("{:>7}", actor.pid)),
                None => Line::styled("      -", look.role_style(StyleRole::Faint)),
            },
            1 => {
                let name = actor.map_or_else(
                    || "others, unknown".to_owned(),
                    |actor| printable_bytes(actor.name.as_bytes()),
                );
                Line::raw(cut_end(&name, width, look))
            }
            2 => Line::raw(grouped_thousands(toll.requests as f64)),
            3 => bytes(toll.read_bytes, StyleRole::Read),
            4 => bytes(toll.written_bytes, StyleRole::Write),
            5 => time_cell(toll.q2c.mean_ns(), look),
            _ => {
                let share = toll.writeback_requests as f64 / toll.requests.max(1) as f64;
                Line::styled(
                    units::format_percent(share),
                    look.role_style(StyleRole::Faint),
                )
            }
        }
    };
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: view.top_threads.len(),
        cell: &cell,
        selected_row: None,
        sorted_by: None,
        theme: look,
    };
    (&table).render(area, buf);
}
