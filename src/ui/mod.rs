//! Draws the state. One pane per file; drawing changes nothing.

pub mod bench;
mod dialog;
mod footer;
mod header;
mod help;
mod hot_files;
pub(crate) mod live;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::{AppState, Dialog, DrawnFrame, Screen};
use crate::files::printable::is_printable;
use crate::tui::screens::why::draw::draw_problem_line;

pub use crate::tui::theme::{StyleRole, Theme};

/// The smallest supported terminal: columns and rows.
pub const SUPPORTED_SIZE: (u16, u16) = (80, 24);
/// Below this size only a message is drawn.
const UNUSABLE_SIZE: (u16, u16) = (60, 16);

/// Minimum height for an empty line below the tabs.
const TAB_GAP_MIN_HEIGHT: u16 = 30;

/// Draws the whole screen. Returns what was drawn, which the keys that follow depend on.
pub fn draw(state: &AppState, theme: &Theme, area: Rect, buf: &mut Buffer) -> DrawnFrame {
    let area = area.intersection(*buf.area());
    let frame = match area.width < UNUSABLE_SIZE.0 || area.height < UNUSABLE_SIZE.1 {
        true => DrawnFrame::TooSmall,
        false => DrawnFrame::Screen,
    };
    match frame {
        DrawnFrame::TooSmall => draw_too_small(state, area, buf),
        DrawnFrame::Screen => draw_screen(state, *theme, area, buf),
    }
    if theme.ascii {
        replace_non_ascii(area, buf);
    }
    remove_controls(area, buf);
    frame
}

/// Removes control characters from all cells, and characters that shift their neighbours. Text from
/// outside is escaped on input ([`SafeText`](crate::files::safe_text::SafeText)); what remains is replaced
/// by a question mark.
fn remove_controls(area: Rect, buf: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut buf[position];
        let symbol = cell.symbol();
        if !matches!(symbol.as_bytes(), [b' '..=b'~']) && !symbol.chars().all(is_printable) {
            cell.set_symbol("?");
        }
    }
}

fn draw_screen(state: &AppState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let problem = state
        .why
        .line
        .cause()
        .filter(|_| state.screen == Screen::Live);
    // A blank line where there is room; the line about a problem takes its place.
    let has_gap = problem.is_some() || area.height >= TAB_GAP_MIN_HEIGHT;
    let [top, tabs, gap, body, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(u16::from(has_gap)),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    header::draw_host(state, theme, top, buf);
    header::draw_tabs(state, theme, tabs, buf);
    if let Some(cause) = problem {
        draw_problem_line(cause, theme, gap, buf);
    }
    if state.hot_files.is_shown() {
        hot_files::draw(&state.hot_files, theme, body, buf);
    } else {
        state.front().draw(&state.live, theme, body, buf);
    }
    footer::draw(state, theme, bottom, buf);
    match &state.dialog {
        Some(Dialog::Help) => help::draw(&state.help, theme, area, buf),
        Some(dialog) => dialog::draw(dialog, theme, area, buf),
        None => {}
    }
}

/// The size that is needed, and the way out: only these keys act.
fn draw_too_small(state: &AppState, area: Rect, buf: &mut Buffer) {
    let quits = match state.bench.is_running() {
        true => "q stops the benchmark and quits.",
        false => "q quits.",
    };
    let lines = [
        format!("{}x{} is too small.", area.width, area.height),
        format!("diskscope needs {}x{}.", SUPPORTED_SIZE.0, SUPPORTED_SIZE.1),
        quits.to_owned(),
    ];
    for (row, line) in area.rows().zip(lines) {
        Line::raw(line).render(row, buf);
    }
}

/// Replaces non-ASCII characters: names of files and processes may contain any.
fn replace_non_ascii(area: Rect, buf: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut buf[position];
        if !cell.symbol().is_ascii() {
            cell.set_symbol("?");
        }
    }
}
