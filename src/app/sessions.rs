//! The list of saved sessions.

use std::path::{Path, PathBuf};

use super::action::{Effect, SessionEntry};
use super::comparison::ComparisonState;
use super::keymap::Command;
use super::result::ResultState;
use super::viewport::step;

/// The Sessions screen.
#[derive(Debug, Clone, Default)]
pub struct SessionsState {
    /// The saved sessions, the latest first, or why they cannot be listed; `None` until the list
    /// has arrived.
    pub entries: Option<Result<Vec<SessionEntry>, String>>,
    /// The selected one.
    pub cursor: usize,
    /// Files of the sessions that are marked for a comparison, in the order of marking.
    pub marked: Vec<PathBuf>,
    /// The session that is open.
    pub open: Option<ResultState>,
    /// The comparison that is open.
    pub comparison: Option<ComparisonState>,
}

impl SessionsState {
    /// Takes the list.
    pub fn listed(&mut self, entries: Result<Vec<SessionEntry>, String>) {
        let known = entries.as_deref().unwrap_or_default();
        let count = known.len();
        self.marked
            .retain(|path| known.iter().any(|entry| entry.path == *path));
        self.cursor = self.cursor.min(count.saturating_sub(1));
        self.entries = Some(entries);
    }

    /// The sessions that a report is about: the marked ones, or else the selected one.
    #[must_use]
    pub fn reported(&self) -> Vec<PathBuf> {
        if !self.marked.is_empty() {
            return self.marked.clone();
        }
        let entries = self.entries.iter().flatten().flatten();
        let selected = entries.map(|entry| entry.path.clone()).nth(self.cursor);
        selected.into_iter().collect()
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        let entries = match &self.entries {
            Some(Ok(entries)) => entries.as_slice(),
            _ => &[],
        };
        match command {
            Command::Reload => return vec![Effect::ListSessions],
            Command::Mark => {
                if let Some(entry) = entries.get(self.cursor) {
                    mark(&mut self.marked, &entry.path);
                    self.cursor = step(self.cursor, entries.len(), Command::Down);
                }
            }
            Command::Compare if self.marked.len() > 1 => {
                return vec![Effect::Compare(self.marked.clone(), Vec::new())];
            }
            Command::Report => return vec![Effect::Report(self.reported(), Vec::new())],
            Command::Accept => {
                let selected = entries.get(self.cursor);
                return selected
                    .map(|entry| Effect::Open(entry.path.clone()))
                    .into_iter()
                    .collect();
            }
            movement => self.cursor = step(self.cursor, entries.len(), movement),
        }
        Vec::new()
    }
}

/// Marks a file, or takes its mark away.
fn mark(marked: &mut Vec<PathBuf>, path: &Path) {
    match marked.iter().position(|known| known == path) {
        Some(place) => {
            marked.remove(place);
        }
        None => marked.push(path.to_owned()),
    }
}
