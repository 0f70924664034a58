//! The launcher: target, benchmark, parameters, and forecast.
//!
//! ```text
//!  TARGET                                PARAMETERS             random-read
//!  /srv          ext4   812 GB           block-size  4KiB       Reads blocks of one size ...
//!  /dev/nvme0n1  PM9A3  1.92 TB          depth       32
//!  BENCHMARK
//!  random-read   IOPS and latency
//!  reads 4 KiB at random places of a scratch file in /srv, 32 in flight
//!  takes 10 s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::form::ParameterForm;
use crate::app::launcher::{LauncherPane, LauncherState};
use crate::app::search::{LauncherSearch, SearchMatch};
use crate::app::{TargetChoice, TargetGroup};
use crate::bench::{BENCHMARKS, BenchmarkGroup};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::table::{TableColumn, TableWidget};
use crate::tui::widgets::text::{
    cut_end, cut_start, input_line, prompted_input_line, unknown_value, wrap_text,
};
use crate::ui::bench::forecast;
use crate::units;

/// Minimum width for an explanation of the benchmark next to the form.
const EXPLANATION_MIN_WIDTH: u16 = 116;

/// Width of the form.
const FORM_WIDTH: u16 = 30;

/// Width of the explanation: a third, as long as lines are easily readable.
fn explanation_width(width: u16) -> u16 {
    /// Range of widths of lines that are easy to read.
    const READABLE_WIDTH: [u16; 2] = [44, 72];
    (width / 3).clamp(READABLE_WIDTH[0], READABLE_WIDTH[1])
}

/// Rows below the form for the description of a parameter.
const HELP_ROWS: u16 = 3;
/// Rows below the form while a value is typed.
const EDITING_HELP_ROWS: u16 = 5;
/// Rows below the search for its error.
const SEARCH_ERROR_ROWS: usize = 3;
/// Help while a value is selected.
const SELECTED_HELP: &str = "type to replace, arrow key to edit, Esc to cancel";
/// Help while a value is typed.
const TYPING_HELP: &str = "Enter to accept, Esc to cancel, empty for the default";

const TARGET_COLUMNS: [TableColumn; 5] = [
    TableColumn::text("TARGET", 14, 10, 0),
    TableColumn::text("", 10, 24, 2),
    TableColumn::numeric("size", "size", 13, 1),
    TableColumn::text("kind", 9, 2, 0),
    TableColumn::text("used by", 10, 14, 3),
];

/// The first column has room for the titles of the groups; the summary of a benchmark is left out
/// where little of it would fit.
const BENCHMARK_COLUMNS: [TableColumn; 3] = [
    TableColumn::text("BENCHMARK", 22, 0, 0),
    TableColumn::text("", 6, 0, 0),
    TableColumn::text("", 32, 60, 1),
];

/// Mark of a benchmark that writes to its target.
const WRITES_MARK: &str = "WRITES";

/// A row of the list of benchmarks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BenchmarkRow {
    /// Title of the group of the rows below.
    Group(BenchmarkGroup),
    /// A benchmark: its index in the list of all.
    Benchmark(usize),
}

/// The rows of these benchmarks, each group below its title; without titles for the few matches of a
/// search.
fn benchmark_rows(listed: &[usize], is_search: bool) -> Vec<BenchmarkRow> {
    let mut rows = Vec::new();
    let mut last = None;
    for index in listed {
        let group = BENCHMARKS[*index].description().group;
        if last.replace(group) != Some(group) && !is_search {
            rows.push(BenchmarkRow::Group(group));
        }
        rows.push(BenchmarkRow::Benchmark(*index));
    }
    rows
}

const FORM_COLUMNS: [TableColumn; 2] = [
    TableColumn::text("PARAMETERS", 13, 0, 0),
    TableColumn::text("", 12, 20, 0),
];

