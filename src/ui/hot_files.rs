//! The pane of hot files.
//!
//! ```text
//!  files on sda   1.02 GB in 12 s   metadata 4.1 MB, unknown 0 B   <- scope, sum, missing data
//!  FILES                 rMB  wMB   p50 ms   p99 ms   process      <- those with most bytes first
//!  SYNC CALLS    calls   time ms    p99 ms    max ms  process FILE <- those with most time first
//!  /srv/db/base/16384   read by postgres 4711, ...                 <- the selected line in full
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use crate::app::hot_files::{HotFilesList, HotFilesScope, HotFilesState};
use crate::columns::{self, Column, Entity, file_name, process_name, sync_user_name};
use crate::report::hot_files::other_bytes;
use crate::trace::hot_files::view::{HotFileView, HotFilesView, SyncView};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::table::EntityTable;
use crate::tui::widgets::text::{cut_end, grouped_thousands, wrap_text};
use crate::units;

/// Processes of the selected file that are named.
const MAX_USERS: usize = 6;
/// Rows below the lists.
const FOOT_ROWS: u16 = 3;

/// Draws the pane.
pub(super) fn draw(state: &HotFilesState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = with_side_margins(area);
    let Some(view) = state.view.as_deref() else {
        return draw_unavailable(state, theme, area, buf);
    };
    let (files, syncs) = (state.files(), state.syncs());
    let rows = |count: usize| u16::try_from(count.max(1)).unwrap_or(u16::MAX);
    let room = area.height.saturating_sub(FOOT_ROWS + 3);
    // A list with few lines leaves its room to the other one.
    let wanted = rows(syncs.len()).saturating_add(1);
    let syncs_height = wanted.min((room / 3).max(room.saturating_sub(rows(files.len()) + 1)));
    let [top, files_area, _, syncs_area, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(2),
        Constraint::Length(1),
        Constraint::Length(syncs_height),
        Constraint::Length(FOOT_ROWS),
    ])
    .areas(area);
    draw_heading(state, view, theme, top, buf);
    let mut file_columns: Vec<_> = columns::on_screen::<HotFileView>().collect();
    // The file is what the list is of.
    file_columns.rotate_right(1);
    let file_list = ListTable {
        title: "FILES",
        columns: &file_columns,
        rows: &files,
        selected_row: state.selected_index(HotFilesList::Files, files.len()),
        empty_text: "no requests of files yet",
    };
    file_list.draw(theme, files_area, buf);
    let sync_columns: Vec<_> = columns::on_screen::<SyncView>().collect();
    let sync_list = ListTable {
        title: "SYNC CALLS",
        columns: &sync_columns,
        rows: &syncs,
        selected_row: state.selected_index(HotFilesList::Syncs, syncs.len()),
        empty_text: "no fsync or similar call yet",
    };
    sync_list.draw(theme, syncs_area, buf);
    let lines = foot_lines(state, &files, &syncs, area.width);
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

/// One of the two lists, and what it says while it is empty.
struct ListTable<'a, E: Entity> {
    title: &'static str,
    columns: &'a [&'static Column<E>],
    rows: &'a [&'a E],
    selected_row: Option<usize>,
    empty_text: &'static str,
}

impl<E: Entity> ListTable<'_, E> {
    fn draw(&self, theme: Theme, area: Rect, buf: &mut Buffer) {
        let table = EntityTable {
            title: self.title,
            columns: self.columns,
            rows: self.rows,
            cell: &|_, _, _| None,
            selected_row: self.selected_row,
            sorted_by: &[],
            descending: false,
            theme,
        };
        table.draw(area, buf);
        if let Some(row) = area.rows().nth(1).filter(|_| self.rows.is_empty()) {
            Line::styled(self.empty_text, theme.role_style(StyleRole::Faint)).render(row, buf);
        }
    }
}

/// The selected line in full, and for files who uses them.
fn foot_lines(
    state: &HotFilesState,
    files: &[&HotFileView],
    syncs: &[&SyncView],
    width: u16,
) -> Vec<Line<'static>> {
    let file = state.selected_index(HotFilesList::Files, files.len());
    let sync = state.selected_index(HotFilesList::Syncs, syncs.len());
    let text = if let Some(file) = file.and_then(|index| files.get(index)) {
        let users = file.who.iter().take(MAX_USERS);
        let users: Vec<String> = users
            .map(|user| {
                let bytes = units::format_capacity(user.bytes as f64);
                let unit = user.process.unit.as_ref();
                let unit = unit.map_or_else(String::new, |unit| format!(" of {unit}"));
                format!("{}{unit} {bytes}", process_name(&user.process))
            })
            .collect();
        format!("{}   {}", file_name(&file.file), users.join(", "))
    } else if let Some(sync) = sync.and_then(|index| syncs.get(index)) {
        let file = sync.file.as_ref().map_or_else(String::new, file_name);
        format!("{} {file}   {}", sync.call, sync_user_name(sync))
    } else {
        return Vec::new();
    };
    wrap_text(&text, width).into_iter().map(Line::raw).collect()
}
