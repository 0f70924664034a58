//! The launcher's search: benchmarks and targets that match what is typed, or a path.

use std::sync::Arc;

use super::error::TargetError;
use super::target_choice::TargetChoice;
use super::text::{EditableText, TextInput};
use super::viewport::step_cursor;
use crate::bench::{BENCHMARKS, Description};
use crate::tui::keys::KeyCommand;

/// A target or a benchmark that the search lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMatch {
    /// Index in the launcher's list of targets.
    Target(usize),
    /// Index in the list of all benchmarks.
    Benchmark(usize),
}

/// Why the typed text was not accepted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SearchError {
    /// No benchmark and no target matches.
    #[error("nothing matches {text}; a path begins with /")]
    NoMatch {
        /// The typed text.
        text: String,
    },
    /// The target at the typed path cannot be measured.
    #[error(transparent)]
    Target(Arc<TargetError>),
}

/// An active search. A text that begins with `/` is a path.
#[derive(Debug, Clone)]
pub struct LauncherSearch {
    /// What was typed so far.
    pub text: EditableText,
    /// The match that Enter selects; `None` if nothing matches, and while a path is typed.
    pub selected: Option<SearchMatch>,
    /// The error of the last attempt to accept the text.
    pub error: Option<SearchError>,
    /// The selection before the search.
    previous_selection: SearchMatch,
}

impl LauncherSearch {
    /// Creates an empty search with this selection.
    #[must_use]
    pub fn new(origin: SearchMatch) -> Self {
        Self {
            text: EditableText::default(),
            selected: Some(origin),
            error: None,
            previous_selection: origin,
        }
    }

    /// Whether a path is typed.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.text.as_string().starts_with('/')
    }

    /// All matches in the order of the lists, targets, then benchmarks. Everything matches while a
    /// path is typed.
    #[must_use]
    pub fn matches(&self, choices: &[TargetChoice]) -> Vec<SearchMatch> {
        let ranked = self.ranked_matches(choices).into_iter();
        ranked.map(|(_, matched)| matched).collect()
    }

    /// Applies text input and selects the best match.
    pub fn type_input(&mut self, input: TextInput, choices: &[TargetChoice]) {
        self.text.apply_input(input);
        self.error = None;
        self.select_best(choices);
    }

    /// Selects the best match.
    pub fn select_best(&mut self, choices: &[TargetChoice]) {
        self.selected = if self.is_path() {
            None
        } else if self.text.is_empty() {
            Some(self.previous_selection)
        } else {
            let ranked = self.ranked_matches(choices).into_iter();
            let best = ranked.min_by_key(|(rank, _)| *rank);
            best.map(|(_, matched)| matched)
        };
    }

    /// Moves the selection through the matches.
    pub fn step_selection(&mut self, movement: KeyCommand, choices: &[TargetChoice]) {
        if self.is_path() {
            return;
        }
        let matches = self.matches(choices);
        let index = matches
            .iter()
            .position(|matched| Some(*matched) == self.selected);
        let index = step_cursor(index.unwrap_or(0), matches.len(), movement);
        self.selected = matches.get(index).copied();
    }

    /// What Enter inspects where nothing is selected: the typed path, or the typed simulated drive
    /// with parameters. Otherwise sets the error.
    pub fn path_to_inspect(&mut self) -> Option<String> {
        let text = self.text.as_string().trim().to_owned();
        if self.is_path() || text.contains(':') {
            return Some(text);
        }
        self.error = Some(SearchError::NoMatch { text });
        None
    }

    fn ranked_matches(&self, choices: &[TargetChoice]) -> Vec<(u8, SearchMatch)> {
        let text = self.text.as_string().trim().to_lowercase();
        let text = if self.is_path() { "" } else { text.as_str() };
        let targets = choices.iter().enumerate().filter_map(|(index, choice)| {
            Some((target_rank(text, choice)?, SearchMatch::Target(index)))
        });
        let benchmarks = BENCHMARKS
            .iter()
            .enumerate()
            .filter_map(|(index, benchmark)| {
                let rank = benchmark_rank(text, benchmark.description())?;
                Some((rank, SearchMatch::Benchmark(index)))
            });
        targets.chain(benchmarks).collect()
    }
}

fn target_rank(text: &str, choice: &TargetChoice) -> Option<u8> {
    let last = choice.name.rsplit('/').next().unwrap_or_default();
    let descriptions = [&choice.label, &choice.kind, &choice.used_by].map(String::as_str);
    match_rank(text, &[&choice.name, last], &descriptions)
}

