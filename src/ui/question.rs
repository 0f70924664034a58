//! A question over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

use super::look::{Look, Meaning};

const LINES: [&str; 3] = [
    "A benchmark is running.",
    "Stop it and quit? What was measured until now is saved.",
    "y quit    n go on",
];

/// Asks whether to quit although a benchmark runs.
pub(super) fn draw(look: Look, area: Rect, buf: &mut Buffer) {
    let height = LINES.len() as u16 + 2;
    let top = area.y + area.height.saturating_sub(height) / 2;
    let strip = Rect::new(area.x, top, area.width, height).intersection(area);
    Clear.render(strip, buf);
    super::overlay(look.style(Meaning::Selected), strip, buf);
    for (row, text) in strip.rows().skip(1).zip(LINES) {
        Line::raw(text)
            .alignment(Alignment::Center)
            .render(row, buf);
    }
}
