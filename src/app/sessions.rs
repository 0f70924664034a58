//! The list of saved sessions.

use super::action::{Effect, SessionEntry};
use super::keymap::Command;
use super::launcher::step;
use super::result::ResultState;

/// The Sessions screen.
#[derive(Debug, Clone, Default)]
pub struct SessionsState {
    /// The saved sessions, the latest first, or why they cannot be listed; `None` until the list
    /// has arrived.
    pub entries: Option<Result<Vec<SessionEntry>, String>>,
    /// The selected one.
    pub cursor: usize,
    /// The session that is open.
    pub open: Option<ResultState>,
}

impl SessionsState {
    /// Takes the list.
    pub fn listed(&mut self, entries: Result<Vec<SessionEntry>, String>) {
        let count = entries.as_ref().map_or(0, Vec::len);
        self.cursor = self.cursor.min(count.saturating_sub(1));
        self.entries = Some(entries);
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        let entries = match &self.entries {
            Some(Ok(entries)) => entries.as_slice(),
            _ => &[],
        };
        match command {
            Command::Reload => return vec![Effect::ListSessions],
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
