//! The help: the lists of keys, those of the present screen first.

use super::text::{EditableText, TextInput};
use super::viewport::Viewport;
use crate::tui::keys::common::GLOBAL;
use crate::tui::keys::{KeyBinding, KeyCommand, KeyList, key_names, lookup_order};
use crate::tui::screens::key_lists::KEY_LISTS;

/// The help while it is open.
#[derive(Debug, Clone, Default)]
pub struct HelpState {
    /// The lists that applied when it was opened: they come first.
    lists: Vec<&'static KeyList>,
    /// Only bindings with this text are listed; empty lists all.
    pub search: EditableText,
    /// Whether the search is being typed.
    pub is_searching: bool,
    /// Scroll position.
    pub viewport: Viewport,
}

impl HelpState {
    /// Opens the help where these lists apply.
    #[must_use]
    pub fn new(lists: Vec<&'static KeyList>) -> Self {
        Self {
            lists,
            ..Self::default()
        }
    }

    /// The lists with those of their bindings that match the search: the present ones first, then the
    /// keys that apply everywhere, then the others.
    #[must_use]
    pub fn sections(&self) -> Vec<(&'static KeyList, Vec<&'static KeyBinding>)> {
        let mut order = lookup_order(&self.lists);
        order.push(&GLOBAL);
        order.extend(KEY_LISTS);
        let search = self.search.as_string().trim().to_lowercase();
        let mut sections: Vec<(&'static KeyList, Vec<_>)> = Vec::new();
        for list in order {
            if sections.iter().any(|(known, _)| *known == list) {
                continue;
            }
            let in_title = list.title.to_lowercase().contains(&search);
            let matching = list
                .bindings
                .iter()
                .filter(|binding| in_title || binding_matches(binding, &search))
                .collect();
            sections.push((list, matching));
        }
        sections.retain(|(_, bindings)| !bindings.is_empty());
        sections
    }

    /// Applies text input to the search.
    pub(super) fn type_input(&mut self, input: TextInput) {
        self.search.apply_input(input);
        self.viewport.reset();
    }

    /// Handles a key command; false closes the help.
    pub(super) fn handle_command(&mut self, command: KeyCommand) -> bool {
        match (command, self.is_searching) {
            (KeyCommand::EditFilter, _) => self.is_searching = true,
            (KeyCommand::Accept, true) => self.is_searching = false,
            (KeyCommand::Cancel, true) => {
                self.is_searching = false;
                self.search = EditableText::default();
                self.viewport.reset();
            }
            (KeyCommand::Cancel, false) => return false,
            (movement, _) => self.viewport.scroll(movement),
        }
        true
    }
}

fn binding_matches(binding: &KeyBinding, search: &str) -> bool {
    let keys = key_names(binding).to_lowercase();
    let help = binding.help.to_lowercase();
    search
        .split_whitespace()
        .all(|word| keys.contains(word) || help.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::screens::bench::keys::LAUNCHER;

    fn searched(text: &str) -> HelpState {
        let mut help = HelpState::new(vec![&LAUNCHER]);
        text.chars()
            .for_each(|letter| help.type_input(TextInput::Insert(letter)));
        help
    }

    #[test]
    fn help_begins_with_the_present_keys_and_has_every_list_once() {
        let sections = searched("").sections();
        let titles: Vec<&str> = sections.iter().map(|(list, _)| list.title).collect();
        assert_eq!(titles[0], LAUNCHER.title);
        assert!(titles[..3].contains(&GLOBAL.title));
        assert_eq!(titles.len(), KEY_LISTS.len());
    }

    #[test]
    fn help_search_finds_keys_texts_and_titles() {
        for (text, expected) in [
            ("suspend", "Global"),
            ("ctrl-z", "Global"),
            ("start the benchmark", "Bench: launcher"),
            ("comparison", "Sessions: comparison"),
        ] {
            let sections = searched(text).sections();
            let is_found = sections.iter().any(|(list, _)| list.title == expected);
            assert!(is_found, "{text}");
        }
        assert!(searched("no such key").sections().is_empty());
    }

    #[test]
    fn esc_clears_the_search_then_closes_the_help() {
        let mut help = searched("sort");
        help.is_searching = true;
        assert!(help.handle_command(KeyCommand::Cancel));
        assert!(help.search.is_empty() && !help.is_searching);
        assert!(!help.handle_command(KeyCommand::Cancel));
    }
}
