//! The launcher: what, with which test, how; and what it will do.
//!
//! ```text
//!  MEASURE WHAT                          PARAMETERS             random-read
//!  /srv          ext4   812 GB           block-size  4KiB       Reads blocks of one size ...
//!  /dev/nvme0n1  PM9A3  1.92 TB          depth       32
//!  WITH WHICH TEST
//!  random-read   IOPS and response times
//!  reads 4 KiB at random places of a scratch file in /srv, 32 in flight
//!  takes 10 s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::forecast;
use crate::app::action::Choice;
use crate::app::form::Form;
use crate::app::launcher::{LauncherState, Pane};
use crate::app::search::{LauncherSearch, SearchMatch};
use crate::bench::TESTS;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::table::{Column, Table};
use crate::ui::widgets::text::{cut_end, cut_start, typed, unknown, wrapped};
use crate::units;

/// From this width on the test is explained beside the form.
const EXPLAINED_FROM: u16 = 116;

/// Rows below the form for what a parameter means.
const HELP: u16 = 3;
/// Rows below the form while a value is typed.
const EDITING_HELP: u16 = 5;
/// Rows below the search for what is wrong with it.
const EXPLAINING_ROWS: usize = 3;
/// What the keys do while a value is selected.
const SELECTED_HELP: &str = "type to replace it, an arrow key edits it, Esc leaves it";
/// What the keys do while a value is typed.
const TYPING_HELP: &str = "Enter takes it, Esc leaves it, nothing is the default";

const TARGET_COLUMNS: [Column; 5] = [
    Column::words("MEASURE WHAT", 14, 10, 0),
    Column::words("", 10, 24, 2),
    Column::number("size", "size", 8, 1),
    Column::words("kind", 7, 4, 0),
    Column::words("used by", 10, 14, 3),
];

const TEST_COLUMNS: [Column; 2] = [
    Column::words("WITH WHICH TEST", 18, 0, 0),
    Column::words("", 16, 60, 0),
];

const FORM_COLUMNS: [Column; 2] = [
    Column::words("PARAMETERS", 13, 0, 0),
    Column::words("", 12, 20, 0),
];

/// Draws it.
pub(in crate::ui) fn draw(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let area = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    if let Some(consent) = &launcher.consent {
        return super::consent::draw(consent, look, area, buf);
    }
    let [body, _, forecast] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(4),
    ])
    .areas(area);
    let explained = area.width >= EXPLAINED_FROM;
    let (lists, form, about) = if explained {
        let [lists, _, form, _, about] = Layout::horizontal([
            Constraint::Fill(5),
            Constraint::Length(3),
            Constraint::Length(30),
            Constraint::Length(3),
            Constraint::Fill(4),
        ])
        .areas(body);
        (lists, form, Some(about))
    } else {
        let [lists, _, form] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(3),
            Constraint::Length(30),
        ])
        .areas(body);
        (lists, form, None)
    };
    draw_lists(launcher, look, lists, buf);
    draw_form(launcher, look, form, buf);
    if let Some(about) = about {
        draw_explanation(launcher, look, about, buf);
    }
    forecast::draw(launcher, look, forecast, buf);
}

/// The search, where one is typed, and the two lists.
fn draw_lists(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let (targets, tests) = launcher.listed_rows();
    let found = targets.len() + tests.len();
    let search = launcher.search.as_ref();
    let search = search.map_or_else(Vec::new, |it| search_lines(it, found, look, area.width));
    let searching = Constraint::Length(search.len() as u16);
    let [above, area] = Layout::vertical([searching, Constraint::Min(0)]).areas(area);
    for (row, line) in above.rows().zip(search) {
        line.render(row, buf);
    }
    let below = (tests.len() as u16 + 1).min(area.height / 2);
    let above = (targets.len().max(1) as u16 + 1).min(area.height.saturating_sub(below + 1));
    let [above, _, below] = Layout::vertical([
        Constraint::Length(above),
        Constraint::Length(1),
        Constraint::Min(below),
    ])
    .areas(area);
    draw_targets(launcher, &targets, look, above, buf);
    draw_tests(launcher, &tests, look, below, buf);
}

