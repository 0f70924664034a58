//! The terminal's events, as the interface understands them.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};

use crate::app::Action;
use crate::app::key::{Code, Key};

/// What an event means; `None` for those that mean nothing.
#[must_use]
pub fn action(event: &Event) -> Option<Action> {
    match event {
        Event::Key(key) => key_of(key).map(Action::Key),
        Event::Paste(text) => Some(Action::Paste(text.clone())),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Action::Wheel { up: true }),
            MouseEventKind::ScrollDown => Some(Action::Wheel { up: false }),
            _ => None,
        },
        _ => None,
    }
}

fn key_of(event: &KeyEvent) -> Option<Key> {
    // Some terminals report the release as well.
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let code = match event.code {
        KeyCode::Char(letter) if control => Code::Char(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => Code::Char(letter),
        KeyCode::Enter => Code::Enter,
        KeyCode::Esc => Code::Esc,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => Code::BackTab,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::F(number) => Code::Function(number),
        _ => return None,
    };
    Some(Key { code, control })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_mean_nothing_and_control_is_kept() {
        let mut event = KeyEvent::new(KeyCode::Char('C'), KeyModifiers::CONTROL);
        assert_eq!(key_of(&event), Some(Key::control('c')));
        event.kind = KeyEventKind::Release;
        assert_eq!(key_of(&event), None);
        let upper = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(key_of(&upper), Some(Key::char('G')));
    }
}
