//! One entry of the key table.

use crate::app::key::KeyPress;
use crate::app::keymap::command::KeyCommand;
use crate::app::keymap::context::KeyContext;

/// One line of the key table.
#[derive(Debug, Clone, Copy)]
pub struct KeyBinding {
    /// The context in which it applies.
    pub context: KeyContext,
    /// Any of these keys.
    pub keys: &'static [KeyPress],
    /// What it does.
    pub command: KeyCommand,
    /// One line for the help.
    pub help: &'static str,
    /// A word for the footer; empty if it is not shown there.
    pub hint: &'static str,
}
