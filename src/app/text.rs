//! A line of text that is being typed.

use super::key::{Code, Key};

/// A text and the place in it where the next character goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    letters: Vec<char>,
    cursor: usize,
    selected: bool,
}

/// More than anybody types; what is pasted beyond is dropped.
const LONGEST: usize = 4096;

/// A change to a text that is not a character: what the editing keys ask for.
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

/// Something that is done to a text.
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
    pub fn of_key(key: Key) -> Option<Self> {
        match (key.code, key.control) {
            (Code::Char(letter), false) if !letter.is_control() => Some(Self::Insert(letter)),
            _ => None,
        }
    }
}

impl Text {
    /// A text with the cursor at its end.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().take(LONGEST).collect();
        Self {
            cursor: letters.len(),
            letters,
            selected: false,
        }
    }

    /// A text that is selected as a whole: a character replaces it, a deletion empties it, and a
    /// movement of the cursor keeps it to be edited.
    #[must_use]
    pub fn selected(text: &str) -> Self {
        let text = Self::new(text);
        Self {
            selected: !text.is_empty(),
            ..text
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

    /// Whether the whole text is selected.
    #[must_use]
    pub fn is_selected(&self) -> bool {
        self.selected
    }

    /// Takes a character or a change.
    pub fn press(&mut self, input: TextInput) {
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

    /// As in other programs: the arrow keys go to the ends of what was selected.
    fn edit_selected(&mut self, edit: TextEdit) {
        match edit {
            TextEdit::Left | TextEdit::Start => self.cursor = 0,
            TextEdit::Right | TextEdit::End => self.cursor = self.letters.len(),
            TextEdit::DeleteBefore | TextEdit::DeleteUnder | TextEdit::DeleteToStart => {
                self.clear();
            }
        }
    }

    fn edit(&mut self, edit: TextEdit) {
        match edit {
            TextEdit::Left => self.cursor = self.cursor.saturating_sub(1),
            TextEdit::Right => self.cursor = (self.cursor + 1).min(self.letters.len()),
            TextEdit::Start => self.cursor = 0,
            TextEdit::End => self.cursor = self.letters.len(),
            TextEdit::DeleteBefore if self.cursor > 0 => {
                self.cursor -= 1;
                self.letters.remove(self.cursor);
            }
            TextEdit::DeleteUnder if self.cursor < self.letters.len() => {
                self.letters.remove(self.cursor);
            }
            TextEdit::DeleteToStart => {
                self.letters.drain(..self.cursor);
                self.cursor = 0;
            }
            TextEdit::DeleteBefore | TextEdit::DeleteUnder => {}
        }
    }

    fn clear(&mut self) {
        self.letters.clear();
        self.cursor = 0;
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

    /// The text after these: a word names a change, a single character is typed.
    fn after(mut text: Text, inputs: &str) -> String {
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
                    text.press(TextInput::Insert(letter.chars().next().unwrap()));
                    continue;
                }
            };
            text.press(TextInput::Edit(edit));
        }
        text.as_string()
    }

    #[test]
    fn text_with_cursor_at_its_end_is_edited() {
        for (inputs, wanted) in [
            ("i", "4KBi"),
            ("Left i", "4KiB"),
            ("Left i Start Under 8 Before Before", "KiB"),
            ("Start Left Before x Right y", "x4yKB"),
            ("End Right Under z", "4KBz"),
            ("Left ToStart", "B"),
            ("ToStart 9", "9"),
        ] {
            assert_eq!(after(Text::new("4KB"), inputs), wanted, "{inputs}");
        }
    }

    #[test]
    fn selected_text_is_replaced_by_the_first_character_and_kept_by_a_movement() {
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
            assert_eq!(after(Text::selected("4KiB"), inputs), wanted, "{inputs}");
        }
        assert!(!Text::selected("").is_selected());
    }

    #[test]
    fn key_with_control_inserts_nothing() {
        assert_eq!(TextInput::of_key(Key::control('x')), None);
        assert_eq!(TextInput::of_key(Key::new(Code::Enter)), None);
        let letter = Some(TextInput::Insert('q'));
        assert_eq!(TextInput::of_key(Key::char('q')), letter);
    }
}
