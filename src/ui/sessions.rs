//! The list of saved sessions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::SessionEntry;
use crate::app::sessions::{SessionStatus, SessionsState};
use crate::report::compare::words::session_letter;
use crate::session::document::RunState;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::table::{TableColumn, TableWidget};
use crate::ui::widgets::text::{cut_end, cut_start, format_time};

mod comparison;
mod metrics;
mod roles;

const COLUMNS: [TableColumn; 5] = [
    TableColumn::text("SESSIONS", 21, 0, 0),
    TableColumn::text("benchmarks", 20, 40, 0),
    TableColumn::text("main metric", 14, 14, 0),
    TableColumn::text("state", 11, 0, 1),
    TableColumn::text("file", 20, 60, 2),
];

/// Draws the list.
pub(super) fn draw(sessions: &SessionsState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    if let Some(comparison) = &sessions.comparison {
        return comparison::draw(comparison, theme, area, buf);
    }
    let entries = match &sessions.entries {
        None => {
            return draw_text(
                "reading the saved sessions",
                StyleRole::Faint,
                theme,
                area,
                buf,
            );
        }
        Some(Err(error)) => {
            return draw_text(&error.to_string(), StyleRole::Error, theme, area, buf);
        }
        Some(Ok(entries)) if entries.is_empty() => {
            let text = "no saved sessions: press b to run a benchmark";
            return draw_text(text, StyleRole::Faint, theme, area, buf);
        }
        Some(Ok(entries)) => entries,
    };
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let entry = &entries[row];
        let path = entry.path.to_string_lossy();
        match column {
            0 => Line::raw(cut_end(&started_cell(sessions, entry), width, theme)),
            1 => Line::raw(cut_end(&entry.summary, width, theme)),
            2 => Line::styled(
                cut_end(&entry.headline, width, theme),
                theme.role_style(match entry.is_invalid {
                    true => StyleRole::Error,
                    false => StyleRole::Title,
                }),
            ),
            3 => Line::raw(cut_end(status_label(entry.status), width, theme)),
            _ => Line::styled(
                cut_start(&path, width, theme),
                theme.role_style(StyleRole::Faint),
            ),
        }
    };
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: entries.len(),
        cell: &cell,
        selected_row: Some(sessions.cursor),
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
}

fn status_label(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Unreadable => "unreadable",
        SessionStatus::Empty => "empty",
        SessionStatus::LastRun(RunState::Running) => "running",
        SessionStatus::LastRun(RunState::Finished) => "finished",
        SessionStatus::LastRun(RunState::Interrupted) => "interrupted",
        SessionStatus::LastRun(RunState::Failed) => "failed",
    }
}

/// Start time of the session, preceded by its letter where it is marked.
fn started_cell(sessions: &SessionsState, entry: &SessionEntry) -> String {
    let place = sessions
        .marked_paths
        .iter()
        .position(|path| *path == entry.path);
    let mark = place.map_or_else(String::new, session_letter);
    format!("{mark:2}{}", format_time(&entry.started))
}

fn draw_text(text: &str, role: StyleRole, theme: Theme, area: Rect, buf: &mut Buffer) {
    Line::styled(cut_end(text, area.width, theme), theme.role_style(role)).render(area, buf);
}
