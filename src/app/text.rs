//! A line of text that is being typed.

use super::key::{KeyPress, KeySymbol};

/// A text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditableText {
    chars: Vec<char>,
    cursor: usize,
    selected: bool,
}

/// Maximum length in characters; input beyond it is dropped.
const MAX_CHARS: usize = 4096;

/// An edit that is not a character, as the editing keys request it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextEdit {
    /// The cursor one character to the left.
    Left,
    /// The cursor one character to the right.
    Right,
    /// The cursor before the first character.
    Start,
    /// The cursor behind the last character.
    End,
    /// Delete the character before the cursor.
    DeleteBefore,
    /// Delete the character under the cursor.
    DeleteUnder,
    /// Delete everything before the cursor.
    DeleteToStart,
}

/// An input to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextInput {
    /// Insert this character.
    Insert(char),
    /// Move the cursor or delete.
    Edit(TextEdit),
}

impl TextInput {
    /// The character that a key inserts; `None` for keys that insert none.
    #[must_use]
    pub fn from_key(key: KeyPress) -> Option<Self> {
        match (key.code, key.control) {
            (KeySymbol::Char(letter), false) if !letter.is_control() => Some(Self::Insert(letter)),
            _ => None,
        }
    }
}

impl EditableText {
    /// A text with the cursor at its end.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().take(MAX_CHARS).collect();
        Self {
            cursor: letters.len(),
            chars: letters,
            selected: false,
        }
    }

    /// A text that is selected as a whole: a character replaces it, a deletion clears it, and a
    /// cursor movement keeps it.
    #[must_use]
    pub fn selected(text: &str) -> Self {
        let text = Self::new(text);
        Self {
            selected: !text.is_empty(),
            ..text
        }
    }

    /// The text.
    #[must_use]
    pub fn as_string(&self) -> String {
        self.chars.iter().collect()
    }

    /// The text to the left of the cursor.
    #[must_use]
    pub fn before_cursor(&self) -> String {
        self.chars[..self.cursor].iter().collect()
    }

    /// Whether nothing was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// Whether the whole text is selected.
    #[must_use]
    pub fn is_selected(&self) -> bool {
        self.selected
    }

    /// Applies a character or an edit.
    pub fn apply_input(&mut self, input: TextInput) {
        let was_selected = std::mem::take(&mut self.selected);
        match input {
            TextInput::Insert(letter) => {
                if was_selected {
                    self.clear();
                }
                self.insert(letter);
            }
            TextInput::Edit(edit) if was_selected => self.edit_selected(edit),
            TextInput::Edit(edit) => self.edit(edit),
        }
    }

    /// As in other programs, the arrow keys move to the ends of the selection.
    fn edit_selected(&mut self, edit: TextEdit) {
        match edit {
            TextEdit::Left | TextEdit::Start => self.cursor = 0,
            TextEdit::Right | TextEdit::End => self.cursor = self.chars.len(),
            TextEdit::DeleteBefore | TextEdit::DeleteUnder | TextEdit::DeleteToStart => {
                self.clear();
            }
        }
    }

    fn edit(&mut self, edit: TextEdit) {
        match edit {
            TextEdit::Left => self.cursor = self.cursor.saturating_sub(1),
            TextEdit::Right => self.cursor = (self.cursor + 1).min(self.chars.len()),
            TextEdit::Start => self.cursor = 0,
            TextEdit::End => self.cursor = self.chars.len(),
            TextEdit::DeleteBefore if self.cursor > 0 => {
                self.cursor -= 1;
                self.chars.remove(self.cursor);
            }
            TextEdit::DeleteUnder if self.cursor < self.chars.len() => {
                self.chars.remove(self.cursor);
            }
            TextEdit::DeleteToStart => {
                self.chars.drain(..self.cursor);
                self.cursor = 0;
            }
            TextEdit::DeleteBefore | TextEdit::DeleteUnder => {}
        }
    }

    fn clear(&mut self) {
        self.chars.clear();
        self.cursor = 0;
    }

    fn insert(&mut self, letter: char) {
        if self.chars.len() < MAX_CHARS {
            self.chars.insert(self.cursor, letter);
            self.cursor += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text after these inputs: a word names an edit, a single character is typed.
    fn text_after(mut text: EditableText, inputs: &str) -> String {
        for word in inputs.split_whitespace() {
            let edit = match word {
                "Left" => TextEdit::Left,
                "Right" => TextEdit::Right,
                "Start" => TextEdit::Start,
                "End" => TextEdit::End,
                "Before" => TextEdit::DeleteBefore,
                "Under" => TextEdit::DeleteUnder,
                "ToStart" => TextEdit::DeleteToStart,
                letter => {
                    text.apply_input(TextInput::Insert(letter.chars().next().unwrap()));
                    continue;
                }
            };
            text.apply_input(TextInput::Edit(edit));
        }
        text.as_string()
    }

    #[test]
    fn text_edits_apply_at_the_cursor() {
        for (inputs, wanted) in [
            ("i", "4KBi"),
            ("Left i", "4KiB"),
            ("Left i Start Under 8 Before Before", "KiB"),
            ("Start Left Before x Right y", "x4yKB"),
            ("End Right Under z", "4KBz"),
            ("Left ToStart", "B"),
            ("ToStart 9", "9"),
        ] {
            assert_eq!(
                text_after(EditableText::new("4KB"), inputs),
                wanted,
                "{inputs}"
            );
        }
    }

    #[test]
    fn selected_text_is_replaced_by_typing_and_kept_by_cursor_movement() {
        for (inputs, wanted) in [
            ("8 K", "8K"),
            ("Left 6", "64KiB"),
            ("Start 6", "64KiB"),
            ("Right s", "4KiBs"),
            ("End Before", "4Ki"),
            ("Before", ""),
            ("Under 7", "7"),
            ("ToStart", ""),
        ] {
            assert_eq!(
                text_after(EditableText::selected("4KiB"), inputs),
                wanted,
                "{inputs}"
            );
        }
        assert!(!EditableText::selected("").is_selected());
    }

    #[test]
    fn ctrl_key_inserts_no_character() {
        assert_eq!(TextInput::from_key(KeyPress::control('x')), None);
        assert_eq!(TextInput::from_key(KeyPress::new(KeySymbol::Enter)), None);
        let letter = Some(TextInput::Insert('q'));
        assert_eq!(TextInput::from_key(KeyPress::char('q')), letter);
    }
}
