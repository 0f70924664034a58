//! The key table: which key means what, where. The help, the bottom line and `docs/keys.md` are
//! drawn from it.

use super::key::Key;

mod command;
mod context;
mod table;

pub use command::Command;
pub use context::Context;
pub use table::KEYS;

/// One line of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where it holds.
    pub context: Context,
    /// Any of these keys.
    pub keys: &'static [Key],
    /// What it does.
    pub command: Command,
    /// One line for the help.
    pub help: &'static str,
    /// A word for the bottom line; empty: not there.
    pub hint: &'static str,
}

/// Lines that the table takes as a list with a heading and a gap for each context.
#[must_use]
pub fn lines() -> usize {
    KEYS.len() + 2 * Context::ALL.len()
}

/// The bindings of a context, in order.
pub fn of(context: Context) -> impl Iterator<Item = &'static Binding> {
    KEYS.iter()
        .filter(move |binding| binding.context == context)
}

/// What a key means in a context: its own binding, or the one that holds everywhere.
#[must_use]
pub fn find(context: Context, key: Key) -> Option<Command> {
    let bound = |context| {
        of(context)
            .find(|binding| binding.keys.contains(&key))
            .map(|binding| binding.command)
    };
    let [first, second] = context.layers();
    bound(first).or_else(|| bound(second)).or_else(|| {
        let reaches = key.control || !context.is_modal();
        reaches.then(|| bound(Context::Anywhere)).flatten()
    })
}

/// The keys of a binding as people read them: `q, Ctrl-C`.
#[must_use]
pub fn names(binding: &Binding) -> String {
    let names: Vec<_> = binding.keys.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// The whole table as a Markdown document: `docs/keys.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Keys\n\nThe same list is on the screen with `?`. It is made from the key table in \
         `src/app/keymap/table.rs`;\na test compares the two.\n\nIn a text field every \
         other character is typed into it. A value of the form is selected when its\nfield \
         opens: the first character replaces it, Backspace or Delete empties it, an arrow key or\n\
         Home or End keeps it to be edited.\n",
    );
    for context in Context::ALL {
        text.push_str(&format!(
            "\n## {}\n\n| key | does |\n|---|---|\n",
            context.title()
        ));
        for binding in of(context) {
            text.push_str(&format!("| `{}` | {} |\n", names(binding), binding.help));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::app::key::Code;

    #[test]
    fn no_key_is_bound_twice_in_a_context() {
        let mut seen = HashSet::new();
        for binding in KEYS {
            for key in binding.keys {
                assert!(seen.insert((binding.context, *key)), "{binding:?}: {key}");
            }
        }
    }

    #[test]
    fn every_list_and_page_has_the_six_keys_of_movement() {
        for context in Context::ALL {
            if find(context, Key::new(Code::Down)) != Some(Command::Down) {
                continue;
            }
            for (code, command) in [
                (Code::Up, Command::Up),
                (Code::PageUp, Command::PageUp),
                (Code::PageDown, Command::PageDown),
                (Code::Home, Command::First),
                (Code::End, Command::Last),
            ] {
                assert_eq!(find(context, Key::new(code)), Some(command), "{context:?}");
            }
        }
    }

    #[test]
    fn a_text_takes_letters_but_control_keys_still_hold() {
        assert_eq!(find(Context::Filter, Key::char('q')), None);
        assert_eq!(
            find(Context::Filter, Key::control('c')),
            Some(Command::Quit)
        );
        assert_eq!(find(Context::Live, Key::char('q')), Some(Command::Quit));
    }

    #[test]
    fn a_recording_has_the_time_lines_keys_and_those_of_the_screen() {
        for context in [Context::Replay, Context::Recorded] {
            assert_eq!(find(context, Key::char('.')), Some(Command::NextView));
            assert_eq!(find(context, Key::char('q')), Some(Command::Quit));
        }
        assert_eq!(
            find(Context::Replay, Key::char('s')),
            find(Context::Live, Key::char('s'))
        );
        assert_eq!(
            find(Context::Recorded, Key::char('/')),
            Some(Command::Filter)
        );
    }

    #[test]
    fn a_context_hides_what_holds_everywhere() {
        assert_eq!(find(Context::Help, Key::char('q')), Some(Command::Cancel));
        assert_eq!(find(Context::Question, Key::char('1')), None);
    }

    /// `DISKSCOPE_BLESS=1 cargo test` writes the document anew.
    #[test]
    fn the_document_holds_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md");
        if std::env::var_os("DISKSCOPE_BLESS").is_some() {
            std::fs::write(path, markdown()).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            markdown(),
            "docs/keys.md is out of date: run DISKSCOPE_BLESS=1 cargo test the_document_holds"
        );
    }
}
