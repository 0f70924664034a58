//! The latest requests.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::requests::RequestsState;
use crate::model::requests::{RequestsView, TracedRequest};
use crate::safe_text::printable::printable_bytes;
use crate::ui::requests::cells::{operation_role, time_cell};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::table::{TableColumn, TableWidget};
use crate::ui::widgets::text::cut_end;
use crate::units;

const COLUMNS: [TableColumn; 10] = [
    TableColumn::numeric("TIME, s", "TIME, s", 10, 0),
    TableColumn::numeric("pid", "pid", 7, 3),
    TableColumn::text("process", 12, 6, 0),
    TableColumn::text("op", 7, 0, 0),
    TableColumn::text("RWBS", 5, 0, 4),
    TableColumn::numeric("sector", "sector", 11, 1),
    TableColumn::numeric("size", "size", 7, 0),
    TableColumn::numeric("Q2D", "Q2D", 8, 0),
    TableColumn::numeric("D2C", "D2C", 8, 0),
    TableColumn::numeric("Q2C", "Q2C", 8, 2),
];

/// Draws the requests.
pub(super) fn draw(
    requests: &RequestsState,
    view: &RequestsView,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let listed = requests.visible_requests();
    let height = usize::from(area.height.saturating_sub(1));
    requests.viewport.clear_extent();
    requests.viewport.record_extent(listed.len(), height);
    let listed = &listed[requests.viewport.first().min(listed.len())..];
    let cell = |row: usize, column: usize, width: u16| {
        cell_of(listed[row], column, width, view.started_at, theme)
    };
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: listed.len(),
        cell: &cell,
        selected_row: None,
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
}

fn cell_of(
    request: &TracedRequest,
    column: usize,
    width: u16,
    started_at: u64,
    theme: Theme,
) -> Line<'static> {
    let stages = request.timestamps.stages();
    let of = |value: Option<u64>| time_cell(value.map(|value| value as f64), theme);
    let actor = request.charged_actor();
    let dash = || Line::styled("-", theme.role_style(StyleRole::Faint));
    match column {
        0 => {
            let seconds = request
                .timestamps
                .first_timestamp()
                .saturating_sub(started_at) as f64
                / 1e9;
            Line::raw(format!("{seconds:.5}"))
        }
        1 => actor.map_or_else(dash, |actor| Line::raw(actor.pid.to_string())),
        2 => {
            let star = if request.dirtied_by.is_some() {
                "*"
            } else {
                ""
            };
            actor.map_or_else(dash, |actor| {
                let name = printable_bytes(actor.name.as_bytes()) + star;
                Line::raw(cut_end(&name, width, theme))
            })
        }
        3 if request.error != 0 => Line::styled(
            format!("{}!", request.operation.name()),
            theme.role_style(StyleRole::Error),
        ),
        3 => Line::styled(
            request.operation.name(),
            theme.role_style(operation_role(request.operation)),
        ),
        4 => Line::raw(printable_bytes(request.flags.as_bytes())),
        5 => Line::raw(request.sector.to_string()),
        6 => Line::raw(units::format_block_size(request.bytes as f64)),
        7 => of(stages.q2d),
        8 => of(stages.d2c),
        _ => of(stages.q2c),
    }
}
