//! The footer: a message, or the active key bindings.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::key::{KeyPress, KeySymbol};
use crate::app::keymap::{KeyBinding, KeyContext};
use crate::app::{AppState, KeyCommand, keymap};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::cut_end;

/// The bindings of a context; in a text field also those that edit text.
fn bindings(context: KeyContext) -> impl Iterator<Item = &'static KeyBinding> {
    let [own, beneath] = context.lookup_chain();
    let shown = if context.takes_text() {
        vec![own, beneath]
    } else {
        vec![own]
    };
    shown.into_iter().flat_map(keymap::bindings_of)
}

/// Draws the footer.
pub(super) fn draw(state: &AppState, theme: Theme, area: Rect, buf: &mut Buffer) {
    if let Some(message) = &state.status_message {
        let role = if message.is_error {
            StyleRole::Error
        } else {
            StyleRole::Success
        };
        let text = cut_end(&message.text, area.width.saturating_sub(2), theme);
        Line::styled(format!(" {text}"), theme.role_style(role)).render(area, buf);
        return;
    }
    let context = state.key_context();
    let mut shown: Vec<_> = bindings(context)
        .filter(|binding| !binding.hint.is_empty() && state.is_applicable(binding.command))
        .collect();
    // A pane of a recording has the keys of the recording, and the way back to the lists.
    if context == KeyContext::Replay && !state.live.pane.is_lists() {
        let of_panes = bindings(KeyContext::LivePane);
        shown.extend(of_panes.filter(|binding| binding.command == KeyCommand::Cancel));
    }
    // The way back stays on a narrow terminal, too.
    let leads_back = |binding: &&KeyBinding| binding.keys.contains(&KeyPress::new(KeySymbol::Esc));
    if let Some(index) = shown.iter().position(leads_back).filter(|index| *index > 1) {
        let back = shown.remove(index);
        shown.insert(1, back);
    }
    let own: Vec<_> = shown.into_iter().filter_map(|it| hint(it, theme)).collect();
    // The keys that apply everywhere are at the end, and are never cut off.
    let global: Vec<_> = if context.takes_text() || context.is_modal() {
        Vec::new()
    } else {
        keymap::bindings_of(KeyContext::Global)
            .filter(|it| state.is_applicable(it.command))
            .filter_map(|it| hint(it, theme))
            .collect()
    };
    let reserved: usize = global.iter().map(Line::width).sum();
    let mut line = Line::raw(" ");
    for hint in own {
        if line.width() + hint.width() + reserved > usize::from(area.width) {
            break;
        }
        line.spans.extend(hint.spans);
    }
    for hint in global {
        line.spans.extend(hint.spans);
    }
    line.render(area, buf);
}

/// A key and what it does, with a gap behind it; `None` for a binding that has no hint.
fn hint(binding: &KeyBinding, theme: Theme) -> Option<Line<'static>> {
    let key = binding.keys.first().filter(|_| !binding.hint.is_empty())?;
    Some(Line::from(vec![
        Span::styled(key.to_string(), theme.role_style(StyleRole::Title)),
        Span::styled(
            format!(" {}  ", binding.hint),
            theme.role_style(StyleRole::Faint),
        ),
    ]))
}
