//! Applies a style to an area.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Applies a style to a whole area.
pub(super) fn apply_style(style: Style, area: Rect, buf: &mut Buffer) {
    buf.set_style(area.intersection(*buf.area()), style);
}
