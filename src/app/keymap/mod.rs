//! The key table: the command of each key in each context. The help, the footer and `docs/keys.md`
//! are generated from it.

mod binding;
mod command;
mod context;
mod table;

use crate::app::key::KeyPress;

pub use self::binding::KeyBinding;
pub use self::command::KeyCommand;
pub use self::context::KeyContext;
pub use self::table::KEY_BINDINGS;

/// Number of lines of the table as a list with a heading and a blank line per context.
#[must_use]
pub fn line_count() -> usize {
    KEY_BINDINGS.len() + 2 * KeyContext::ALL.len()
}

/// The bindings of a context, in order.
pub fn bindings_of(context: KeyContext) -> impl Iterator<Item = &'static KeyBinding> {
    KEY_BINDINGS
        .iter()
        .filter(move |binding| binding.context == context)
}

/// The command of a key in a context: its own binding, or the global one.
#[must_use]
pub fn find_command(context: KeyContext, key: KeyPress) -> Option<KeyCommand> {
    let bound = |context| {
        bindings_of(context)
            .find(|binding| binding.keys.contains(&key))
            .map(|binding| binding.command)
    };
    let [first, second] = context.lookup_chain();
    bound(first).or_else(|| bound(second)).or_else(|| {
        let reaches = key.control || !context.is_modal();
        reaches.then(|| bound(KeyContext::Global)).flatten()
    })
}

/// The keys of a binding as text: `q, Ctrl-C`.
#[must_use]
pub fn key_names(binding: &KeyBinding) -> String {
    let names: Vec<_> = binding.keys.iter().map(ToString::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::app::key::KeySymbol;

    #[test]
    fn key_table_binds_no_key_twice_in_a_context() {
        let mut seen = HashSet::new();
        for binding in KEY_BINDINGS {
            for key in binding.keys {
                assert!(seen.insert((binding.context, *key)), "{binding:?}: {key}");
            }
        }
    }

    #[test]
    fn key_contexts_with_down_bind_all_six_movement_keys() {
        for context in KeyContext::ALL {
            if find_command(context, KeyPress::new(KeySymbol::Down)) != Some(KeyCommand::Down) {
                continue;
            }
            for (code, command) in [
                (KeySymbol::Up, KeyCommand::Up),
                (KeySymbol::PageUp, KeyCommand::PageUp),
                (KeySymbol::PageDown, KeyCommand::PageDown),
                (KeySymbol::Home, KeyCommand::GoToFirst),
                (KeySymbol::End, KeyCommand::GoToLast),
            ] {
                assert_eq!(
                    find_command(context, KeyPress::new(code)),
                    Some(command),
                    "{context:?}"
                );
            }
        }
    }

    #[test]
    fn key_help_fits_its_column() {
        // The help shows keys and text in columns of 60, of which two separate the columns.
        for binding in KEY_BINDINGS {
            assert!(binding.help.chars().count() <= 40, "{:?}", binding.help);
        }
    }

    #[test]
    fn text_context_ignores_letter_bindings_but_keeps_ctrl_keys() {
        assert_eq!(find_command(KeyContext::Filter, KeyPress::char('q')), None);
        assert_eq!(
            find_command(KeyContext::Filter, KeyPress::control('c')),
            Some(KeyCommand::Quit)
        );
        assert_eq!(
            find_command(KeyContext::Live, KeyPress::char('q')),
            Some(KeyCommand::Quit)
        );
    }

    #[test]
    fn replay_contexts_bind_timeline_keys_and_screen_keys() {
        for context in [KeyContext::Replay, KeyContext::RecordedRequests] {
            assert_eq!(
                find_command(context, KeyPress::char('.')),
                Some(KeyCommand::NextFrame)
            );
            assert_eq!(
                find_command(context, KeyPress::char('q')),
                Some(KeyCommand::Quit)
            );
        }
        assert_eq!(
            find_command(KeyContext::Replay, KeyPress::char('s')),
            find_command(KeyContext::Live, KeyPress::char('s'))
        );
        assert_eq!(
            find_command(KeyContext::RecordedRequests, KeyPress::char('/')),
            Some(KeyCommand::EditFilter)
        );
    }

    #[test]
    fn context_binding_overrides_global_binding() {
        assert_eq!(
            find_command(KeyContext::Help, KeyPress::char('q')),
            Some(KeyCommand::Cancel)
        );
        assert_eq!(
            find_command(KeyContext::Question, KeyPress::char('1')),
            None
        );
    }
}