/// Draws the launcher.
pub fn draw(launcher: &LauncherState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = with_side_margins(area);
    if let Some(question) = &launcher.overwrite_question {
        return super::consent::draw(question, theme, area, buf);
    }
    let [body, _, forecast] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(4),
    ])
    .areas(area);
    let explained = area.width >= EXPLANATION_MIN_WIDTH;
    let (lists, form, about) = if explained {
        let [lists, _, form, _, about] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(3),
            Constraint::Length(FORM_WIDTH),
            Constraint::Length(3),
            Constraint::Length(explanation_width(area.width)),
        ])
        .areas(body);
        (lists, form, Some(about))
    } else {
        let [lists, _, form] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(3),
            Constraint::Length(FORM_WIDTH),
        ])
        .areas(body);
        (lists, form, None)
    };
    draw_lists(launcher, theme, lists, buf);
    draw_form(launcher, theme, form, buf);
    if let Some(about) = about {
        draw_explanation(launcher, theme, about, buf);
    }
    forecast::draw(launcher, theme, forecast, buf);
}

/// Draws the active search and the two lists.
fn draw_lists(launcher: &LauncherState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let (targets, benchmarks) = launcher.visible_rows();
    let found = targets.len() + benchmarks.len();
    let search = launcher.search.as_ref();
    let search = search.map_or_else(Vec::new, |it| search_lines(it, found, theme, area.width));
    let searching = Constraint::Length(search.len() as u16);
    let [above, area] = Layout::vertical([searching, Constraint::Min(0)]).areas(area);
    for (row, line) in above.rows().zip(search) {
        line.render(row, buf);
    }
    let is_search = launcher.search.as_ref().is_some_and(|it| !it.is_path());
    let benchmark_lines = benchmark_rows(&benchmarks, is_search).len() as u16 + 1;
    let below = benchmark_lines.min(area.height * 3 / 5);
    let above = (targets.len().max(1) as u16 + 1).min(area.height.saturating_sub(below + 1));
    let [above, _, below] = Layout::vertical([
        Constraint::Length(above),
        Constraint::Length(1),
        Constraint::Min(below),
    ])
    .areas(area);
    draw_targets(launcher, &targets, theme, above, buf);
    draw_benchmarks(launcher, &benchmarks, theme, below, buf);
}

/// The typed text, and its interpretation below.
fn search_lines(
    search: &LauncherSearch,
    found: usize,
    theme: Theme,
    width: u16,
) -> Vec<Line<'static>> {
    let prompt = if search.is_path() {
        "path: "
    } else {
        "search: "
    };
    let line = prompted_input_line(prompt, &search.text, width, theme);
    let (text, role) = match &search.error {
        Some(error) => (error.to_string(), StyleRole::Error),
        None if search.is_path() => ("Enter opens this path".to_owned(), StyleRole::Faint),
        None if found == 0 => {
            let text = "no match; a path starts with /";
            (text.to_owned(), StyleRole::Warning)
        }
        None => {
            let text = format!("{found} found; a path starts with /");
            (text, StyleRole::Faint)
        }
    };
    let below = wrap_text(&text, width).into_iter().take(SEARCH_ERROR_ROWS);
    let below = below.map(|text| Line::styled(text, theme.role_style(role)));
    std::iter::once(line).chain(below).collect()
}

/// The selected row among the rows with these indices, and whether the list is focused.
fn pane_selection(
    launcher: &LauncherState,
    pane: LauncherPane,
    selected: usize,
    rows: &[usize],
) -> (Option<usize>, bool) {
    let place = |selected| rows.iter().position(|place| *place == selected);
    let Some(search) = launcher.search.as_ref().filter(|search| !search.is_path()) else {
        return (
            place(selected),
            launcher.pane == pane && launcher.search.is_none(),
        );
    };
    match (pane, search.selected) {
        (LauncherPane::Targets, Some(SearchMatch::Target(found)))
        | (LauncherPane::Benchmarks, Some(SearchMatch::Benchmark(found))) => (place(found), true),
        _ => (None, false),
    }
}

