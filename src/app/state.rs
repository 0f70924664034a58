//! State of the interface.

use std::time::Duration;

use super::dialog::Dialog;
use super::help::HelpState;
use super::hot_files::HotFilesState;
use super::keymap::KeyContext;
use super::launcher::LauncherState;
use super::live::LiveState;
use super::preferences::Preferences;
use super::process::ProcessOrder;
use super::replay::ReplayTimeline;
use super::requests::RequestsState;
use super::result::ResultState;
use super::running::RunningState;
use super::screen::Screen;
use super::sessions::SessionsState;
use super::shown_frame::ShownFrame;
use super::why::WhyState;
use crate::files::safe_text::SafeText;

/// Stage of the Bench screen.
#[derive(Debug, Clone)]
pub enum BenchStage {
    /// Selection of target, benchmark and parameters.
    Launcher,
    /// A benchmark is running.
    Running(Box<RunningState>),
    /// The result is shown.
    Result(Box<ResultState>),
}

/// The Bench screen.
#[derive(Debug, Clone)]
pub struct BenchState {
    /// The launcher: kept while a benchmark runs.
    pub launcher: LauncherState,
    /// The current stage.
    pub stage: BenchStage,
}

impl BenchState {
    /// Whether a benchmark runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.stage, BenchStage::Running(_))
    }
}

/// A sentence for the footer, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusMessage {
    /// The sentence.
    pub text: SafeText,
    /// Whether it reports an error.
    pub is_error: bool,
}

/// State of the interface.
#[derive(Debug, Clone)]
pub struct AppState {
    /// The active screen.
    pub screen: Screen,
    /// The Live screen.
    pub live: LiveState,
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

    /// The active context of the key table.
    #[must_use]
    pub fn key_context(&self) -> KeyContext {
        match (&self.dialog, self.screen) {
            (Some(Dialog::Help), _) if self.help.is_searching => KeyContext::HelpSearch,
            (Some(Dialog::Help), _) => KeyContext::Help,
            (Some(Dialog::ConfirmProcessAction(_, action)), _) if action.is_destructive() => {
                KeyContext::DestructiveQuestion
            }
            (
                Some(
                    Dialog::ConfirmQuit
                    | Dialog::ConfirmProcessAction(..)
                    | Dialog::ConfirmAccounting,
                ),
                _,
            ) => KeyContext::Question,
            (Some(Dialog::ChooseProcessAction(..)), _) => KeyContext::ChoiceList,
            (None, Screen::Live | Screen::Requests | Screen::Why)
                if self.is_replay_field_open() =>
            {
                KeyContext::ReplayField
            }
            (None, Screen::Live | Screen::Requests) if self.hot_files.is_shown() => {
                self.hot_files.key_context()
            }
            (None, Screen::Live) if self.live.is_editing_filter => KeyContext::Filter,
            (None, Screen::Live) if self.live.timeline.is_some() => KeyContext::Replay,
            (None, Screen::Live) if self.live.shows_units() => KeyContext::Units,
            (None, Screen::Live) if !self.live.pane.is_lists() => KeyContext::LivePane,
            (None, Screen::Live) => KeyContext::Live,
            (None, Screen::Bench) => match &self.bench.stage {
                BenchStage::Launcher => self.bench.launcher.key_context(),
                BenchStage::Running(_) => KeyContext::Running,
                BenchStage::Result(_) => KeyContext::Result,
            },
            (None, Screen::Requests) if self.requests.is_editing_filter => KeyContext::Filter,
            (None, Screen::Requests) if self.live.timeline.is_some() => {
                KeyContext::RecordedRequests
            }
            (None, Screen::Requests) => self.requests.key_context(),
            (None, Screen::Sessions) => self.sessions.key_context(),
            (None, Screen::Why) if self.live.timeline.is_some() => KeyContext::RecordedWhy,
            (None, Screen::Why) => KeyContext::Why,
        }
    }

    /// Whether a time or a search is typed below the time line of a recording.
    fn is_replay_field_open(&self) -> bool {
        let timeline = self.live.timeline.as_ref();
        timeline.is_some_and(|timeline| timeline.input.is_some())
    }

    /// Shows an error in the footer.
    pub(super) fn show_error(&mut self, text: impl Into<SafeText>) {
        self.status_message = Some(StatusMessage {
            text: text.into(),
            is_error: true,
        });
    }

    /// Shows a success message in the footer.
    pub(super) fn show_success(&mut self, text: impl Into<SafeText>) {
        self.status_message = Some(StatusMessage {
            text: text.into(),
            is_error: false,
        });
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
