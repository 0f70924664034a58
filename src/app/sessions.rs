//! The list of saved sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::comparison::ComparisonState;
use super::effect::Effect;
use super::error::ArchiveError;
use super::keymap::KeyCommand;
use super::result::ResultState;
use super::viewport::step_cursor;
use crate::safe_text::SafeText;
use crate::session::document::{RunState, Session};

/// One saved session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Its file.
    pub path: PathBuf,
    /// When it began, RFC 3339.
    pub started: SafeText,
    /// Its benchmarks and their targets.
    pub summary: SafeText,
    /// The most significant metric, such as `83.9k IOPS`; of an invalid run its first invalid check.
    pub headline: SafeText,
    /// Whether the last run is invalid.
    pub is_invalid: bool,
    /// Its state.
    pub status: SessionStatus,
}

/// State of a saved session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// The file cannot be read; the summary says why.
    Unreadable,
    /// It contains no run.
    Empty,
    /// State of its last run.
    LastRun(RunState),
}

/// A saved session that was read.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// Its file.
    pub path: PathBuf,
    /// Its content.
    pub session: Session,
}

/// The Sessions screen.
#[derive(Debug, Clone, Default)]
pub struct SessionsState {
    /// The saved sessions, the latest first, or why they cannot be listed; `None` until the list
    /// has arrived.
    pub entries: Option<Result<Vec<SessionEntry>, Arc<ArchiveError>>>,
    /// Index of the selected session.
    pub cursor: usize,
    /// Paths of the marked sessions, in the order of marking.
    pub marked_paths: Vec<PathBuf>,
    /// The session that is open.
    pub open_result: Option<ResultState>,
    /// The comparison that is open.
    pub comparison: Option<ComparisonState>,
}

impl SessionsState {
    /// Stores the list.
    pub fn set_entries(&mut self, entries: Result<Vec<SessionEntry>, Arc<ArchiveError>>) {
        let known = entries.as_deref().unwrap_or_default();
        let count = known.len();
        self.marked_paths
            .retain(|path| known.iter().any(|entry| entry.path == *path));
        self.cursor = self.cursor.min(count.saturating_sub(1));
        self.entries = Some(entries);
    }

    /// The sessions of a report: the marked ones, or else the selected one.
    #[must_use]
    pub fn report_paths(&self) -> Vec<PathBuf> {
        if !self.marked_paths.is_empty() {
            return self.marked_paths.clone();
        }
        let entries = self.entries.iter().flatten().flatten();
        let selected = entries.map(|entry| entry.path.clone()).nth(self.cursor);
        selected.into_iter().collect()
    }

    /// Handles a key command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        let entries = match &self.entries {
            Some(Ok(entries)) => entries.as_slice(),
            _ => &[],
        };
        match command {
            KeyCommand::ReloadList => return vec![Effect::ListSessions],
            KeyCommand::ToggleMark => {
                if let Some(entry) = entries.get(self.cursor) {
                    toggle_mark(&mut self.marked_paths, &entry.path);
                    self.cursor = step_cursor(self.cursor, entries.len(), KeyCommand::Down);
                }
            }
            KeyCommand::CompareMarked if self.marked_paths.len() > 1 => {
                return vec![Effect::CompareSessions(
                    self.marked_paths.clone(),
                    Vec::new(),
                )];
            }
            KeyCommand::WriteReport => {
                return vec![Effect::WriteReport(self.report_paths(), Vec::new())];
            }
            KeyCommand::Accept => {
                let selected = entries.get(self.cursor);
                return selected
                    .map(|entry| Effect::OpenSession(entry.path.clone()))
                    .into_iter()
                    .collect();
            }
            movement => self.cursor = step_cursor(self.cursor, entries.len(), movement),
        }
        Vec::new()
    }
}

/// Marks a file, or removes its mark.
fn toggle_mark(marked: &mut Vec<PathBuf>, path: &Path) {
    match marked.iter().position(|known| known == path) {
        Some(index) => {
            marked.remove(index);
        }
        None => marked.push(path.to_owned()),
    }
}
