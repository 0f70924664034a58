//! The help: the key table.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::app::keymap;
use crate::app::keymap::KeyContext;
use crate::app::viewport::Viewport;
use crate::ui::theme::{StyleRole, Theme};

/// Width of the column of keys.
const KEYS_WIDTH: usize = 16;
/// Width of one column of bindings.
const COLUMN_WIDTH: u16 = 60;

/// Draws the help over the whole screen.
pub(super) fn draw(viewport: &Viewport, theme: Theme, area: Rect, buf: &mut Buffer) {
    Clear.render(area, buf);
    let [top, body, bottom] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    Line::styled(" diskscope: keys", theme.role_style(StyleRole::Title)).render(top, buf);
    let lines = lines(theme);
    let height = usize::from(body.height).max(1);
    let columns = usize::from((body.width / COLUMN_WIDTH).max(1));
    let beyond = lines.len().saturating_sub(height * columns);
    viewport.clear_extent();
    viewport.record_extent(lines.len(), height * columns);
    let scroll = viewport.first();
    for (index, line) in lines.iter().skip(scroll).take(height * columns).enumerate() {
        let column = (index / height) as u16;
        let left = body.x + 1 + column * COLUMN_WIDTH;
        let cell = Rect::new(left, body.y + (index % height) as u16, COLUMN_WIDTH - 2, 1);
        line.render(cell.intersection(body), buf);
    }
    let more = if beyond > scroll {
        format!(" Esc closes, Down shows {} more lines", beyond - scroll)
    } else {
        " Esc closes".to_owned()
    };
    Line::styled(more, theme.role_style(StyleRole::Faint)).render(bottom, buf);
}

fn lines(theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for context in KeyContext::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(
            context.title(),
            theme.role_style(StyleRole::Title),
        ));
        for binding in keymap::bindings_of(context) {
            let keys = Span::styled(
                format!("  {:KEYS_WIDTH$}", keymap::key_names(binding)),
                theme.role_style(StyleRole::Read),
            );
            lines.push(Line::from(vec![keys, Span::raw(binding.help)]));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::KeyCommand;

    #[test]
    fn help_lists_every_binding_when_scrolled() {
        let area = Rect::new(0, 0, 80, 24);
        let mut seen = String::new();
        let mut viewport = Viewport::default();
        for _ in 0..keymap::line_count() {
            let mut buf = Buffer::empty(area);
            draw(&viewport, Theme::FULL, area, &mut buf);
            viewport.scroll(KeyCommand::Down);
            for cell in buf.content() {
                seen.push_str(cell.symbol());
            }
        }
        for binding in keymap::KEY_BINDINGS {
            assert!(seen.contains(binding.help), "{}", binding.help);
            assert!(seen.contains(&keymap::key_names(binding)), "{binding:?}");
        }
    }
}
