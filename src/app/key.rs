//! Keys, as the key table names them.

use std::fmt;

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
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

/// A key that was pressed, together with Ctrl or alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which.
    pub code: Code,
    /// Whether Ctrl was held.
    pub control: bool,
}

impl Key {
    /// A key alone.
    #[must_use]
    pub const fn new(code: Code) -> Self {
        Self {
            code,
            control: false,
        }
    }

    /// A character alone.
    #[must_use]
    pub const fn char(letter: char) -> Self {
        Self::new(Code::Char(letter))
    }

    /// A character with Ctrl.
    #[must_use]
    pub const fn control(letter: char) -> Self {
        Self {
            code: Code::Char(letter),
            control: true,
        }
    }
}

impl fmt::Display for Key {
    /// As the help names it: `Ctrl-Z`, `Enter`, `space`, `a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.control {
            f.write_str("Ctrl-")?;
        }
        match self.code {
            Code::Char(' ') => f.write_str("space"),
            Code::Char(letter) if self.control => write!(f, "{}", letter.to_ascii_uppercase()),
            Code::Char(letter) => write!(f, "{letter}"),
            Code::BackTab => f.write_str("Shift-Tab"),
            Code::Function(number) => write!(f, "F{number}"),
            code => write!(f, "{code:?}"),
        }
    }
}
