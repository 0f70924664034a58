//! Latency by operation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::tui::screens::requests::cells::{operation_role, time_cell};
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::table::{TableColumn, TableWidget};
use crate::tui::widgets::text::grouped_thousands;
use crate::units;

const COLUMNS: [TableColumn; 9] = [
    TableColumn::text("OPERATIONS", 10, 2, 0),
    TableColumn::numeric("count", "count", 9, 0),
    TableColumn::numeric("bytes", "bytes", 7, 1),
    TableColumn::numeric("Q2D mean", "Q2D", 7, 0),
    TableColumn::numeric("D2C mean", "D2C", 7, 0),
    TableColumn::numeric("Q2C p50", "p50", 7, 2),
    TableColumn::numeric("Q2C p99", "p99", 7, 0),
    TableColumn::numeric("Q2C max", "max", 7, 0),
    TableColumn::numeric("failed", "failed", 6, 3),
];

/// Draws the table.
pub(super) fn draw(view: &RequestsView, theme: Theme, area: Rect, buf: &mut Buffer) {
    let cell = |row: usize, column: usize, _: u16| -> Line<'static> {
        let one = &view.operations[row];
        let of = |value: Option<u64>| time_cell(value.map(|value| value as f64), theme);
        match column {
            0 => Line::styled(
                one.operation.name(),
                theme.role_style(operation_role(one.operation)),
            ),
            1 => Line::raw(grouped_thousands(one.counts.requests as f64)),
            2 => Line::raw(units::format_capacity(one.counts.bytes as f64)),
            3 => time_cell(one.q2d_mean_ns, theme),
            4 => time_cell(one.d2c_mean_ns, theme),
            5..=7 => of(one.q2c_ns[column - 5]),
            _ if one.counts.failed > 0 => Line::styled(
                one.counts.failed.to_string(),
                theme.role_style(StyleRole::Error),
            ),
            _ => Line::styled("0", theme.role_style(StyleRole::Faint)),
        }
    };
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: view.operations.len(),
        cell: &cell,
        selected_row: None,
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
}
