//! The footer: a message, or the active key bindings.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::AppState;
use crate::app::key::{KeyPress, KeySymbol};
use crate::tui::keys::KeyBinding;
use crate::tui::keys::common::{GLOBAL, TEXT_EDITING};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::cut_end;

/// The bindings that the footer names: of the most specific list, of a text field also those that edit
/// text, and the way back of the list behind it.
fn bindings(state: &AppState) -> Vec<&'static KeyBinding> {
    let lists = state.key_lists();
    let Some((front, beneath)) = lists.split_first() else {
        return Vec::new();
    };
    let mut shown: Vec<_> = front.bindings.iter().collect();
    if front.takes_text() {
        shown.extend(TEXT_EDITING.bindings);
    }
    if let Some(list) = beneath.first() {
        shown.extend(list.bindings.iter().filter(leads_back));
    }
    shown.retain(|binding| !binding.hint.is_empty() && state.offers(binding.command));
    shown
}

fn leads_back(binding: &&KeyBinding) -> bool {
    binding.keys.contains(&KeyPress::new(KeySymbol::Esc))
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
    let front = state.front_keys();
    let mut shown = bindings(state);
    // The way back stays on a narrow terminal, too.
    if let Some(index) = shown.iter().position(leads_back).filter(|index| *index > 1) {
        let back = shown.remove(index);
        shown.insert(1, back);
    }
    let own: Vec<_> = shown.into_iter().filter_map(|it| hint(it, theme)).collect();
    // The keys that apply everywhere are at the end, and are never cut off.
    let global: Vec<_> = if front.is_modal() {
        Vec::new()
    } else {
        GLOBAL
            .bindings
            .iter()
            .filter(|it| state.offers(it.command))
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
