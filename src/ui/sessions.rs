//! The list of saved sessions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::look::{Look, Meaning};
use super::widgets::table::{Column, Table};
use super::widgets::text::{cut_end, cut_start, moment};
use crate::app::sessions::SessionsState;

const COLUMNS: [Column; 5] = [
    Column::words("SESSIONS", 19, 0, 0),
    Column::words("tests", 22, 40, 0),
    Column::words("headline", 14, 14, 0),
    Column::words("state", 11, 0, 1),
    Column::words("file", 20, 60, 2),
];

/// Draws it.
pub(super) fn draw(sessions: &SessionsState, look: Look, area: Rect, buf: &mut Buffer) {
    let area = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    let entries = match &sessions.entries {
        None => return say("reading the list", Meaning::Faint, look, area, buf),
        Some(Err(message)) => return say(message, Meaning::Trouble, look, area, buf),
        Some(Ok(entries)) if entries.is_empty() => {
            let text = "no session is saved yet: press b to measure a drive";
            return say(text, Meaning::Faint, look, area, buf);
        }
        Some(Ok(entries)) => entries,
    };
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let entry = &entries[row];
        let path = entry.path.to_string_lossy();
        match column {
            0 => Line::raw(cut_end(&moment(&entry.started), width, look)),
            1 => Line::raw(cut_end(&entry.summary, width, look)),
            2 => Line::styled(
                cut_end(&entry.headline, width, look),
                look.style(Meaning::Title),
            ),
            3 => Line::raw(cut_end(&entry.state, width, look)),
            _ => Line::styled(cut_start(&path, width, look), look.style(Meaning::Faint)),
        }
    };
    let table = Table {
        columns: &COLUMNS,
        rows: entries.len(),
        cell: &cell,
        selected: Some(sessions.cursor),
        sorted: None,
        look,
    };
    (&table).render(area, buf);
}

fn say(text: &str, meaning: Meaning, look: Look, area: Rect, buf: &mut Buffer) {
    Line::styled(cut_end(text, area.width, look), look.style(meaning)).render(area, buf);
}