/// What is typed, and below it how it is understood.
fn search_lines(
    search: &LauncherSearch,
    found: usize,
    look: Look,
    width: u16,
) -> Vec<Line<'static>> {
    let prompt = if search.is_path() {
        "path: "
    } else {
        "search: "
    };
    let mut line = Line::from(Span::styled(prompt, look.style(Meaning::Title)));
    let room = width.saturating_sub(prompt.len() as u16);
    line.extend(typed(&search.text, room, look, look.style(Meaning::Plain)));
    let (text, meaning) = match &search.error {
        Some(error) => (error.clone(), Meaning::Trouble),
        None if search.is_path() => ("Enter looks at this path".to_owned(), Meaning::Faint),
        None if found == 0 => {
            let text = "nothing matches; a path begins with /";
            (text.to_owned(), Meaning::Waiting)
        }
        None => {
            let text = format!("{found} found; a path begins with /");
            (text, Meaning::Faint)
        }
    };
    let below = wrapped(&text, width).into_iter().take(EXPLAINING_ROWS);
    let below = below.map(|text| Line::styled(text, look.style(meaning)));
    std::iter::once(line).chain(below).collect()
}

/// The row that is selected in a list of these places, and whether it has the keyboard.
fn selection(
    launcher: &LauncherState,
    pane: Pane,
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
        (Pane::Targets, Some(SearchMatch::Target(found)))
        | (Pane::Tests, Some(SearchMatch::Benchmark(found))) => (place(found), true),
        _ => (None, false),
    }
}

fn draw_targets(
    launcher: &LauncherState,
    rows: &[usize],
    look: Look,
    list: Rect,
    buf: &mut Buffer,
) {
    let choices = launcher.choices.as_deref().unwrap_or_default();
    let cell = |row: usize, column: usize, width: u16| {
        target_cell(&choices[rows[row]], column, width, look)
    };
    let (selected, active) = selection(launcher, Pane::Targets, launcher.target, rows);
    let table = Table {
        columns: &TARGET_COLUMNS,
        rows: rows.len(),
        cell: &cell,
        selected,
        sorted: None,
        look,
    };
    (&table).render(list, buf);
    mark_pane(active, selected, list, look, buf);
    let note = match &launcher.choices {
        None => "looking for drives",
        Some(_) if rows.is_empty() => "none matches",
        Some(_) => return,
    };
    draw_note(note, look, list, buf);
}

/// A sentence in place of the rows of a list.
fn draw_note(note: &str, look: Look, list: Rect, buf: &mut Buffer) {
    if list.height > 1 {
        let row = Rect::new(list.x, list.y + 1, list.width, 1);
        Line::styled(note, look.style(Meaning::Faint)).render(row, buf);
    }
}

/// A selection in a list without the keyboard is underlined instead of reversed.
fn mark_pane(active: bool, selected: Option<usize>, list: Rect, look: Look, buf: &mut Buffer) {
    let Some(selected) = selected.filter(|_| !active && list.height > 1) else {
        return;
    };
    let offset = selected.saturating_sub(usize::from(list.height).saturating_sub(2));
    let top = list.y + 1 + (selected - offset) as u16;
    let row = Rect::new(list.x, top, list.width, 1).intersection(list);
    let style = look
        .style(Meaning::Title)
        .remove_modifier(ratatui::style::Modifier::REVERSED);
    buf.set_style(row, style);
}

fn target_cell(choice: &Choice, column: usize, width: u16, look: Look) -> Line<'static> {
    let faint = look.style(Meaning::Faint);
    let name_style = if choice.target.is_ok() {
        look.style(Meaning::Plain)
    } else {
        faint
    };
    match column {
        0 => Line::styled(cut_start(&choice.name, width, look), name_style),
        1 => Line::styled(cut_end(&choice.label, width, look), faint),
        2 => match choice.size_bytes {
            Some(bytes) => Line::raw(units::size(bytes)),
            None => Line::from(unknown(look)),
        },
        3 => Line::raw(cut_end(&choice.kind, width, look)),
        _ => Line::styled(cut_end(&choice.users, width, look), faint),
    }
}

