//! The line of the filter.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::{LiveList, LiveState};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::input_line;

/// Draws the filter of the focused list, and how many lines match it.
pub(super) fn draw_filter(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let mut line = Line::from(vec![Span::styled("/ ", theme.role_style(StyleRole::Title))]);
    let style = theme.role_style(StyleRole::Plain);
    if live.is_editing_filter {
        line.extend(input_line(
            live.focused_filter(),
            area.width.saturating_sub(2),
            theme,
            style,
        ));
    } else {
        line.push_span(Span::styled(live.focused_filter().as_string(), style));
        let found = match live.focused_list {
            _ if live.shows_units() => {
                let rows = live.units.rows(live.snapshot.as_deref());
                rows.map_or(0, |rows| rows.len())
            }
            LiveList::Devices => live.device_list().rows.len(),
            _ => live.visible_processes().len(),
        };
        let text = format!("   {found} found, Esc clears the filter");
        line.push_span(Span::styled(text, theme.role_style(StyleRole::Faint)));
    }
    line.render(area, buf);
}
