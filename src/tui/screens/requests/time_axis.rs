//! The time axis of the charts: the last minute.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::tui::theme::{StyleRole, Theme};

/// Narrower axes have no mark in the middle.
const MIDDLE_MIN_WIDTH: u16 = 24;

/// Draws the axis in a row.
pub(super) fn draw(theme: Theme, row: Rect, buf: &mut Buffer) {
    let style = theme.role_style(StyleRole::Faint);
    Line::styled("-60 s", style).render(row, buf);
    if row.width >= MIDDLE_MIN_WIDTH {
        Line::styled("-30 s", style).centered().render(row, buf);
    }
    Line::styled("now", style).right_aligned().render(row, buf);
}
