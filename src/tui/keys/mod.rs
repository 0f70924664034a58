//! The keys: which command each one has in the lists that apply at present.

mod command;
#[rustfmt::skip]
pub mod common;
mod list;

use crate::app::key::KeyPress;

pub use self::command::KeyCommand;
pub use self::list::{KeyBinding, KeyList, KeyListKind};

pub(in crate::tui) use self::list::binding;

use self::common::{GLOBAL, MOVEMENT, TEXT_EDITING};

/// The lists in which a key is looked up, in order, where a screen or a dialog has these.
#[must_use]
pub fn lookup_order(lists: &[&'static KeyList]) -> Vec<&'static KeyList> {
    let mut order = lists.to_vec();
    if lists.iter().any(|list| list.takes_text()) {
        order.push(&TEXT_EDITING);
    }
    if lists.iter().any(|list| list.has_movement) {
        order.push(&MOVEMENT);
    }
    order
}

/// The command of a key where these lists apply: their own, or a global one.
#[must_use]
pub fn find_command(lists: &[&'static KeyList], key: KeyPress) -> Option<KeyCommand> {
    list::first_command(&lookup_order(lists), key).or_else(|| {
        let reaches = key.control || !lists.iter().any(|list| list.is_modal());
        reaches
            .then(|| list::first_command(&[&GLOBAL], key))
            .flatten()
    })
}

/// The keys of a binding as text: `q, Ctrl-C`.
#[must_use]
pub fn key_names(binding: &KeyBinding) -> String {
    let names: Vec<_> = binding.keys.iter().map(ToString::to_string).collect();
    names.join(", ")
}