fn draw_targets(
    launcher: &LauncherState,
    rows: &[usize],
    theme: Theme,
    list: Rect,
    buf: &mut Buffer,
) {
    let choices = launcher.targets.as_deref().unwrap_or_default();
    let cell = |row: usize, column: usize, width: u16| {
        target_cell(&choices[rows[row]], column, width, theme)
    };
    let (selected, active) =
        pane_selection(launcher, LauncherPane::Targets, launcher.target_index, rows);
    let table = TableWidget {
        columns: &TARGET_COLUMNS,
        row_count: rows.len(),
        cell: &cell,
        selected_row: selected,
        sorted_by: None,
        theme,
    };
    (&table).render(list, buf);
    draw_selection(active, selected, list, theme, buf);
    let note = match &launcher.targets {
        None => "searching for drives",
        Some(_) if rows.is_empty() => "no match",
        Some(_) => return,
    };
    draw_note(note, theme, list, buf);
}

/// Draws a sentence in place of the rows of a list.
fn draw_note(note: &str, theme: Theme, list: Rect, buf: &mut Buffer) {
    if list.height > 1 {
        let row = Rect::new(list.x, list.y + 1, list.width, 1);
        Line::styled(note, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
}

/// The selection of an unfocused list is underlined instead of reversed.
fn draw_selection(
    active: bool,
    selected: Option<usize>,
    list: Rect,
    theme: Theme,
    buf: &mut Buffer,
) {
    if selected.is_none() || active || list.height < 2 {
        return;
    }
    // The table has marked the row: where it is depends on how far the table is scrolled.
    let is_marked = |row: &Rect| {
        let modifier = buf[(row.x, row.y)].modifier;
        modifier.contains(ratatui::style::Modifier::REVERSED)
    };
    let Some(row) = list.rows().skip(1).find(is_marked) else {
        return;
    };
    let style = theme
        .role_style(StyleRole::Title)
        .remove_modifier(ratatui::style::Modifier::REVERSED);
    buf.set_style(row, style);
}

fn target_cell(choice: &TargetChoice, column: usize, width: u16, theme: Theme) -> Line<'static> {
    let faint = theme.role_style(StyleRole::Faint);
    let name_style = if choice.target.is_ok() {
        theme.role_style(StyleRole::Plain)
    } else {
        faint
    };
    match column {
        0 => Line::styled(cut_start(&choice.name, width, theme), name_style),
        1 => Line::styled(cut_end(&choice.label, width, theme), faint),
        2 => match choice.size_bytes {
            Some(bytes) => Line::raw(size_text(choice.group, bytes)),
            None => Line::from(unknown_value(theme)),
        },
        3 => Line::raw(cut_end(&choice.kind, width, theme)),
        _ => Line::styled(cut_end(&choice.used_by, width, theme), faint),
    }
}

fn draw_benchmarks(
    launcher: &LauncherState,
    listed: &[usize],
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let is_search = launcher.search.as_ref().is_some_and(|it| !it.is_path());
    let rows = benchmark_rows(listed, is_search);
    let cell =
        |row: usize, column: usize, width: u16| benchmark_cell(rows[row], column, width, theme);
    let (selected, active) = pane_selection(
        launcher,
        LauncherPane::Benchmarks,
        launcher.benchmark_index,
        listed,
    );
    let selected = selected.and_then(|place| {
        let selected = BenchmarkRow::Benchmark(listed[place]);
        rows.iter().position(|row| *row == selected)
    });
    let table = TableWidget {
        columns: &BENCHMARK_COLUMNS,
        row_count: rows.len(),
        cell: &cell,
        selected_row: selected,
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
    draw_selection(active, selected, area, theme, buf);
    if rows.is_empty() {
        draw_note("no match", theme, area, buf);
    }
}

fn benchmark_cell(row: BenchmarkRow, column: usize, width: u16, theme: Theme) -> Line<'static> {
    let faint = theme.role_style(StyleRole::Faint);
    let description = match row {
        BenchmarkRow::Benchmark(index) => BENCHMARKS[index].description(),
        BenchmarkRow::Group(group) if column == 0 => {
            return Line::styled(cut_end(group.title(), width, theme), faint);
        }
        BenchmarkRow::Group(_) => return Line::default(),
    };
    match column {
        0 => Line::raw(cut_end(&format!("  {}", description.name), width, theme)),
        1 if description.may_write => {
            Line::styled(WRITES_MARK, theme.role_style(StyleRole::Warning))
        }
        1 => Line::default(),
        _ => Line::styled(cut_end(description.summary, width, theme), faint),
    }
}

/// The free space of a file system, or the size of a device or file, with the word that tells which.
fn size_text(group: TargetGroup, bytes: u64) -> String {
    let of = match group {
        TargetGroup::Directory => "free",
        TargetGroup::Drive | TargetGroup::File => "total",
    };
    format!("{} {of}", units::format_size(bytes))
}

fn draw_form(launcher: &LauncherState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let form = &launcher.form;
    let open = form.editor.as_ref();
    let help = match (launcher.pane == LauncherPane::Form, open) {
        (true, Some(_)) => EDITING_HELP_ROWS,
        (true, None) => HELP_ROWS,
        _ => 0,
    };
    let [list, help] = Layout::vertical([Constraint::Min(0), Constraint::Length(help)]).areas(area);
    let cell = |row: usize, column: usize, width: u16| form_cell(form, row, column, width, theme);
    let active = launcher.pane == LauncherPane::Form;
    let editing = form.editor.is_some();
    let table = TableWidget {
        columns: &FORM_COLUMNS,
        row_count: form.fields.len(),
        cell: &cell,
        selected_row: (active && !editing).then_some(form.cursor),
        sorted_by: None,
        theme,
    };
    (&table).render(list, buf);
    if !active {
        return;
    }
    let mut lines = Vec::new();
    let mut push = |text: &str, role| {
        let wrapped = wrap_text(text, help.width).into_iter();
        lines.extend(wrapped.map(|line| Line::styled(line, theme.role_style(role))));
    };
    match open {
        Some(editing) if editing.text.is_selected() => push(SELECTED_HELP, StyleRole::Title),
        Some(_) => push(TYPING_HELP, StyleRole::Title),
        None => {}
    }
    let error = open.and_then(|editing| editing.error.as_ref());
    match (error, form.selected_field()) {
        (Some(error), _) => push(&error.to_string(), StyleRole::Error),
        (None, Some(entry)) => push(entry.parameter.help(), StyleRole::Faint),
        (None, None) => {}
    }
    for (row, line) in help.rows().zip(lines) {
        line.render(row, buf);
    }
}

fn form_cell(
    form: &ParameterForm,
    row: usize,
    column: usize,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let entry = &form.fields[row];
    if column == 0 {
        return Line::raw(entry.parameter.name());
    }
    if let Some(editing) = form.editor.as_ref().filter(|_| row == form.cursor) {
        let role = if editing.error.is_some() {
            StyleRole::Error
        } else {
            StyleRole::Title
        };
        return input_line(&editing.text, width, theme, theme.role_style(role));
    }
    let value = entry.value().to_string();
    let role = if entry.user_value.is_some() {
        StyleRole::Title
    } else {
        StyleRole::Faint
    };
    let text = if value.is_empty() {
        "-".to_owned()
    } else {
        value
    };
    Line::styled(cut_end(&text, width, theme), theme.role_style(role))
}

fn draw_explanation(launcher: &LauncherState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(benchmark) = launcher.selected_benchmark() else {
        return;
    };
    let description = benchmark.description();
    let title = format!("ABOUT {}", description.name.to_uppercase());
    Line::styled(title, theme.role_style(StyleRole::Title)).render(area, buf);
    let mut lines = wrap_text(description.explanation, area.width);
    let room = usize::from(area.height.saturating_sub(1));
    if lines.len() > room {
        lines.truncate(room.saturating_sub(1));
        // A blank line before it says nothing.
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let rest = format!("whole text: diskscope tests {}", description.name);
        lines.push(cut_end(&rest, area.width, theme));
    }
    for (row, line) in area.rows().skip(1).zip(lines) {
        Line::raw(line).render(row, buf);
    }
}
