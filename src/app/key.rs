//! Keys, as the key table names them.

use std::fmt;

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeySymbol {
    /// A printable character.
    Char(char),
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Tabulator.
    Tab,
    /// Tabulator with shift.
    BackTab,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Deletes to the left.
    Backspace,
    /// Deletes to the right.
    Delete,
    /// A function key, from 1.
    Function(u8),
}

/// A key press, with or without Ctrl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    /// The key.
    pub code: KeySymbol,
    /// Whether Ctrl was held.
    pub control: bool,
}

impl KeyPress {
    /// A key without Ctrl.
    #[must_use]
    pub const fn new(code: KeySymbol) -> Self {
        Self {
            code,
            control: false,
        }
    }

    /// A character without Ctrl.
    #[must_use]
    pub const fn char(letter: char) -> Self {
        Self::new(KeySymbol::Char(letter))
    }

    /// A character with Ctrl.
    #[must_use]
    pub const fn control(letter: char) -> Self {
        Self {
            code: KeySymbol::Char(letter),
            control: true,
        }
    }
}

impl fmt::Display for KeyPress {
    /// Writes the name that the help uses: `Ctrl-Z`, `Enter`, `space`, `a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.control {
            f.write_str("Ctrl-")?;
        }
        match self.code {
            KeySymbol::Char(' ') => f.write_str("space"),
            KeySymbol::Char(letter) if self.control => write!(f, "{}", letter.to_ascii_uppercase()),
            KeySymbol::Char(letter) => write!(f, "{letter}"),
            KeySymbol::BackTab => f.write_str("Shift-Tab"),
            KeySymbol::Function(number) => write!(f, "F{number}"),
            code => write!(f, "{code:?}"),
        }
    }
}
