//! State of the Sessions screen.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::Effect;
use crate::app::error::ArchiveError;
use crate::app::result::ResultState;
use crate::app::text::{EditableText, TextInput};
use crate::app::viewport::step_cursor_by_page;
use crate::files::safe_text::SafeText;
use crate::session::document::{RunState, Session};
use crate::tui::keys::KeyCommand;
use crate::tui::screens::Shared;
use crate::tui::screens::sessions::comparison::ComparisonState;

/// One saved session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Its file.
    pub path: PathBuf,
    /// When it began, RFC 3339.
    pub started: SafeText,
    /// Its benchmarks and their targets; for an unreadable file the reason.
    pub summary: SafeText,
    /// Model of the last run's drive.
    pub model: Option<SafeText>,
    /// The last run's parameters, such as `block-size 4KiB, depth 32`.
    pub parameters: SafeText,
    /// The most significant metric of the last run, such as `83.9k IOPS`.
    pub headline: SafeText,
    /// The check that makes the last run's metrics invalid.
    pub invalid_check: Option<SafeText>,
    /// The user's note.
    pub note: Option<SafeText>,
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

impl SessionEntry {
    /// Whether a text, in lower case, occurs in anything that the list shows of it.
    fn matches(&self, filter: &str) -> bool {
        let texts = [
            &self.started,
            &self.summary,
            &self.headline,
            &self.parameters,
        ];
        let optional = [&self.model, &self.invalid_check, &self.note];
        let mut shown = texts.into_iter().chain(optional.into_iter().flatten());
        shown.any(|text| text.to_lowercase().contains(filter))
            || self.path.to_string_lossy().to_lowercase().contains(filter)
    }
}

/// A change to a saved session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEdit {
    /// It was deleted.
    Deleted,
    /// Its note was stored or removed.
    NoteStored,
}

/// What the user types or decides on the Sessions screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionInput {
    /// The filter is typed.
    Filter,
    /// The note of this session is typed.
    Note(PathBuf, EditableText),
    /// Whether this session is deleted.
    Deletion(PathBuf),
}

/// What was asked for and replaces the list when it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AwaitedView {
    /// This session.
    Session(PathBuf),
    /// The comparison of these sessions, where these parameters may differ.
    Comparison(Vec<PathBuf>, Vec<String>),
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
    /// Index of the selected session among those that match the filter.
    pub cursor: usize,
    /// Text that a listed session must contain.
    pub filter: EditableText,
    /// What is typed or asked at present.
    pub input: Option<SessionInput>,
    /// Visible lines of the list, as last drawn: what a page key moves.
    pub page_rows: Cell<Option<u16>>,
    /// Paths of the marked sessions, in the order of marking.
    pub marked_paths: Vec<PathBuf>,
    /// The session that is open.
    pub open_result: Option<ResultState>,
    /// The comparison that is open.
    pub comparison: Option<ComparisonState>,
    /// What is read at present, until the next key: what arrives later is not shown, because the key
    /// was pressed for something else.
    awaited_view: Option<AwaitedView>,
}

impl SessionsState {
    /// Stores the list. The selection stays on its session, and a question about a session that is
    /// not listed any more is closed.
    pub fn set_entries(&mut self, entries: Result<Vec<SessionEntry>, Arc<ArchiveError>>) {
        let selected = self.selected_path();
        let known = entries.as_deref().unwrap_or_default();
        self.marked_paths
            .retain(|path| known.iter().any(|entry| entry.path == *path));
        self.entries = Some(entries);
        let index_of = |path: &Path| {
            let visible = self.visible_entries();
            visible.iter().position(|entry| entry.path == path)
        };
        let cursor = selected.as_deref().and_then(index_of);
        let is_gone = match &self.input {
            Some(SessionInput::Deletion(path)) => index_of(path).is_none(),
            _ => false,
        };
        self.cursor = cursor.unwrap_or(self.cursor);
        if is_gone {
            self.input = None;
        }
        self.limit_cursor();
    }

    /// Shows a session that was read, if it is still awaited.
    pub fn show_opened(&mut self, opened: OpenedSession) {
        let view = AwaitedView::Session(opened.path.clone());
        if self.is_awaited(&view) {
            self.open_result = Some(ResultState::new(opened.session.runs, Some(opened.path)));
        }
    }

    /// Shows a comparison, if it is still awaited.
    pub fn show_comparison(&mut self, comparison: ComparisonState) {
        let (paths, ignored) = (&comparison.paths, &comparison.ignored_parameters);
        let view = AwaitedView::Comparison(paths.clone(), ignored.clone());
        if self.is_awaited(&view) {
            self.comparison = Some(comparison);
        }
    }

    /// Whether a view is awaited, and from now on no longer.
    fn is_awaited(&mut self, view: &AwaitedView) -> bool {
        self.awaited_view
            .take_if(|awaited| awaited == view)
            .is_some()
    }

    /// Notes what these effects of a key read; what was awaited before is not awaited any more.
    pub(super) fn await_views(&mut self, effects: &[Effect]) {
        self.awaited_view = effects.iter().find_map(|effect| match effect {
            Effect::OpenSession(path) => Some(AwaitedView::Session(path.clone())),
            Effect::CompareSessions(paths, ignored) => {
                Some(AwaitedView::Comparison(paths.clone(), ignored.clone()))
            }
            _ => None,
        });
    }

