//! Whose requests they are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::time;
use crate::model::requests::RequestsView;
use crate::printable::printable;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::table::{Column, Table};
use crate::ui::widgets::text::{cut_end, grouped};
use crate::units;

const COLUMNS: [Column; 7] = [
    Column::words("WHO", 8, 0, 0),
    Column::words("process", 16, 8, 0),
    Column::number("requests", "requests", 9, 0),
    Column::number("read", "read", 9, 0),
    Column::number("written", "written", 9, 0),
    Column::number("mean time", "mean", 8, 1),
    Column::number("dirtied", "dirtied", 8, 2),
];

/// Draws those that moved most.
pub(super) fn draw(view: &RequestsView, look: Look, area: Rect, buf: &mut Buffer) {
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let (actor, toll) = &view.top[row];
        let bytes =
            |bytes: u64, meaning| Line::styled(units::capacity(bytes as f64), look.style(meaning));
        match column {
            0 => match actor {
                Some(actor) => Line::raw(format!("{:>7}", actor.pid)),
                None => Line::styled("      -", look.style(Meaning::Faint)),
            },
            1 => {
                let name = actor.map_or_else(
                    || "others, unknown".to_owned(),
                    |actor| printable(actor.name.bytes()),
                );
                Line::raw(cut_end(&name, width, look))
            }
            2 => Line::raw(grouped(toll.requests as f64)),
            3 => bytes(toll.read_bytes, Meaning::Read),
            4 => bytes(toll.written_bytes, Meaning::Write),
            5 => time(toll.taken.mean(), look),
            _ => {
                let share = toll.written_back as f64 / toll.requests.max(1) as f64;
                Line::styled(units::percent(share), look.style(Meaning::Faint))
            }
        }
    };
    let table = Table {
        columns: &COLUMNS,
        rows: view.top.len(),
        cell: &cell,
        selected: None,
        sorted: None,
        look,
    };
    (&table).render(area, buf);
}
