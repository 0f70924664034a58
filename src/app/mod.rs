//! The state of the interface, what happens to it, and the key table. Pure: no terminal, no
//! thread, no file.
//!
//! [`update()`] takes an [`Action`] and yields [`Effect`]s; everything else here is data.

use std::time::Duration;

pub mod comparison;
pub mod consent;
pub mod event;
pub mod form;
pub mod key;
pub mod keymap;
pub mod launcher;
pub mod live;
mod messages;
pub mod process;
pub mod replay;
pub mod requests;
pub mod result;
pub mod running;
pub mod search;
pub mod sessions;
pub mod text;
pub mod update;
pub mod viewport;

pub use self::event::{
    AppEvent, Effect, Message, RunSnapshot, SavedRun, SessionEntry, TargetChoice, TargetGroup,
};
pub use self::keymap::{KeyCommand, KeyContext};
pub use self::update::update;

use self::launcher::LauncherState;
use self::live::{LiveState, ProcessAction, ProcessId};
use self::requests::RequestsState;
use self::result::ResultState;
use self::running::RunningState;
use self::sessions::SessionsState;
use self::viewport::Viewport;
use crate::safe_text::SafeText;

/// A screen of its own, with a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Screen {
    /// What uses the disks.
    Live,
    /// Benchmarks.
    Bench,
    /// Single requests.
    Requests,
    /// What was measured before.
    Sessions,
}

impl Screen {
    /// Every screen with the key and the word of its tab, from left to right.
    pub const TABS: [(Self, char, &'static str); 4] = [
        (Self::Live, '1', "Live"),
        (Self::Bench, '2', "Bench"),
        (Self::Requests, '3', "Requests"),
        (Self::Sessions, '4', "Sessions"),
    ];
}

/// Where the Bench screen is.
#[derive(Debug, Clone)]
pub enum BenchStage {
    /// Choosing.
    Launcher,
    /// Measuring.
    Running(Box<RunningState>),
    /// Looking at what was measured.
    Result(Box<ResultState>),
}

/// The Bench screen.
#[derive(Debug, Clone)]
pub struct BenchState {
    /// The launcher: kept while a benchmark runs.
    pub launcher: LauncherState,
    /// What is shown.
    pub stage: BenchStage,
}

impl BenchState {
    /// Whether a benchmark runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.stage, BenchStage::Running(_))
    }
}

/// What lies over the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialog {
    /// The help.
    Help,
    /// Whether to quit although a benchmark runs.
    ConfirmQuit,
    /// What to do to a process: these, by their numbers.
    ChooseProcessAction(ProcessId, &'static [ProcessAction]),
    /// Whether to do it.
    ConfirmProcessAction(ProcessId, ProcessAction),
    /// Whether to switch delay accounting on.
    ConfirmAccounting,
}

/// A sentence for the bottom line, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusMessage {
    /// What it says.
    pub text: SafeText,
    /// Whether something went wrong.
    pub is_error: bool,
}

/// Everything that the interface knows.
#[derive(Debug, Clone)]
pub struct AppState {
    /// The screen in front.
    pub screen: Screen,
    /// The Live screen.
    pub live: LiveState,
    /// The Bench screen.
    pub bench: BenchState,
    /// The Requests screen.
    pub requests: RequestsState,
    /// The Sessions screen.
    pub sessions: SessionsState,
    /// The part of the help that is shown.
    pub help_viewport: Viewport,
    /// What lies over it.
    pub dialog: Option<Dialog>,
    /// What the bottom line says.
    pub status_message: Option<StatusMessage>,
}

impl AppState {
    /// The beginning: Live, nothing seen yet.
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
            sessions: SessionsState::default(),
            help_viewport: Viewport::default(),
            dialog: None,
            status_message: None,
        }
    }

    /// The beginning of a replay.
    #[must_use]
    pub fn for_replay(timeline: replay::ReplayTimeline, interval: Duration) -> Self {
        let mut state = Self::new(interval);
        state.live.timeline = Some(timeline);
        state
    }

    /// Which keys hold.
    #[must_use]
    pub fn key_context(&self) -> KeyContext {
        match (self.dialog, self.screen) {
            (Some(Dialog::Help), _) => KeyContext::Help,
            (
                Some(
                    Dialog::ConfirmQuit
                    | Dialog::ConfirmProcessAction(..)
                    | Dialog::ConfirmAccounting,
                ),
                _,
            ) => KeyContext::Question,
            (Some(Dialog::ChooseProcessAction(..)), _) => KeyContext::ChoiceList,
            (None, Screen::Live) if self.live.is_editing_filter => KeyContext::Filter,
            (None, Screen::Live) if self.live.timeline.is_some() => KeyContext::Replay,
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
            (None, Screen::Requests) => KeyContext::Requests,
            (None, Screen::Sessions) if self.sessions.open_result.is_some() => KeyContext::Result,
            (None, Screen::Sessions) if self.sessions.comparison.is_some() => {
                KeyContext::Comparison
            }
            (None, Screen::Sessions) => KeyContext::Sessions,
        }
    }

    /// Says at the bottom that something went wrong.
    fn show_error(&mut self, text: impl Into<SafeText>) {
        self.status_message = Some(StatusMessage {
            text: text.into(),
            is_error: true,
        });
    }

    /// Says at the bottom that something was done.
    fn show_success(&mut self, text: impl Into<SafeText>) {
        self.status_message = Some(StatusMessage {
            text: text.into(),
            is_error: false,
        });
    }

    /// The result in front, on whichever screen it is.
    fn front_result(&mut self) -> Option<&mut ResultState> {
        match (self.screen, &mut self.bench.stage) {
            (Screen::Sessions, _) => self.sessions.open_result.as_mut(),
            (Screen::Bench, BenchStage::Result(result)) => Some(result),
            _ => None,
        }
    }
}
