//! The help: the key table, that of the present screen first.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::app::help::HelpState;
use crate::tui::keys;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::input_line;

/// Width of the column of keys.
const KEYS_WIDTH: usize = 17;
/// Width of one column of bindings.
const COLUMN_WIDTH: u16 = 60;

/// Draws the help over the whole screen.
pub(super) fn draw(help: &HelpState, theme: Theme, area: Rect, buf: &mut Buffer) {
    Clear.render(area, buf);
    let [top, body, bottom] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    title(help, theme, area.width).render(top, buf);
    let lines = lines(help, theme);
    let height = usize::from(body.height).max(1);
    let columns = usize::from((body.width / COLUMN_WIDTH).max(1));
    let beyond = lines.len().saturating_sub(height * columns);
    help.viewport.clear_extent();
    help.viewport.record_extent(lines.len(), height * columns);
    let scroll = help.viewport.first();
    for (index, line) in lines.iter().skip(scroll).take(height * columns).enumerate() {
        let column = (index / height) as u16;
        let left = body.x + 1 + column * COLUMN_WIDTH;
        let cell = Rect::new(left, body.y + (index % height) as u16, COLUMN_WIDTH - 2, 1);
        line.render(cell.intersection(body), buf);
    }
    footer(help, beyond.saturating_sub(scroll), theme).render(bottom, buf);
}

fn title(help: &HelpState, theme: Theme, width: u16) -> Line<'static> {
    let style = theme.role_style(StyleRole::Title);
    let mut line = Line::styled(" diskscope: keys", style);
    if help.is_searching || !help.search.is_empty() {
        line.push_span(Span::styled("   search: ", style));
        if help.is_searching {
            let room = width.saturating_sub(line.width() as u16 + 1);
            line.extend(input_line(&help.search, room, theme, style));
        } else {
            line.push_span(Span::raw(help.search.as_string()));
        }
    }
    line
}

fn footer(help: &HelpState, below: usize, theme: Theme) -> Line<'static> {
    let keys = match help.is_searching {
        true => "Enter apply   Esc clear",
        false => "Esc close   / search   PageUp, PageDown scroll",
    };
    let more = match below {
        0 => String::new(),
        below => format!("   {below} more lines"),
    };
    Line::styled(format!(" {keys}{more}"), theme.role_style(StyleRole::Faint))
}

fn lines(help: &HelpState, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (list, bindings) in help.sections() {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(list.title, theme.role_style(StyleRole::Title)));
        for binding in bindings {
            let keys = Span::styled(
                format!(" {:KEYS_WIDTH$}", keys::key_names(binding)),
                theme.role_style(StyleRole::Read),
            );
            lines.push(Line::from(vec![keys, Span::raw(binding.help)]));
        }
    }
    if lines.is_empty() {
        lines.push(Line::styled(
            "no key matches",
            theme.role_style(StyleRole::Warning),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::KeyCommand;
    use crate::tui::screens::key_lists::KEY_LISTS;

    #[test]
    fn help_lists_every_binding_when_scrolled() {
        let area = Rect::new(0, 0, 80, 24);
        let mut seen = String::new();
        let mut help = HelpState::default();
        let bindings = || KEY_LISTS.iter().flat_map(|list| list.bindings);
        for _ in 0..bindings().count() + 2 * KEY_LISTS.len() {
            let mut buf = Buffer::empty(area);
            draw(&help, Theme::FULL, area, &mut buf);
            help.viewport.scroll(KeyCommand::Down);
            for cell in buf.content() {
                seen.push_str(cell.symbol());
            }
        }
        for binding in bindings() {
            assert!(keys::key_names(binding).len() < KEYS_WIDTH, "{binding:?}");
            assert!(seen.contains(binding.help), "{}", binding.help);
            assert!(seen.contains(&keys::key_names(binding)), "{binding:?}");
        }
    }
}
