//! The latest requests.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::files::printable::printable_bytes;
use crate::tui::screens::requests::cells::{operation_role, time_cell};
use crate::tui::screens::requests::state::{ListedRequest, RequestOrder, RequestsState};
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::table::{SortMark, TableColumn, TableWidget};
use crate::tui::widgets::text::{cut_end, wrap_text};
use crate::units;

const COLUMNS: [TableColumn; 11] = [
    TableColumn::numeric("TIME, s", "TIME, s", 9, 0),
    TableColumn::numeric("pid", "pid", 7, 3),
    TableColumn::text("process", 10, 8, 0),
    TableColumn::text("op", 7, 0, 0),
    TableColumn::text("RWBS", 5, 0, 1),
    TableColumn::numeric("sector", "sector", 11, 4),
    TableColumn::numeric("size", "size", 7, 0),
    TableColumn::numeric("seek", "seek", 8, 2),
    TableColumn::numeric("Q2D", "Q2D", 7, 0),
    TableColumn::numeric("D2C", "D2C", 7, 0),
    TableColumn::numeric("Q2C", "Q2C", 8, 0),
];
/// The column that the list can be sorted by.
const TOTAL_COLUMN: usize = 10;

/// Marks and flags of the list; the details of a request spell its flags out.
const LEGEND: &str = "R read W write D discard F flush A ahead S sync M meta; ! failed; \
                      * writeback of what the process dirtied; \
                      seek: from the end of the previous request";
/// Rows that the legend takes at most.
const MAX_LEGEND_ROWS: usize = 2;

/// Draws the requests, and below them what the marks mean.
pub(super) fn draw(
    requests: &RequestsState,
    view: &RequestsView,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let mut legend_lines = wrap_text(LEGEND, area.width);
    legend_lines.truncate(MAX_LEGEND_ROWS);
    let legend_rows = legend_lines.len() as u16;
    let [table_area, legend] =
        Layout::vertical([Constraint::Min(0), Constraint::Length(legend_rows)]).areas(area);
    let listed = requests.visible_requests();
    requests
        .page_rows
        .set(Some(table_area.height.saturating_sub(1)));
    let cell = |row: usize, column: usize, width: u16| {
        cell_of(listed[row], column, width, view.started_at, theme)
    };
    let sorted_by = (requests.order == RequestOrder::Slowest).then_some(SortMark {
        column: TOTAL_COLUMN,
        second_column: None,
        descending: true,
    });
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: listed.len(),
        cell: &cell,
        selected_row: Some(requests.selected_index(&listed)),
        sorted_by,
        theme,
    };
    (&table).render(table_area, buf);
    for (text, row) in legend_lines.into_iter().zip(legend.rows()) {
        Line::styled(text, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
}

fn cell_of(
    listed: ListedRequest<'_>,
    column: usize,
    width: u16,
    started_at: u64,
    theme: Theme,
) -> Line<'static> {
    let request = listed.request;
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
            Line::raw(format!("{seconds:.4}"))
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
        7 => listed
            .seek_bytes
            .map_or_else(dash, |bytes| Line::raw(seek_text(bytes))),
        8 => of(stages.q2d),
        9 => of(stages.d2c),
        _ => of(stages.q2c),
    }
}

/// A seek distance with its direction; 0 is sequential.
pub(super) fn seek_text(bytes: i64) -> String {
    let sign = match bytes {
        0 => return "0".to_owned(),
        ..0 => '-',
        _ => '+',
    };
    format!(
        "{sign}{}",
        units::format_capacity(bytes.unsigned_abs() as f64)
    )
}
