//! The pane of hot files.
//!
//! ```text
//!  files on sda   1.02 GB in 12 s   metadata 4.1 MB, unknown 0 B   <- scope, sum, missing data
//!  FILES                 read  written   p50   p99   who           <- those with most bytes first
//!  SYNC CALLS    count   time    p99    max  journal%  who  file   <- those with most time first
//!  /srv/db/base/16384   read by postgres 4711, ...                 <- the selected line in full
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use crate::app::hot_files::{HotFilesList, HotFilesScope, HotFilesState};
use crate::report::hot_files::{file_name, other_bytes, process_name, sync_user_name};
use crate::trace::hot_files::Access;
use crate::trace::hot_files::view::{HotFileView, HotFilesView, SyncView};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::table::{TableColumn, TableWidget, number_cell};
use crate::tui::widgets::text::{cut_end, cut_start, grouped_thousands, wrap_text};
use crate::units;

const FILE_COLUMNS: [TableColumn; 9] = [
    TableColumn::text("FILES", 22, 80, 0),
    TableColumn::numeric("read", "read", 8, 0),
    TableColumn::numeric("written", "written", 8, 0),
    TableColumn::numeric("reads", "reads", 8, 4),
    TableColumn::numeric("writes", "writes", 8, 4),
    TableColumn::numeric("p50", "p50", 8, 2),
    TableColumn::numeric("p99", "p99", 8, 0),
    TableColumn::text("access", 9, 0, 3),
    TableColumn::text("process", 16, 16, 1),
];

const SYNC_COLUMNS: [TableColumn; 9] = [
    TableColumn::text("SYNC CALLS", 15, 0, 0),
    TableColumn::numeric("calls", "calls", 6, 0),
    TableColumn::numeric("time", "time", 8, 0),
    TableColumn::numeric("p50", "p50", 8, 3),
    TableColumn::numeric("p99", "p99", 8, 2),
    TableColumn::numeric("max", "max", 8, 1),
    TableColumn::numeric("journal%", "jrnl%", 5, 1),
    TableColumn::text("process", 16, 16, 0),
    TableColumn::text("file", 14, 60, 2),
];

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
    let file_list = ListTable {
        list: HotFilesList::Files,
        columns: &FILE_COLUMNS,
        row_count: files.len(),
        cell: &|row, column, width| file_cell(files[row], column, width, theme),
        empty_text: "no requests of files yet",
    };
    draw_list(state, &file_list, theme, files_area, buf);
    let sync_list = ListTable {
        list: HotFilesList::Syncs,
        columns: &SYNC_COLUMNS,
        row_count: syncs.len(),
        cell: &|row, column, width| sync_cell(syncs[row], column, width, theme),
        empty_text: "no fsync or similar call yet",
    };
    draw_list(state, &sync_list, theme, syncs_area, buf);
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
    if let Some(share) = view.sampled_share() {
        let share = units::format_percent(share);
        texts.push((format!("sampled {share} of the time"), StyleRole::Warning));
    }
    let spans = texts.into_iter().map(|(text, role)| {
        let style = theme.role_style(role);
        Span::styled(format!("{text}   "), style)
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// One of the two lists, and what it says while it is empty.
struct ListTable<'a> {
    list: HotFilesList,
    columns: &'a [TableColumn],
    row_count: usize,
    cell: &'a dyn Fn(usize, usize, u16) -> Line<'static>,
    empty_text: &'static str,
}

fn draw_list(
    state: &HotFilesState,
    list: &ListTable<'_>,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let table = TableWidget {
        columns: list.columns,
        row_count: list.row_count,
        cell: list.cell,
        selected_row: state.selected_index(list.list, list.row_count),
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
    if let Some(row) = area.rows().nth(1).filter(|_| list.row_count == 0) {
        Line::styled(list.empty_text, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
}

fn file_cell(file: &HotFileView, column: usize, width: u16, theme: Theme) -> Line<'static> {
    let capacity = |bytes: u64, role| {
        let role = if bytes == 0 { StyleRole::Faint } else { role };
        Line::styled(units::format_capacity(bytes as f64), theme.role_style(role))
    };
    let count = |count: u64| Line::raw(grouped_thousands(count as f64));
    match column {
        0 => Line::raw(cut_start(&file_name(&file.file), width, theme)),
        1 => capacity(file.read_bytes, StyleRole::Read),
        2 => capacity(file.written_bytes, StyleRole::Write),
        3 => count(file.read_ios),
        4 => count(file.write_ios),
        5 => time_cell(file.p50_ns, theme),
        6 => time_cell(file.p99_ns, theme),
        7 => Line::styled(
            file.via.map_or("n/a", Access::name),
            theme.role_style(StyleRole::Faint),
        ),
        _ => {
            let mut users = file.who.iter().map(|user| process_name(&user.process));
            let first = users.next().unwrap_or_else(|| "n/a".to_owned());
            let more = match users.count() {
                0 => String::new(),
                more => format!(" +{more}"),
            };
            let room = width.saturating_sub(more.len() as u16);
            Line::raw(format!("{}{more}", cut_end(&first, room, theme)))
        }
    }
}

fn time_cell(nanoseconds: Option<u64>, theme: Theme) -> Line<'static> {
    let nanoseconds = nanoseconds.map(|time| time as f64);
    number_cell(nanoseconds, units::format_latency, StyleRole::Plain, theme)
}

fn sync_cell(sync: &SyncView, column: usize, width: u16, theme: Theme) -> Line<'static> {
    match column {
        0 => Line::raw(sync.call.name()),
        1 => Line::raw(grouped_thousands(sync.count as f64)),
        2 => time_cell(Some(sync.total_ns), theme),
        3 => time_cell(sync.p50_ns, theme),
        4 => time_cell(sync.p99_ns, theme),
        5 => time_cell(sync.max_ns, theme),
        6 => {
            let percent = |share: f64| format!("{:.0}", share * 100.0);
            number_cell(sync.journal_fraction, percent, StyleRole::Plain, theme)
        }
        7 => Line::raw(cut_end(&sync_user_name(sync), width, theme)),
        _ => match &sync.file {
            Some(file) => Line::raw(cut_start(&file_name(file), width, theme)),
            None => Line::styled("-", theme.role_style(StyleRole::Faint)),
        },
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
        format!("{} {file}   {}", sync.call.name(), sync_user_name(sync))
    } else {
        return Vec::new();
    };
    wrap_text(&text, width).into_iter().map(Line::raw).collect()
}
