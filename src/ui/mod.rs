//! Draws the state. One pane per file; nothing here changes anything.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;

pub mod bench;
mod footer;
mod header;
mod help;
mod live;
pub mod look;
mod question;
mod requests;
mod sessions;
pub mod widgets;

pub use look::{Look, Meaning};

use crate::app::{Overlay, Screen, Stage, State};
use crate::printable::is_harmless;

/// The smallest terminal that the screens are made for: columns and rows.
pub const LEAST: (u16, u16) = (80, 24);
/// Below this nothing is drawn but a sentence that says so.
const UNUSABLE: (u16, u16) = (60, 16);

/// From this height on an empty line sets the tabs apart.
const ROOMY: u16 = 30;

/// Draws everything.
pub fn draw(state: &State, look: &Look, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(*buf.area());
    if area.width < UNUSABLE.0 || area.height < UNUSABLE.1 {
        too_small(area, buf);
    } else {
        screen(state, *look, area, buf);
    }
    if look.ascii {
        strip(area, buf);
    }
    remove_controls(area, buf);
}

/// No cell holds what a terminal would obey or what moves its neighbours, whatever was drawn: text
/// from outside is escaped where it enters ([`SafeText`](crate::safe_text::SafeText)), and what
/// slipped past is a question mark.
fn remove_controls(area: Rect, buf: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut buf[position];
        let symbol = cell.symbol();
        if !matches!(symbol.as_bytes(), [b' '..=b'~']) && !symbol.chars().all(is_harmless) {
            cell.set_symbol("?");
        }
    }
}

fn screen(state: &State, look: Look, area: Rect, buf: &mut Buffer) {
    let [top, tabs, body, bottom] = Layout::vertical([
        Constraint::Length(1),
        // Room for calm where there is any.
        Constraint::Length(if area.height >= ROOMY { 2 } else { 1 }),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    header::draw_host(state, look, top, buf);
    header::draw_tabs(state, look, tabs, buf);
    match (state.screen, &state.bench.stage) {
        (Screen::Live, _) => live::draw(&state.live, look, body, buf),
        (Screen::Bench, Stage::Launcher) => {
            bench::launcher::draw(&state.bench.launcher, look, body, buf);
        }
        (Screen::Bench, Stage::Running(running)) => {
            bench::running::draw(running, look, body, buf);
        }
        (Screen::Bench, Stage::Result(result)) => bench::result::draw(result, look, body, buf),
        (Screen::Requests, _) => requests::draw(state, look, body, buf),
        (Screen::Sessions, _) => match &state.sessions.open {
            Some(result) => bench::result::draw(result, look, body, buf),
            None => sessions::draw(&state.sessions, look, body, buf),
        },
    }
    footer::draw(state, look, bottom, buf);
    match state.overlay {
        Some(Overlay::Help) => help::draw(&state.help, look, area, buf),
        Some(question) => question::draw(question, look, area, buf),
        None => {}
    }
}

fn too_small(area: Rect, buf: &mut Buffer) {
    let lines = [
        format!("{}x{} is too small.", area.width, area.height),
        format!("diskscope needs {}x{}.", LEAST.0, LEAST.1),
        "q quits.".to_owned(),
    ];
    for (row, line) in area.rows().zip(lines) {
        Line::raw(line).render(row, buf);
    }
}

/// Replaces what is not ASCII: names of files and processes may hold anything.
fn strip(area: Rect, buf: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut buf[position];
        if !cell.symbol().is_ascii() {
            cell.set_symbol("?");
        }
    }
}

/// Lays a style over a whole area.
fn overlay(style: Style, area: Rect, buf: &mut Buffer) {
    buf.set_style(area.intersection(*buf.area()), style);
}
