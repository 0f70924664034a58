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
use crate::bench::TESTS;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::table::{Column, Table};
use crate::ui::widgets::text::{cut_end, cut_start, typed, unknown, wrapped};
use crate::units;

/// From this width on the test is explained beside the form.
const EXPLAINED_FROM: u16 = 116;

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
    let tests = (TESTS.len() as u16 + 1).min(lists.height / 2);
    let listed = launcher.choices.as_ref().map_or(1, Vec::len) as u16;
    let typing = if launcher.path.is_some() { 2 } else { 0 };
    let targets = (listed + 1 + typing).min(lists.height.saturating_sub(tests + 1));
    let [targets, _, tests] = Layout::vertical([
        Constraint::Length(targets),
        Constraint::Length(1),
        Constraint::Min(tests),
    ])
    .areas(lists);
    draw_targets(launcher, look, targets, buf);
    draw_tests(launcher, look, tests, buf);
    draw_form(launcher, look, form, buf);
    if let Some(about) = about {
        draw_explanation(launcher, look, about, buf);
    }
    forecast::draw(launcher, look, forecast, buf);
}

fn draw_targets(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let mut list = area;
    if let Some(path) = &launcher.path {
        list.height = list.height.saturating_sub(2);
        let row = |offset: u16| Rect {
            y: list.bottom() + offset,
            height: 1,
            ..area
        };
        let mut line = Line::from(Span::styled("path: ", look.style(Meaning::Title)));
        let style = look.style(Meaning::Plain);
        line.extend(typed(&path.text, area.width.saturating_sub(6), look, style));
        line.render(row(0), buf);
        if let Some(error) = &path.error {
            let text = cut_end(error, area.width, look);
            Line::styled(text, look.style(Meaning::Trouble)).render(row(1), buf);
        }
    }
    let choices = launcher.choices.as_deref().unwrap_or_default();
    let cell =
        |row: usize, column: usize, width: u16| target_cell(&choices[row], column, width, look);
    let table = Table {
        columns: &TARGET_COLUMNS,
        rows: choices.len(),
        cell: &cell,
        selected: (!choices.is_empty()).then_some(launcher.target),
        sorted: None,
        look,
    };
    (&table).render(list, buf);
    mark_pane(
        launcher.pane == Pane::Targets,
        launcher.target,
        list,
        look,
        buf,
    );
    if launcher.choices.is_none() && list.height > 1 {
        let row = Rect::new(list.x, list.y + 1, list.width, 1);
        Line::styled("looking for drives", look.style(Meaning::Faint)).render(row, buf);
    }
}

/// A selection in a list without the keyboard is underlined instead of reversed.
fn mark_pane(active: bool, selected: usize, list: Rect, look: Look, buf: &mut Buffer) {
    if active || list.height < 2 {
        return;
    }
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

fn draw_tests(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let cell = |row: usize, column: usize, width: u16| {
        let description = TESTS[row].description();
        if column == 0 {
            Line::raw(cut_end(description.name, width, look))
        } else {
            let text = cut_end(description.summary, width, look);
            Line::styled(text, look.style(Meaning::Faint))
        }
    };
    let table = Table {
        columns: &TEST_COLUMNS,
        rows: TESTS.len(),
        cell: &cell,
        selected: Some(launcher.test),
        sorted: None,
        look,
    };
    (&table).render(area, buf);
    mark_pane(launcher.pane == Pane::Tests, launcher.test, area, look, buf);
}

fn draw_form(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let form = &launcher.form;
    let help = if launcher.pane == Pane::Form { 3 } else { 0 };
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
    let error = form
        .editing
        .as_ref()
        .and_then(|editing| editing.error.as_ref());
    let (text, meaning) = match (error, form.selected()) {
        (Some(error), _) => (error.as_str(), Meaning::Trouble),
        (None, Some(entry)) => (entry.parameter.help, Meaning::Faint),
        (None, None) => return,
    };
    for (row, line) in help.rows().zip(wrapped(text, help.width)) {
        Line::styled(line, look.style(meaning)).render(row, buf);
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
