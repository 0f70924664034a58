//! Conversion of terminal events to interface events.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};

use crate::app::AppEvent;
use crate::app::key::{KeyPress, KeySymbol};

/// The interface event of a terminal event; `None` for events without meaning.
#[must_use]
pub fn event_of(event: &Event) -> Option<AppEvent> {
    match event {
        Event::Key(key) => key_press_of(key).map(AppEvent::Key),
        Event::Paste(text) => Some(AppEvent::Paste(text.clone())),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(AppEvent::Wheel { up: true }),
            MouseEventKind::ScrollDown => Some(AppEvent::Wheel { up: false }),
            _ => None,
        },
        _ => None,
    }
}

fn key_press_of(event: &KeyEvent) -> Option<KeyPress> {
    // Some terminals report the release as well.
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let code = match event.code {
        KeyCode::Char(letter) if control => KeySymbol::Char(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => KeySymbol::Char(letter),
        KeyCode::Enter => KeySymbol::Enter,
        KeyCode::Esc => KeySymbol::Esc,
        KeyCode::Tab => KeySymbol::Tab,
        KeyCode::BackTab => KeySymbol::BackTab,
        KeyCode::Up => KeySymbol::Up,
        KeyCode::Down => KeySymbol::Down,
        KeyCode::Left => KeySymbol::Left,
        KeyCode::Right => KeySymbol::Right,
        KeyCode::Home => KeySymbol::Home,
        KeyCode::End => KeySymbol::End,
        KeyCode::PageUp => KeySymbol::PageUp,
        KeyCode::PageDown => KeySymbol::PageDown,
        KeyCode::Backspace => KeySymbol::Backspace,
        KeyCode::Delete => KeySymbol::Delete,
        KeyCode::F(number) => KeySymbol::Function(number),
        _ => return None,
    };
    Some(KeyPress { code, control })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_release_is_ignored_and_ctrl_is_kept() {
        let mut event = KeyEvent::new(KeyCode::Char('C'), KeyModifiers::CONTROL);
        assert_eq!(key_press_of(&event), Some(KeyPress::control('c')));
        event.kind = KeyEventKind::Release;
        assert_eq!(key_press_of(&event), None);
        let upper = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(key_press_of(&upper), Some(KeyPress::char('G')));
    }
}