fn benchmark_rank(text: &str, description: &Description) -> Option<u8> {
    let mut names = vec![description.name];
    names.extend(description.aliases);
    match_rank(text, &names, &[description.summary])
}

/// Rank of a match, lower is better: 0 equals a name, 1 is a prefix of one, 2 is contained in one,
/// and 3 has each of its words in a name or in the description.
fn match_rank(text: &str, names: &[&str], descriptions: &[&str]) -> Option<u8> {
    let lower = |each: &[&str]| {
        each.iter()
            .map(|text| text.to_lowercase())
            .collect::<Vec<_>>()
    };
    let (names, descriptions) = (lower(names), lower(descriptions));
    let any = |matches: &dyn Fn(&String) -> bool| names.iter().any(matches);
    if any(&|name| name == text) {
        return Some(0);
    }
    if any(&|name| name.starts_with(text)) {
        return Some(1);
    }
    if any(&|name| name.contains(text)) {
        return Some(2);
    }
    let matched = |word: &str| {
        names
            .iter()
            .chain(&descriptions)
            .any(|known| known.contains(word))
    };
    text.split_whitespace().all(matched).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::TargetGroup;
    use crate::drive::Target;

    fn target_choice(name: &str, label: &str) -> TargetChoice {
        TargetChoice {
            name: name.to_owned(),
            path: name.into(),
            group: TargetGroup::Drive,
            label: label.to_owned(),
            size_bytes: None,
            kind: "nvme".to_owned(),
            used_by: String::new(),
            target: Ok(Target::example_drive()),
        }
    }

    fn search_for(text: &str) -> (LauncherSearch, Vec<TargetChoice>) {
        let choices = vec![
            target_choice("/dev/sda", "ST8000NM000A"),
            target_choice("/dev/nvme0n1", "Samsung PM9A3"),
        ];
        let mut search = LauncherSearch::new(SearchMatch::Target(1));
        for letter in text.chars() {
            search.type_input(TextInput::Insert(letter), &choices);
        }
        (search, choices)
    }

    fn match_name(matched: Option<SearchMatch>, choices: &[TargetChoice]) -> String {
        match matched {
            None => "nothing".to_owned(),
            Some(SearchMatch::Target(index)) => choices[index].name.clone(),
            Some(SearchMatch::Benchmark(index)) => BENCHMARKS[index].description().name.to_owned(),
        }
    }

    #[test]
    fn search_text_selects_best_match() {
        for (text, expected) in [
            ("", "/dev/nvme0n1"),
            ("sda", "/dev/sda"),
            ("samsung", "/dev/nvme0n1"),
            ("PM9A3 nvme", "/dev/nvme0n1"),
            ("wsc", "write-sync-close"),
            ("random", "random-read"),
            ("RANDOM-W", "random-write"),
            ("write-cache", "write-cache"),
            ("no such thing", "nothing"),
            ("/dev/sda", "nothing"),
        ] {
            let (search, choices) = search_for(text);
            assert_eq!(match_name(search.selected, &choices), expected, "{text:?}");
        }
    }

    #[test]
    fn search_finds_every_benchmark_by_name_and_alias() {
        for test in BENCHMARKS {
            let description = test.description();
            for known in description.aliases.iter().chain([&description.name]) {
                let (search, choices) = search_for(known);
                assert_eq!(
                    match_name(search.selected, &choices),
                    description.name,
                    "{known}"
                );
            }
        }
    }

    #[test]
    fn search_movement_visits_every_match_and_stops_at_the_ends() {
        let (mut search, choices) = search_for("s");
        let matches = search.matches(&choices);
        search.step_selection(KeyCommand::GoToFirst, &choices);
        let mut seen = vec![search.selected.unwrap()];
        for _ in 1..matches.len() {
            search.step_selection(KeyCommand::Down, &choices);
            seen.push(search.selected.unwrap());
        }
        assert_eq!(seen, matches);
        search.step_selection(KeyCommand::Down, &choices);
        assert_eq!(search.selected, matches.last().copied());
        let (mut search, choices) = search_for("no such thing");
        search.step_selection(KeyCommand::GoToLast, &choices);
        assert_eq!(search.selected, None);
    }

    #[test]
    fn search_for_path_lists_everything_and_selects_nothing() {
        let (mut search, choices) = search_for("/dev/sda");
        assert!(search.is_path());
        assert_eq!(
            search.matches(&choices).len(),
            choices.len() + BENCHMARKS.len()
        );
        search.step_selection(KeyCommand::Down, &choices);
        assert_eq!(search.selected, None);
    }
}
