//! Scrolled lines.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::viewport::Viewport;
use crate::tui::theme::{StyleRole, Theme};

/// Draws the visible lines; where some are left below, the last row shows how many. Returns the
/// indices of the lines that are drawn.
pub fn draw(
    lines: Vec<Line<'_>>,
    viewport: &Viewport,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) -> Range<usize> {
    let (count, height) = (lines.len(), usize::from(area.height));
    viewport.record_extent(count, height);
    let first = viewport.first().min(count.saturating_sub(height));
    let below = (count - first).saturating_sub(height);
    let shown = if below > 0 {
        height.saturating_sub(1)
    } else {
        height
    };
    let mut rows = area.rows();
    for (row, line) in rows.by_ref().take(shown).zip(lines.into_iter().skip(first)) {
        line.render(row, buf);
    }
    if below > 0
        && let Some(row) = rows.next()
    {
        let more = format!("+{} more", below + 1);
        Line::styled(more, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
    first..count.min(first + shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::KeyCommand;

    fn drawn(count: usize, downs: usize, height: u16) -> Vec<String> {
        let mut viewport = Viewport::default();
        for _ in 0..downs {
            viewport.scroll(KeyCommand::Down);
        }
        let lines = (0..count).map(|line| Line::raw(line.to_string())).collect();
        let area = Rect::new(0, 0, 12, height);
        let mut buf = Buffer::empty(area);
        draw(lines, &viewport, Theme::FULL, area, &mut buf);
        let row = |y| (0..12).map(|x| buf[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| row(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn scrolled_lines_show_count_below_and_reach_the_end() {
        assert_eq!(drawn(3, 0, 3), ["0", "1", "2"]);
        assert_eq!(drawn(5, 0, 3), ["0", "1", "+3 more"]);
        assert_eq!(drawn(5, 1, 3), ["1", "2", "+2 more"]);
        assert_eq!(drawn(5, 2, 3), ["2", "3", "4"]);
        assert_eq!(drawn(5, 99, 3), ["2", "3", "4"]);
        assert_eq!(drawn(2, 0, 0), Vec::<String>::new());
    }
}
