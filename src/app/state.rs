//! State of the interface.

use std::time::Duration;

use super::dialog::Dialog;
use super::help::HelpState;
use super::hot_files::HotFilesState;
use super::launcher::LauncherState;
use super::live::LiveState;
use super::preferences::Preferences;
use super::process::ProcessOrder;
use super::replay::ReplayTimeline;
use super::result::ResultState;
use super::screen::Screen;
use super::shown_frame::ShownFrame;
use crate::files::safe_text::SafeText;
use crate::tui::keys::common::{
    CHOICE_LIST, DESTRUCTIVE_QUESTION, GLOBAL, HELP, HELP_SEARCH, QUESTION,
};
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::screens::bench::{BenchStage, BenchState};
use crate::tui::screens::live::LiveScreen;
use crate::tui::screens::live::keys::{HOT_FILES, REPLAY_FIELD};
use crate::tui::screens::requests::RequestsState;
use crate::tui::screens::sessions::SessionsState;
use crate::tui::screens::why::WhyState;
use crate::tui::screens::{ScreenState, Shared, StatusMessage};

/// State of the interface.
#[derive(Debug, Clone)]
pub struct AppState {
    /// The active screen.
    pub screen: Screen,
    /// The snapshots and their lists: the Live screen.
    pub live: LiveState,
    live_screen: LiveScreen,
    /// The Bench screen.
    pub bench: BenchState,
    /// The Requests screen.
    pub requests: RequestsState,
    /// The pane of hot files, on the Live and the Requests screen.
    pub hot_files: HotFilesState,
    /// The Sessions screen.
    pub sessions: SessionsState,
    /// The Why screen.
    pub why: WhyState,
    /// The help.
    pub help: HelpState,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// The message in the footer.
    pub status_message: Option<StatusMessage>,
    /// What the user was shown last.
    pub shown_frame: ShownFrame,
}

impl AppState {
    /// The initial state: the Live screen before the first sample.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self {
            screen: Screen::Live,
            live: LiveState::new(interval),
            live_screen: LiveScreen,
            bench: BenchState {
                launcher: LauncherState::default(),
                stage: BenchStage::Launcher,
            },
            requests: RequestsState::default(),
            hot_files: HotFilesState::default(),
            sessions: SessionsState::default(),
            why: WhyState::default(),
            help: HelpState::default(),
            dialog: None,
            status_message: None,
            shown_frame: ShownFrame::default(),
        }
    }

    /// The initial state of a replay.
    #[must_use]
    pub fn for_replay(timeline: ReplayTimeline, interval: Duration) -> Self {
        let mut state = Self::new(interval);
        state.live.timeline = Some(timeline);
        state
    }

    /// The initial state of the demo: its recording, and the result of a recorded run on the Bench
    /// screen.
    #[must_use]
    pub fn for_demo(timeline: ReplayTimeline, result: ResultState, interval: Duration) -> Self {
        let mut state = Self::for_replay(timeline, interval);
        state.bench.stage = BenchStage::Result(Box::new(result));
        state
    }

    /// Applies what the user prefers.
    pub fn apply_preferences(&mut self, preferences: &Preferences) {
        if let Some(column) = preferences.sort {
            self.live.sort_order = ProcessOrder {
                column: Some(column),
                descending: column.sorts_descending(),
            };
        }
        self.live
            .shown_columns
            .clone_from(&preferences.device_columns);
        self.live
            .hidden_devices
            .clone_from(&preferences.hidden_devices);
        self.bench
            .launcher
            .default_target
            .clone_from(&preferences.default_target);
        if let Some(warning) = &preferences.warning {
            self.show_error(warning.clone());
        }
    }

    /// The lists of keys that apply, the most specific first.
    #[must_use]
    pub fn key_lists(&self) -> Vec<&'static KeyList> {
        let of_dialog: &'static KeyList = match &self.dialog {
            Some(Dialog::Help) if self.help.is_searching => &HELP_SEARCH,
            Some(Dialog::Help) => &HELP,
            Some(Dialog::ConfirmProcessAction(_, action)) if action.is_destructive() => {
                &DESTRUCTIVE_QUESTION
            }
            Some(
                Dialog::ConfirmQuit | Dialog::ConfirmProcessAction(..) | Dialog::ConfirmAccounting,
            ) => &QUESTION,
            Some(Dialog::ChooseProcessAction(..)) => &CHOICE_LIST,
            None if self.is_replay_field_open() => &REPLAY_FIELD,
            None if self.hot_files.is_shown() => &HOT_FILES,
            None => return self.front().key_lists(&self.live),
        };
        vec![of_dialog]
    }

    /// The most specific list of keys that applies.
    #[must_use]
    pub fn front_keys(&self) -> &'static KeyList {
        self.key_lists().first().copied().unwrap_or(&GLOBAL)
    }

    /// Whether a command applies to what is shown: the footer names only keys that do.
    #[must_use]
    pub fn offers(&self, command: KeyCommand) -> bool {
        if command == KeyCommand::ShowLauncher {
            let timeline = self.live.timeline.as_ref();
            return timeline.is_none_or(|it| it.unavailable_reason(Screen::Bench).is_none());
        }
        let is_covered =
            self.dialog.is_some() || self.is_replay_field_open() || self.hot_files.is_shown();
        is_covered || self.front().offers(command, &self.live)
    }

    /// The screen that is shown.
    #[must_use]
    pub fn front(&self) -> &dyn ScreenState {
        match self.screen {
            Screen::Live => &LiveScreen,
            Screen::Bench => &self.bench,
            Screen::Requests => &self.requests,
            Screen::Sessions => &self.sessions,
            Screen::Why => &self.why,
        }
    }

    /// A screen, and what it has in common with the others.
    pub(super) fn split(&mut self, screen: Screen) -> (&mut dyn ScreenState, Shared<'_>) {
        let front: &mut dyn ScreenState = match screen {
            Screen::Live => &mut self.live_screen,
            Screen::Bench => &mut self.bench,
            Screen::Requests => &mut self.requests,
            Screen::Sessions => &mut self.sessions,
            Screen::Why => &mut self.why,
        };
        let shared = Shared {
            live: &mut self.live,
            hot_files: &mut self.hot_files,
            dialog: &mut self.dialog,
            status: &mut self.status_message,
        };
        (front, shared)
    }

    /// Whether a time or a search is typed below the time line of a recording.
    pub(super) fn is_replay_field_open(&self) -> bool {
        let timeline = self.live.timeline.as_ref();
        timeline.is_some_and(|timeline| timeline.input.is_some())
    }

    /// Shows an error in the footer.
    pub(super) fn show_error(&mut self, text: impl Into<SafeText>) {
        self.split(self.screen).1.show_error(text);
    }

    /// Shows a success message in the footer.
    pub(super) fn show_success(&mut self, text: impl Into<SafeText>) {
        self.split(self.screen).1.show_success(text);
    }

    /// The result that is shown, on the Bench or the Sessions screen.
    pub(super) fn front_result(&mut self) -> Option<&mut ResultState> {
        match (self.screen, &mut self.bench.stage) {
            (Screen::Sessions, _) => self.sessions.open_result.as_mut(),
            (Screen::Bench, BenchStage::Result(result)) => Some(result),
            _ => None,
        }
    }
}
