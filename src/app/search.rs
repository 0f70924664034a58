//! The launcher's search: benchmarks and targets that match what is typed, or a path.

use super::action::{Choice, Effect};
use super::keymap::Command;
use super::text::{Text, TextInput};
use super::viewport::step;
use crate::bench::{Description, TESTS};

/// A target or a benchmark that the search lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMatch {
    /// A place among the choices of the launcher.
    Target(usize),
    /// A place in [`TESTS`].
    Benchmark(usize),
}

/// A search that is being typed. A text that begins with `/` is a path.
#[derive(Debug, Clone)]
pub struct LauncherSearch {
    /// What was typed so far.
    pub text: Text,
    /// What Enter takes; `None` where nothing matches, and while a path is typed.
    pub selected: Option<SearchMatch>,
    /// What is wrong with the text, once it was tried.
    pub error: Option<String>,
    /// What was selected before the search.
    origin: SearchMatch,
}

impl LauncherSearch {
    /// A search for nothing yet, with this selected.
    #[must_use]
    pub fn new(origin: SearchMatch) -> Self {
        Self {
            text: Text::default(),
            selected: Some(origin),
            error: None,
            origin,
        }
    }

    /// Whether a path is typed.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.text.as_string().starts_with('/')
    }

    /// Everything that matches, in the order of the lists: targets, then benchmarks. All of them
    /// while a path is typed.
    #[must_use]
    pub fn matches(&self, choices: &[Choice]) -> Vec<SearchMatch> {
        let ranked = self.ranked(choices).into_iter();
        ranked.map(|(_, found)| found).collect()
    }

    /// Takes a character or a change, and selects what matches best.
    pub fn press(&mut self, input: TextInput, choices: &[Choice]) {
        self.text.press(input);
        self.error = None;
        self.select(choices);
    }

    /// Selects what matches best.
    pub fn select(&mut self, choices: &[Choice]) {
        self.selected = if self.is_path() {
            None
        } else if self.text.is_empty() {
            Some(self.origin)
        } else {
            let ranked = self.ranked(choices).into_iter();
            let best = ranked.min_by_key(|(rank, _)| *rank);
            best.map(|(_, found)| found)
        };
    }

    /// Moves through what matches.
    pub fn step(&mut self, movement: Command, choices: &[Choice]) {
        if self.is_path() {
            return;
        }
        let matches = self.matches(choices);
        let place = matches
            .iter()
            .position(|found| Some(*found) == self.selected);
        let place = step(place.unwrap_or(0), matches.len(), movement);
        self.selected = matches.get(place).copied();
    }

    /// What Enter asks for where nothing is selected: to look at the path, or at the simulated
    /// drive with parameters, that was typed. Otherwise says what is wrong.
    pub fn inspected(&mut self) -> Option<Effect> {
        let text = self.text.as_string().trim().to_owned();
        if self.is_path() || text.contains(':') {
            return Some(Effect::Inspect(text));
        }
        self.error = Some(format!("nothing matches {text}; a path begins with /"));
        None
    }

    fn ranked(&self, choices: &[Choice]) -> Vec<(u8, SearchMatch)> {
        let text = self.text.as_string().trim().to_lowercase();
        let text = if self.is_path() { "" } else { text.as_str() };
        let targets = choices.iter().enumerate().filter_map(|(place, choice)| {
            Some((target_rank(text, choice)?, SearchMatch::Target(place)))
        });
        let benchmarks = TESTS.iter().enumerate().filter_map(|(place, test)| {
            let rank = benchmark_rank(text, test.description())?;
            Some((rank, SearchMatch::Benchmark(place)))
        });
        targets.chain(benchmarks).collect()
    }
}

fn target_rank(text: &str, choice: &Choice) -> Option<u8> {
    let last = choice.name.rsplit('/').next().unwrap_or_default();
    let about = [&choice.label, &choice.kind, &choice.users].map(String::as_str);
    rank(text, &[&choice.name, last], &about)
}

fn benchmark_rank(text: &str, description: &Description) -> Option<u8> {
    let mut names = vec![description.name];
    names.extend(description.aliases);
    rank(text, &names, &[description.summary])
}

/// How well the text matches: 0 is a name, 1 begins one, 2 is in one, and 3 has each of its words
/// in a name or in what is said about it.
fn rank(text: &str, names: &[&str], about: &[&str]) -> Option<u8> {
    let lower = |each: &[&str]| {
        each.iter()
            .map(|text| text.to_lowercase())
            .collect::<Vec<_>>()
    };
    let (names, about) = (lower(names), lower(about));
    let any = |fits: &dyn Fn(&String) -> bool| names.iter().any(fits);
    if any(&|name| name == text) {
        return Some(0);
    }
    if any(&|name| name.starts_with(text)) {
        return Some(1);
    }
    if any(&|name| name.contains(text)) {
        return Some(2);
    }
    let found = |word: &str| names.iter().chain(&about).any(|known| known.contains(word));
    text.split_whitespace().all(found).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::super::action::Group;
    use super::*;

    fn choice(name: &str, label: &str) -> Choice {
        Choice {
            name: name.to_owned(),
            group: Group::Drive,
            label: label.to_owned(),
            size_bytes: None,
            kind: "nvme".to_owned(),
            users: String::new(),
            target: Err("never opened".to_owned()),
        }
    }

    fn searched(text: &str) -> (LauncherSearch, Vec<Choice>) {
        let choices = vec![
            choice("/dev/sda", "ST8000NM000A"),
            choice("/dev/nvme0n1", "Samsung PM9A3"),
        ];
        let mut search = LauncherSearch::new(SearchMatch::Target(1));
        for letter in text.chars() {
            search.press(TextInput::Insert(letter), &choices);
        }
        (search, choices)
    }

    fn name(found: Option<SearchMatch>, choices: &[Choice]) -> String {
        match found {
            None => "nothing".to_owned(),
            Some(SearchMatch::Target(place)) => choices[place].name.clone(),
            Some(SearchMatch::Benchmark(place)) => TESTS[place].description().name.to_owned(),
        }
    }

    #[test]
    fn text_selects_what_matches_best() {
        for (text, wanted) in [
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
            let (search, choices) = searched(text);
            assert_eq!(name(search.selected, &choices), wanted, "{text:?}");
        }
    }

    #[test]
    fn every_benchmark_is_found_by_its_name_and_by_each_alias() {
        for test in TESTS {
            let description = test.description();
            for known in description.aliases.iter().chain([&description.name]) {
                let (search, choices) = searched(known);
                assert_eq!(name(search.selected, &choices), description.name, "{known}");
            }
        }
    }

    #[test]
    fn movement_leads_through_all_matches_and_stays_among_them() {
        let (mut search, choices) = searched("s");
        let matches = search.matches(&choices);
        search.step(Command::First, &choices);
        let mut seen = vec![search.selected.unwrap()];
        for _ in 1..matches.len() {
            search.step(Command::Down, &choices);
            seen.push(search.selected.unwrap());
        }
        assert_eq!(seen, matches);
        search.step(Command::Down, &choices);
        assert_eq!(search.selected, matches.last().copied());
        let (mut search, choices) = searched("no such thing");
        search.step(Command::Last, &choices);
        assert_eq!(search.selected, None);
    }

    #[test]
    fn path_lists_everything_and_selects_nothing() {
        let (mut search, choices) = searched("/dev/sda");
        assert!(search.is_path());
        assert_eq!(search.matches(&choices).len(), choices.len() + TESTS.len());
        search.step(Command::Down, &choices);
        assert_eq!(search.selected, None);
    }
}
