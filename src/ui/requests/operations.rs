//! Response times by operation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::{meaning, time};
use crate::model::requests::RequestsView;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::table::{Column, Table};
use crate::ui::widgets::text::grouped;
use crate::units;

const COLUMNS: [Column; 9] = [
    Column::words("REQUESTS", 8, 2, 0),
    Column::number("count", "count", 9, 0),
    Column::number("moved", "moved", 8, 1),
    Column::number("in queue", "queue", 8, 0),
    Column::number("in drive", "drive", 8, 0),
    Column::number("p50", "p50", 8, 2),
    Column::number("p99", "p99", 8, 0),
    Column::number("max", "max", 8, 0),
    Column::number("failed", "failed", 6, 3),
];

/// Draws them.
pub(super) fn draw(view: &RequestsView, look: Look, area: Rect, buf: &mut Buffer) {
    let cell = |row: usize, column: usize, _: u16| -> Line<'static> {
        let one = &view.operations[row];
        let of = |value: Option<u64>| time(value.map(|value| value as f64), look);
        match column {
            0 => Line::styled(one.operation.word(), look.style(meaning(one.operation))),
            1 => Line::raw(grouped(one.requests as f64)),
            2 => Line::raw(units::capacity(one.bytes as f64)),
            3 => time(one.queue_ns, look),
            4 => time(one.drive_ns, look),
            5 => of(one.p50_ns),
            6 => of(one.p99_ns),
            7 => of(one.max_ns),
            _ if one.failed > 0 => {
                Line::styled(one.failed.to_string(), look.style(Meaning::Trouble))
            }
            _ => Line::styled("0", look.style(Meaning::Faint)),
        }
    };
    let table = Table {
        columns: &COLUMNS,
        rows: view.operations.len(),
        cell: &cell,
        selected: None,
        sorted: None,
        look,
    };
    (&table).render(area, buf);
}