    /// Whether there are saved sessions, whatever the filter.
    #[must_use]
    pub fn has_entries(&self) -> bool {
        self.entries.iter().flatten().flatten().next().is_some()
    }

    /// The sessions that match the filter.
    #[must_use]
    pub fn visible_entries(&self) -> Vec<&SessionEntry> {
        let filter = self.filter.as_string().to_lowercase();
        let entries = self.entries.iter().flatten().flatten();
        entries
            .filter(|entry| filter.is_empty() || entry.matches(&filter))
            .collect()
    }

    fn selected_entry(&self) -> Option<&SessionEntry> {
        self.visible_entries().get(self.cursor).copied()
    }

    fn selected_path(&self) -> Option<PathBuf> {
        self.selected_entry().map(|entry| entry.path.clone())
    }

    fn limit_cursor(&mut self) {
        let last = self.visible_entries().len().saturating_sub(1);
        self.cursor = self.cursor.min(last);
    }

    /// Applies text input to the filter or the note.
    pub(super) fn apply_input(&mut self, input: TextInput) {
        match &mut self.input {
            Some(SessionInput::Filter) => {
                self.filter.apply_input(input);
                self.limit_cursor();
            }
            Some(SessionInput::Note(_, note)) => note.apply_input(input),
            Some(SessionInput::Deletion(_)) | None => {}
        }
    }

    /// The sessions of a report: the marked ones, or else the selected one.
    #[must_use]
    pub fn report_paths(&self) -> Vec<PathBuf> {
        if !self.marked_paths.is_empty() {
            return self.marked_paths.clone();
        }
        self.selected_path().into_iter().collect()
    }

    /// Handles a command of the list, the open session or the comparison.
    pub(super) fn handle_command(
        &mut self,
        command: KeyCommand,
        shared: &mut Shared<'_>,
    ) -> Vec<Effect> {
        if let Some(result) = &mut self.open_result {
            if command == KeyCommand::Cancel {
                self.open_result = None;
                return Vec::new();
            }
            return result.handle_command(command, shared);
        }
        if let Some(comparison) = &mut self.comparison {
            if command == KeyCommand::Cancel {
                self.comparison = None;
                return Vec::new();
            }
            return comparison.handle_command(command);
        }
        match self.input.take() {
            Some(input) => self.handle_input_command(input, command),
            None => self.handle_list_command(command, shared),
        }
    }

    fn handle_list_command(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect> {
        match command {
            KeyCommand::ReloadList => return vec![Effect::ListSessions],
            KeyCommand::EditFilter => self.input = Some(SessionInput::Filter),
            KeyCommand::Cancel => {
                self.filter = EditableText::default();
                self.limit_cursor();
            }
            KeyCommand::EditNote => {
                let note = |entry: &SessionEntry| {
                    let text = entry.note.as_deref().unwrap_or_default();
                    SessionInput::Note(entry.path.clone(), EditableText::new(text))
                };
                self.input = self.selected_entry().map(note);
            }
            KeyCommand::DeleteItem => {
                self.input = self.selected_path().map(SessionInput::Deletion);
            }
            KeyCommand::ToggleMark => {
                if let Some(path) = self.selected_path() {
                    toggle_mark(&mut self.marked_paths, &path);
                    self.move_cursor(KeyCommand::Down);
                }
            }
            KeyCommand::CompareMarked if self.marked_paths.len() < 2 => {
                shared.show_error(
                    "mark two or more sessions with the space bar: the first is the baseline",
                );
            }
            KeyCommand::CompareMarked => {
                return vec![Effect::CompareSessions(
                    self.marked_paths.clone(),
                    Vec::new(),
                )];
            }
            KeyCommand::WriteReport if self.report_paths().is_empty() => {
                shared.show_error("there is no session to report");
            }
            KeyCommand::WriteReport => {
                return vec![Effect::WriteReport(self.report_paths(), Vec::new())];
            }
            KeyCommand::Accept => {
                let selected = self.selected_path().map(Effect::OpenSession);
                return selected.into_iter().collect();
            }
            movement => self.move_cursor(movement),
        }
        Vec::new()
    }

    fn move_cursor(&mut self, movement: KeyCommand) {
        let count = self.visible_entries().len();
        // One line stays visible.
        let page = self
            .page_rows
            .get()
            .map(|rows| usize::from(rows).saturating_sub(1).max(1));
        self.cursor = step_cursor_by_page(self.cursor, count, movement, page);
    }

    /// Handles a command while something is typed or asked.
    fn handle_input_command(&mut self, input: SessionInput, command: KeyCommand) -> Vec<Effect> {
        match (input, command) {
            (SessionInput::Filter, KeyCommand::Accept) => Vec::new(),
            (SessionInput::Filter, KeyCommand::Cancel) => {
                self.filter = EditableText::default();
                self.limit_cursor();
                Vec::new()
            }
            (SessionInput::Note(path, note), KeyCommand::Accept) => {
                vec![Effect::SetSessionNote(path, note.as_string())]
            }
            (SessionInput::Deletion(path), KeyCommand::Confirm) => {
                vec![Effect::DeleteSession(path)]
            }
            (SessionInput::Note(..) | SessionInput::Deletion(_), KeyCommand::Cancel)
            | (SessionInput::Deletion(_), KeyCommand::Decline) => Vec::new(),
            (input, _) => {
                self.input = Some(input);
                Vec::new()
            }
        }
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
