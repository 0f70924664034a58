//! A list of keys: what each one does, for handling, the footer, the help and `docs/keys.md`.

use crate::app::key::KeyPress;
use crate::tui::keys::command::KeyCommand;

/// One key or several with the same meaning.
#[derive(Debug, Clone, Copy)]
pub struct KeyBinding {
    /// Any of these keys.
    pub keys: &'static [KeyPress],
    /// What it does.
    pub command: KeyCommand,
    /// One line for the help.
    pub help: &'static str,
    /// A word for the footer; empty if it is not shown there.
    pub hint: &'static str,
}

/// A binding of a list.
pub(in crate::tui) const fn binding(
    keys: &'static [KeyPress],
    command: KeyCommand,
    help: &'static str,
    hint: &'static str,
) -> KeyBinding {
    KeyBinding {
        keys,
        command,
        help,
        hint,
    }
}

/// What keys are for where a list applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyListKind {
    /// Commands; the global keys apply as well.
    Commands,
    /// Text: characters are inserted, and only the global keys with Ctrl apply.
    Text,
    /// The answer to a question. A key acts only after the question was shown, and any key that is no
    /// answer closes it.
    Question,
    /// A page over the screen: only the global keys with Ctrl apply.
    Page,
}

/// The keys of a screen, a pane, a field or a question.
#[derive(Debug)]
pub struct KeyList {
    /// Its heading.
    pub title: &'static str,
    /// What keys are for here.
    pub kind: KeyListKind,
    /// Whether the keys of [`MOVEMENT`](super::common::MOVEMENT) apply.
    pub has_movement: bool,
    /// Its keys.
    pub bindings: &'static [KeyBinding],
}

impl PartialEq for KeyList {
    /// Every list has a title of its own.
    fn eq(&self, other: &Self) -> bool {
        self.title == other.title
    }
}

impl KeyList {
    const fn new(title: &'static str, kind: KeyListKind, bindings: &'static [KeyBinding]) -> Self {
        Self {
            title,
            kind,
            has_movement: false,
            bindings,
        }
    }

    /// Keys with commands.
    pub(in crate::tui) const fn commands(
        title: &'static str,
        bindings: &'static [KeyBinding],
    ) -> Self {
        Self::new(title, KeyListKind::Commands, bindings)
    }

    /// The keys of a field.
    pub(in crate::tui) const fn text(title: &'static str, bindings: &'static [KeyBinding]) -> Self {
        Self::new(title, KeyListKind::Text, bindings)
    }

    /// The answers to a question.
    pub(in crate::tui) const fn question(
        title: &'static str,
        bindings: &'static [KeyBinding],
    ) -> Self {
        Self::new(title, KeyListKind::Question, bindings)
    }

    /// The keys of a page over the screen.
    pub(in crate::tui) const fn page(title: &'static str, bindings: &'static [KeyBinding]) -> Self {
        Self::new(title, KeyListKind::Page, bindings)
    }

    /// With the keys of movement.
    pub(in crate::tui) const fn with_movement(mut self) -> Self {
        self.has_movement = true;
        self
    }

    /// Whether characters are text input here.
    #[must_use]
    pub fn takes_text(&self) -> bool {
        self.kind == KeyListKind::Text
    }

    /// Whether a single key answers a question here.
    #[must_use]
    pub fn is_question(&self) -> bool {
        self.kind == KeyListKind::Question
    }

    /// Whether only its own keys and those with Ctrl apply here.
    #[must_use]
    pub fn is_modal(&self) -> bool {
        self.kind != KeyListKind::Commands
    }

    /// The command of a key.
    fn command(&self, key: KeyPress) -> Option<KeyCommand> {
        let mut bindings = self.bindings.iter();
        bindings
            .find(|binding| binding.keys.contains(&key))
            .map(|binding| binding.command)
    }
}

/// The command of a key in the first of these lists that binds it.
pub(super) fn first_command(lists: &[&KeyList], key: KeyPress) -> Option<KeyCommand> {
    lists.iter().find_map(|list| list.command(key))
}
