//! The line at the bottom: a message, or the keys that hold here.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::look::{Look, Meaning};
use super::widgets::text::cut_end;
use crate::app::keymap::{self, Binding};
use crate::app::{Context, State};

/// The bindings of a context; of a text field those that edit the text as well.
fn bindings(context: Context) -> impl Iterator<Item = &'static Binding> {
    let [own, beneath] = context.layers();
    let shown = if context.takes_text() {
        vec![own, beneath]
    } else {
        vec![own]
    };
    shown.into_iter().flat_map(keymap::of)
}

/// Draws it.
pub(super) fn draw(state: &State, look: Look, area: Rect, buf: &mut Buffer) {
    if let Some(message) = &state.message {
        let meaning = if message.trouble {
            Meaning::Trouble
        } else {
            Meaning::Good
        };
        let text = cut_end(&message.text, area.width.saturating_sub(2), look);
        Line::styled(format!(" {text}"), look.style(meaning)).render(area, buf);
        return;
    }
    let mut line = Line::raw(" ");
    for binding in bindings(state.context()).filter(|binding| !binding.hint.is_empty()) {
        let Some(key) = binding.keys.first() else {
            continue;
        };
        let key = Span::styled(key.to_string(), look.style(Meaning::Title));
        let hint = Span::styled(format!(" {}", binding.hint), look.style(Meaning::Faint));
        if line.width() + key.width() + hint.width() + 3 > usize::from(area.width) {
            break;
        }
        line.push_span(key);
        line.push_span(hint);
        line.push_span("   ");
    }
    line.render(area, buf);
}
