//! The latest requests.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::{meaning, time};
use crate::app::requests::RequestsState;
use crate::model::requests::{Request, RequestsView};
use crate::printable::printable;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::table::{Column, Table};
use crate::ui::widgets::text::cut_end;
use crate::units;

const COLUMNS: [Column; 10] = [
    Column::number("LATEST s", "LATEST s", 10, 0),
    Column::number("pid", "pid", 7, 3),
    Column::words("process", 12, 6, 0),
    Column::words("does", 7, 0, 0),
    Column::words("flags", 5, 0, 4),
    Column::number("sector", "sector", 11, 1),
    Column::number("size", "size", 7, 0),
    Column::number("in queue", "queue", 8, 0),
    Column::number("in drive", "drive", 8, 0),
    Column::number("total", "total", 8, 2),
];

/// Draws them.
pub(super) fn draw(
    requests: &RequestsState,
    view: &RequestsView,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let listed = requests.listed();
    let height = usize::from(area.height.saturating_sub(1));
    requests.viewport.begin();
    requests.viewport.measure(listed.len(), height);
    let listed = &listed[requests.viewport.first().min(listed.len())..];
    let cell = |row: usize, column: usize, width: u16| {
        cell_of(listed[row], column, width, view.began, look)
    };
    let table = Table {
        columns: &COLUMNS,
        rows: listed.len(),
        cell: &cell,
        selected: None,
        sorted: None,
        look,
    };
    (&table).render(area, buf);
}

fn cell_of(request: &Request, column: usize, width: u16, began: u64, look: Look) -> Line<'static> {
    let stages = request.times.stages();
    let of = |value: Option<u64>| time(value.map(|value| value as f64), look);
    let charged = request.charged();
    let dash = || Line::styled("-", look.style(Meaning::Faint));
    match column {
        0 => {
            let seconds = request.times.first().saturating_sub(began) as f64 / 1e9;
            Line::raw(format!("{seconds:.5}"))
        }
        1 => charged.map_or_else(dash, |actor| Line::raw(actor.pid.to_string())),
        2 => {
            let star = if request.dirtied_by.is_some() {
                "*"
            } else {
                ""
            };
            charged.map_or_else(dash, |actor| {
                let name = printable(actor.name.bytes()) + star;
                Line::raw(cut_end(&name, width, look))
            })
        }
        3 if request.error != 0 => Line::styled(
            format!("{}!", request.operation.word()),
            look.style(Meaning::Trouble),
        ),
        3 => Line::styled(
            request.operation.word(),
            look.style(meaning(request.operation)),
        ),
        4 => Line::raw(printable(request.flags.bytes())),
        5 => Line::raw(request.sector.to_string()),
        6 => Line::raw(units::block_size(request.bytes as f64)),
        7 => of(stages.q2d),
        8 => of(stages.d2c),
        _ => of(stages.q2c),
    }
}
