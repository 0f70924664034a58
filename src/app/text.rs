//! A line of text that is being typed.

use super::key::{Code, Key};

/// A text and the place in it where the next character goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    letters: Vec<char>,
    cursor: usize,
}

/// More than anybody types; what is pasted beyond is dropped.
const LONGEST: usize = 4096;

impl Text {
    /// A text with the cursor at its end.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().take(LONGEST).collect();
        Self {
            cursor: letters.len(),
            letters,
        }
    }

    /// What was typed.
    #[must_use]
    pub fn as_string(&self) -> String {
        self.letters.iter().collect()
    }

    /// What is left of the cursor.
    #[must_use]
    pub fn before_cursor(&self) -> String {
        self.letters[..self.cursor].iter().collect()
    }

    /// Whether nothing was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Takes a key: a character, an arrow, a deletion. Others do nothing.
    pub fn press(&mut self, key: Key) {
        match (key.code, key.control) {
            (Code::Char('u'), true) => {
                self.letters.drain(..self.cursor);
                self.cursor = 0;
            }
            (Code::Char('a'), true) | (Code::Home, _) => self.cursor = 0,
            (Code::Char('e'), true) | (Code::End, _) => self.cursor = self.letters.len(),
            (Code::Char(letter), false) if !letter.is_control() => self.insert(letter),
            (Code::Left, _) => self.cursor = self.cursor.saturating_sub(1),
            (Code::Right, _) => self.cursor = (self.cursor + 1).min(self.letters.len()),
            (Code::Backspace, _) if self.cursor > 0 => {
                self.cursor -= 1;
                self.letters.remove(self.cursor);
            }
            (Code::Delete, _) if self.cursor < self.letters.len() => {
                self.letters.remove(self.cursor);
            }
            _ => {}
        }
    }

    fn insert(&mut self, letter: char) {
        if self.letters.len() < LONGEST {
            self.letters.insert(self.cursor, letter);
            self.cursor += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_the_text() {
        let mut text = Text::new("4KB");
        text.press(Key::new(Code::Left));
        text.press(Key::char('i'));
        assert_eq!(text.as_string(), "4KiB");
        assert_eq!(text.before_cursor(), "4Ki");
        text.press(Key::new(Code::Home));
        text.press(Key::new(Code::Delete));
        text.press(Key::char('8'));
        text.press(Key::new(Code::Backspace));
        text.press(Key::new(Code::Backspace));
        assert_eq!(text.as_string(), "KiB");
        text.press(Key::new(Code::End));
        text.press(Key::control('u'));
        assert!(text.is_empty());
    }
}
