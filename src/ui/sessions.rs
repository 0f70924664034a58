//! The list of saved sessions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::look::{Look, Meaning};
use super::widgets::table::{Column, Table};
use super::widgets::text::{cut_end, cut_start, moment};
use crate::app::SessionEntry;
use crate::app::sessions::SessionsState;
use crate::session::compare::words::letter;

mod comparison;
mod figures;

const COLUMNS: [Column; 5] = [
    Column::words("SESSIONS", 21, 0, 0),
    Column::words("tests", 20, 40, 0),
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
    if let Some(comparison) = &sessions.comparison {
        return comparison::draw(comparison, look, area, buf);
    }
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
            0 => Line::raw(cut_end(&marked(sessions, entry), width, look)),
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

/// When the session began, its letter in front where it is marked.
fn marked(sessions: &SessionsState, entry: &SessionEntry) -> String {
    let place = sessions.marked.iter().position(|path| *path == entry.path);
    let mark = place.map_or_else(String::new, letter);
    format!("{mark:2}{}", moment(&entry.started))
}

fn say(text: &str, meaning: Meaning, look: Look, area: Rect, buf: &mut Buffer) {
    Line::styled(cut_end(text, area.width, look), look.style(meaning)).render(area, buf);
}
