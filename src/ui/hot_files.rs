//! The pane of hot files.
//!
//! ```text
//!  files on sda   1.02 GB in 12 s   metadata 4.1 MB, unknown 0 B   <- scope, sum, missing data
//!  FILES                 rMB  wMB   p50 ms   p99 ms   process      <- those with most bytes first
//!  /srv/db/base/16384   read by postgres 4711, ...                 <- the selected line in full
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use crate::app::hot_files::{HotFilesScope, HotFilesState};
use crate::columns::{self, file_name, process_name};
use crate::report::hot_files::other_bytes;
use crate::trace::hot_files::view::{HotFileView, HotFilesView};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::table::EntityTable;
use crate::tui::widgets::text::{cut_end, grouped_thousands, wrap_text};
use crate::units;

/// Processes of the selected file that are named.
const MAX_USERS: usize = 6;
/// Rows below the list.
const FOOT_ROWS: u16 = 3;

/// Draws the pane.
pub(super) fn draw(state: &HotFilesState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = with_side_margins(area);
    let Some(view) = state.view.as_deref() else {
        return draw_unavailable(state, theme, area, buf);
    };
    let files = state.files();
    let [top, files_area, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(2),
        Constraint::Length(FOOT_ROWS),
    ])
    .areas(area);
    draw_heading(state, view, theme, top, buf);
    let mut columns: Vec<_> = columns::on_screen::<HotFileView>().collect();
    // The file is what the list is of.
    columns.rotate_right(1);
    let selected_row = state.selected_index(files.len());
    let table = EntityTable {
        title: "FILES",
        columns: &columns,
        rows: &files,
        cell: &|_, _, _| None,
        selected_row,
        sorted_by: &[],
        descending: false,
        theme,
    };
    table.draw(files_area, buf);
    if let Some(row) = files_area.rows().nth(1).filter(|_| files.is_empty()) {
        let faint = theme.role_style(StyleRole::Faint);
        Line::styled("no requests of files yet", faint).render(row, buf);
    }
    let selected = selected_row.and_then(|index| files.get(index));
    let lines = selected.map_or_else(Vec::new, |file| foot_lines(file, area.width));
    for (row, line) in foot.rows().skip(1).zip(lines) {
        line.render(row, buf);
    }
}

fn draw_unavailable(state: &HotFilesState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let faint = theme.role_style(StyleRole::Faint);
    let lines = match &state.unavailable {
        Some(unavailable) => vec![
            Line::styled(
                unavailable.reason.clone(),
                theme.role_style(StyleRole::Warning),
            ),
            Line::raw(""),
            Line::raw(unavailable.advice.clone()),
        ],
        None => vec![Line::styled(
            "tracing which files the requests belong to",
            faint,
        )],
    };
    Paragraph::new(lines)
        .wrap(Wrap { trim: true })
        .render(area, buf);
}

fn draw_heading(
    state: &HotFilesState,
    view: &HotFilesView,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let scope = match &state.scope {
        Some(HotFilesScope::Process { pid, command }) => format!("files of {pid} {command}"),
        Some(HotFilesScope::Device { name, .. }) => format!("files on {name}"),
        Some(HotFilesScope::Everything) | None => "files on all devices".to_owned(),
    };
    let duration = std::time::Duration::from_nanos(view.duration_ns);
    let total = format!(
        "   {} in {}",
        units::format_capacity(view.total_bytes() as f64),
        units::format_wait(duration)
    );
    let scope = cut_end(&scope, area.width.saturating_sub(30), theme);
    let mut first = Line::styled(scope, theme.role_style(StyleRole::Title));
    first.push_span(Span::raw(total));
    if state.scope != Some(HotFilesScope::Everything) {
        first.push_span(Span::styled(
            " on all devices",
            theme.role_style(StyleRole::Faint),
        ));
    }
    let mut second = warnings(state, view, theme);
    second.push_span(Span::styled(
        other_bytes(view),
        theme.role_style(StyleRole::Faint),
    ));
    for (row, line) in area.rows().zip([first, second]) {
        line.render(row, buf);
    }
}

/// What makes the numbers less than they should be; it comes first, so that it is never cut off.
fn warnings(state: &HotFilesState, view: &HotFilesView, theme: Theme) -> Line<'static> {
    let mut texts = Vec::new();
    if let Some(unavailable) = &state.unavailable {
        texts.push((unavailable.reason.to_string(), StyleRole::Error));
    }
    if view.events_lost > 0 {
        let lost = grouped_thousands(view.events_lost as f64);
        texts.push((format!("{lost} events lost: too low"), StyleRole::Error));
    }
    let spans = texts.into_iter().map(|(text, role)| {
        let style = theme.role_style(role);
        Span::styled(format!("{text}   "), style)
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// The selected file in full, and who uses it.
fn foot_lines(file: &HotFileView, width: u16) -> Vec<Line<'static>> {
    let users = file.who.iter().take(MAX_USERS);
    let users: Vec<String> = users
        .map(|user| {
            let bytes = units::format_capacity(user.bytes as f64);
            let unit = user.process.unit.as_ref();
            let unit = unit.map_or_else(String::new, |unit| format!(" of {unit}"));
            format!("{}{unit} {bytes}", process_name(&user.process))
        })
        .collect();
    let text = format!("{}   {}", file_name(&file.file), users.join(", "));
    wrap_text(&text, width).into_iter().map(Line::raw).collect()
}
