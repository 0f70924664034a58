//! The help: the key table, that of the present screen first.

use super::keymap::{KeyBinding, KeyCommand, KeyContext, bindings_of, key_names};
use super::text::{EditableText, TextInput};
use super::viewport::Viewport;

/// The help while it is open.
#[derive(Debug, Clone)]
pub struct HelpState {
    /// The context in which it was opened, whose keys come first.
    context: KeyContext,
    /// Only bindings with this text are listed; empty lists all.
    pub search: EditableText,
    /// Whether the search is being typed.
    pub is_searching: bool,
    /// Scroll position.
    pub viewport: Viewport,
}

impl Default for HelpState {
    fn default() -> Self {
        Self::new(KeyContext::Global)
    }
}

impl HelpState {
    /// Opens the help in a context.
    #[must_use]
    pub fn new(context: KeyContext) -> Self {
        Self {
            context,
            search: EditableText::default(),
            is_searching: false,
            viewport: Viewport::default(),
        }
    }

    /// The contexts with those of their bindings that match the search: the present one first, then
    /// the keys that apply everywhere, then the others.
    #[must_use]
    pub fn sections(&self) -> Vec<(KeyContext, Vec<&'static KeyBinding>)> {
        let mut order = self.context.lookup_chain().to_vec();
        order.push(KeyContext::Global);
        order.extend(KeyContext::ALL);
        let search = self.search.as_string().trim().to_lowercase();
        let mut sections: Vec<(KeyContext, Vec<_>)> = Vec::new();
        for context in order {
            if sections.iter().any(|(known, _)| *known == context) {
                continue;
            }
            let in_title = context.title().to_lowercase().contains(&search);
            let matching = bindings_of(context)
                .filter(|binding| in_title || binding_matches(binding, &search))
                .collect();
            sections.push((context, matching));
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

    fn searched(text: &str) -> HelpState {
        let mut help = HelpState::new(KeyContext::Launcher);
        text.chars()
            .for_each(|letter| help.type_input(TextInput::Insert(letter)));
        help
    }

    #[test]
    fn help_begins_with_the_present_context_and_lists_every_binding_once() {
        let sections = searched("").sections();
        assert_eq!(sections[0].0, KeyContext::Launcher);
        assert_eq!(sections[1].0, KeyContext::Global);
        let listed: usize = sections.iter().map(|(_, bindings)| bindings.len()).sum();
        assert_eq!(listed, super::super::keymap::KEY_BINDINGS.len());
    }

    #[test]
    fn help_search_finds_keys_texts_and_titles() {
        for (text, expected) in [
            ("suspend", KeyContext::Global),
            ("ctrl-z", KeyContext::Global),
            ("start the benchmark", KeyContext::Launcher),
            ("comparison", KeyContext::Comparison),
        ] {
            let sections = searched(text).sections();
            assert!(
                sections.iter().any(|(context, _)| *context == expected),
                "{text}"
            );
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