fn draw_tests(launcher: &LauncherState, rows: &[usize], look: Look, area: Rect, buf: &mut Buffer) {
    let cell = |row: usize, column: usize, width: u16| {
        let description = TESTS[rows[row]].description();
        if column == 0 {
            Line::raw(cut_end(description.name, width, look))
        } else {
            let text = cut_end(description.summary, width, look);
            Line::styled(text, look.style(Meaning::Faint))
        }
    };
    let (selected, active) = selection(launcher, Pane::Tests, launcher.test, rows);
    let table = Table {
        columns: &TEST_COLUMNS,
        rows: rows.len(),
        cell: &cell,
        selected,
        sorted: None,
        look,
    };
    (&table).render(area, buf);
    mark_pane(active, selected, area, look, buf);
    if rows.is_empty() {
        draw_note("none matches", look, area, buf);
    }
}

fn draw_form(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let form = &launcher.form;
    let open = form.editing.as_ref();
    let help = match (launcher.pane == Pane::Form, open) {
        (true, Some(_)) => EDITING_HELP,
        (true, None) => HELP,
        _ => 0,
    };
    let [list, help] = Layout::vertical([Constraint::Min(0), Constraint::Length(help)]).areas(area);
    let cell = |row: usize, column: usize, width: u16| form_cell(form, row, column, width, look);
    let active = launcher.pane == Pane::Form;
    let editing = form.editing.is_some();
    let table = Table {
        columns: &FORM_COLUMNS,
        rows: form.entries.len(),
        cell: &cell,
        selected: (active && !editing).then_some(form.cursor),
        sorted: None,
        look,
    };
    (&table).render(list, buf);
    if !active {
        return;
    }
    let mut lines = Vec::new();
    let mut push = |text: &str, meaning| {
        let wrapped = wrapped(text, help.width).into_iter();
        lines.extend(wrapped.map(|line| Line::styled(line, look.style(meaning))));
    };
    match open {
        Some(editing) if editing.text.is_selected() => push(SELECTED_HELP, Meaning::Title),
        Some(_) => push(TYPING_HELP, Meaning::Title),
        None => {}
    }
    let error = open.and_then(|editing| editing.error.as_ref());
    match (error, form.selected()) {
        (Some(error), _) => push(error, Meaning::Trouble),
        (None, Some(entry)) => push(entry.parameter.help, Meaning::Faint),
        (None, None) => {}
    }
    for (row, line) in help.rows().zip(lines) {
        line.render(row, buf);
    }
}

fn form_cell(form: &Form, row: usize, column: usize, width: u16, look: Look) -> Line<'static> {
    let entry = &form.entries[row];
    if column == 0 {
        return Line::raw(entry.parameter.name);
    }
    if let Some(editing) = form.editing.as_ref().filter(|_| row == form.cursor) {
        let meaning = if editing.error.is_some() {
            Meaning::Trouble
        } else {
            Meaning::Title
        };
        return typed(&editing.text, width, look, look.style(meaning));
    }
    let value = entry.value().to_string();
    let meaning = if entry.set.is_some() {
        Meaning::Title
    } else {
        Meaning::Faint
    };
    let text = if value.is_empty() {
        "-".to_owned()
    } else {
        value
    };
    Line::styled(cut_end(&text, width, look), look.style(meaning))
}

fn draw_explanation(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let Some(test) = launcher.selected_test() else {
        return;
    };
    let description = test.description();
    let title = format!("ABOUT {}", description.name.to_uppercase());
    Line::styled(title, look.style(Meaning::Title)).render(area, buf);
    let lines = wrapped(description.explanation, area.width);
    for (row, line) in area.rows().skip(1).zip(lines) {
        Line::raw(line).render(row, buf);
    }
}
