//! Draws the list of saved sessions.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::report::words::session_letter;
use crate::session::document::RunState;
use crate::tui::screens::sessions::draw_comparison;
use crate::tui::screens::sessions::state::{
    SessionEntry, SessionInput, SessionStatus, SessionsState,
};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::table::{TableColumn, TableWidget};
use crate::tui::widgets::text::{cut_end, cut_start, input_line, right_aligned};
use crate::units;

const COLUMNS: [TableColumn; 8] = [
    TableColumn::text("SESSIONS", 21, 4, 0),
    TableColumn::text("benchmarks", 23, 30, 0),
    TableColumn::text("main metric", 20, 10, 0),
    TableColumn::text("state", 11, 0, 1),
    TableColumn::text("model", 16, 10, 2),
    TableColumn::text("note", 12, 30, 3),
    TableColumn::text("parameters", 20, 30, 4),
    TableColumn::text("file", 20, 40, 5),
];

/// The column of notes: left out while no listed session has one.
const NOTE_COLUMN: usize = 5;

/// Rows below the list: what the columns do not show of the selected session.
const DETAIL_ROWS: u16 = 4;

/// Draws the list.
pub(super) fn draw(sessions: &SessionsState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = with_side_margins(area);
    if let Some(comparison) = &sessions.comparison {
        return draw_comparison::draw(comparison, theme, area, buf);
    }
    let text = |text: &str, role, area, buf: &mut Buffer| draw_text(text, role, theme, area, buf);
    match &sessions.entries {
        None => text("reading the saved sessions", StyleRole::Faint, area, buf),
        Some(Err(error)) => text(&error.to_string(), StyleRole::Error, area, buf),
        Some(Ok(entries)) if entries.is_empty() => {
            let advice = "no saved sessions: press b to run a benchmark";
            text(advice, StyleRole::Faint, area, buf);
        }
        Some(Ok(entries)) => draw_list(sessions, entries.len(), theme, area, buf),
    }
}

fn draw_list(sessions: &SessionsState, all: usize, theme: Theme, area: Rect, buf: &mut Buffer) {
    let shown = sessions.visible_entries();
    let filter_rows = u16::from(!sessions.filter.is_empty() || is_filter_typed(sessions));
    let [filter, list, details] = Layout::vertical([
        Constraint::Length(filter_rows),
        Constraint::Min(0),
        Constraint::Length(DETAIL_ROWS),
    ])
    .areas(area);
    draw_filter(sessions, shown.len(), all, theme, filter, buf);
    sessions.page_rows.set(Some(list.height.saturating_sub(1)));
    if shown.is_empty() {
        draw_text(
            "no session matches the filter",
            StyleRole::Faint,
            theme,
            list,
            buf,
        );
        return;
    }
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        entry_cell(sessions, shown[row], column, width, theme)
    };
    let mut columns = COLUMNS;
    if shown.iter().all(|entry| entry.note.is_none()) {
        columns[NOTE_COLUMN] = columns[NOTE_COLUMN].left_out();
    }
    let table = TableWidget {
        columns: &columns,
        row_count: shown.len(),
        cell: &cell,
        selected_row: Some(sessions.cursor),
        sorted_by: None,
        theme,
    };
    (&table).render(list, buf);
    if let Some(entry) = shown.get(sessions.cursor) {
        draw_details(sessions, entry, theme, details, buf);
    }
}

fn entry_cell(
    sessions: &SessionsState,
    entry: &SessionEntry,
    column: usize,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let plain = |text: &str| Line::raw(cut_end(text, width, theme));
    let faint = |text: String| Line::styled(text, theme.role_style(StyleRole::Faint));
    match column {
        0 => plain(&started_cell(sessions, entry)),
        1 => plain(&entry.summary),
        2 => metric_cell(entry, width, theme),
        3 => plain(status_label(entry.status)),
        4 => plain(entry.model.as_deref().unwrap_or_default()),
        NOTE_COLUMN => plain(entry.note.as_deref().unwrap_or_default()),
        6 => faint(cut_end(&entry.parameters, width, theme)),
        _ => faint(cut_start(&entry.path.to_string_lossy(), width, theme)),
    }
}

/// The main metric; of invalid metrics the check that says so instead.
fn metric_cell(entry: &SessionEntry, width: u16, theme: Theme) -> Line<'static> {
    match &entry.invalid_check {
        Some(check) => {
            let text = cut_end(&format!("! {check}"), width, theme);
            Line::styled(text, theme.role_style(StyleRole::Error))
        }
        None => Line::styled(
            cut_end(&entry.headline, width, theme),
            theme.role_style(StyleRole::Title),
        ),
    }
}

fn is_filter_typed(sessions: &SessionsState) -> bool {
    sessions.input == Some(SessionInput::Filter)
}

/// The filter, and how many of all sessions match.
fn draw_filter(
    sessions: &SessionsState,
    shown: usize,
    all: usize,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    if area.is_empty() {
        return;
    }
    let counts = format!("{shown} of {all}");
    let room = area.width.saturating_sub(counts.len() as u16 + 10);
    let mut line = Line::styled("filter: ", theme.role_style(StyleRole::Title));
    if is_filter_typed(sessions) {
        line.extend(input_line(&sessions.filter, room, theme, Style::new()).spans);
    } else {
        line.push_span(cut_end(&sessions.filter.as_string(), room, theme));
    }
    line.render(area, buf);
    right_aligned(counts, theme.role_style(StyleRole::Faint)).render(area, buf);
}

/// The selected session in full, and what is typed or asked about it.
fn draw_details(
    sessions: &SessionsState,
    entry: &SessionEntry,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let mut rows = area.rows().skip(1);
    let mut fact = |name: &str, value: Line<'static>| {
        if let Some(row) = rows.next() {
            let mut line = Line::styled(format!("{name:11}"), theme.role_style(StyleRole::Faint));
            line.extend(value.spans);
            line.render(row, buf);
        }
    };
    let room = area.width.saturating_sub(11);
    let cut = |text: &str| Line::raw(cut_end(text, room, theme));
    let mut about = entry.summary.to_string();
    if let Some(model) = &entry.model {
        about = format!("{about}, {model}");
    }
    match &sessions.input {
        Some(SessionInput::Deletion(path)) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let style = theme.role_style(StyleRole::Error);
            fact("delete", Line::styled(cut_end(&name, room, theme), style));
            fact("", cut("The file is removed and cannot be restored."));
            fact("", cut("y delete   n cancel"));
            return;
        }
        Some(SessionInput::Note(_, note)) => {
            fact("run", cut(&about));
            fact("note", input_line(note, room, theme, Style::new()));
            fact("", cut("Enter save   Esc cancel"));
            return;
        }
        Some(SessionInput::Filter) | None => {}
    }
    fact("run", cut(&about));
    fact("parameters", cut(&entry.parameters));
    match &entry.note {
        Some(note) => fact("note", cut(note)),
        None => {
            let path = entry.path.to_string_lossy();
            fact("file", Line::raw(cut_start(&path, room, theme)));
        }
    }
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
    format!("{mark:2}{}", units::format_time(&entry.started))
}

fn draw_text(text: &str, role: StyleRole, theme: Theme, area: Rect, buf: &mut Buffer) {
    Line::styled(cut_end(text, area.width, theme), theme.role_style(role)).render(area, buf);
}
