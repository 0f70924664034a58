//! The state of the interface, what happens to it, and the key table. Pure: no terminal, no
//! thread, no file.
//!
//! [`update()`] takes an [`Action`] and yields [`Effect`]s; everything else here is data.

use std::time::Duration;

pub mod action;
pub mod comparison;
pub mod consent;
pub mod form;
pub mod key;
pub mod keymap;
pub mod launcher;
pub mod live;
mod news;
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

pub use action::{Action, Choice, Effect, Group, News, RunView, Saved, SessionEntry};
pub use keymap::{Command, Context};
pub use update::update;

use crate::safe_text::SafeText;
use launcher::LauncherState;
use live::{Deed, LiveState, Victim};
use requests::RequestsState;
use result::ResultState;
use running::RunningState;
use sessions::SessionsState;
use viewport::Viewport;

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
pub enum Stage {
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
    pub stage: Stage,
}

impl BenchState {
    /// Whether a benchmark runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running(_))
    }
}

/// What lies over the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlay {
    /// The help.
    Help,
    /// Whether to quit although a benchmark runs.
    QuitWhileRunning,
    /// What to do to a process: these, by their numbers.
    Choose(Victim, &'static [Deed]),
    /// Whether to do it.
    Confirm(Victim, Deed),
    /// Whether to switch delay accounting on.
    Accounting,
}

/// A sentence for the bottom line, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub text: SafeText,
    /// Whether something went wrong.
    pub trouble: bool,
}

/// Everything that the interface knows.
#[derive(Debug, Clone)]
pub struct State {
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
    pub help: Viewport,
    /// What lies over it.
    pub overlay: Option<Overlay>,
    /// What the bottom line says.
    pub message: Option<Message>,
}

impl State {
    /// The beginning: Live, nothing seen yet.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self {
            screen: Screen::Live,
            live: LiveState::new(interval),
            bench: BenchState {
                launcher: LauncherState::default(),
                stage: Stage::Launcher,
            },
            requests: RequestsState::default(),
            sessions: SessionsState::default(),
            help: Viewport::default(),
            overlay: None,
            message: None,
        }
    }

    /// The beginning of a replay.
    #[must_use]
    pub fn replaying(timeline: replay::Timeline, interval: Duration) -> Self {
        let mut state = Self::new(interval);
        state.live.timeline = Some(timeline);
        state
    }

    /// Which keys hold.
    #[must_use]
    pub fn context(&self) -> Context {
        match (self.overlay, self.screen) {
            (Some(Overlay::Help), _) => Context::Help,
            (Some(Overlay::QuitWhileRunning | Overlay::Confirm(..) | Overlay::Accounting), _) => {
                Context::Question
            }
            (Some(Overlay::Choose(..)), _) => Context::Choice,
            (None, Screen::Live) if self.live.filtering => Context::Filter,
            (None, Screen::Live) if self.live.timeline.is_some() => Context::Replay,
            (None, Screen::Live) => Context::Live,
            (None, Screen::Bench) => match &self.bench.stage {
                Stage::Launcher => self.bench.launcher.context(),
                Stage::Running(_) => Context::Running,
                Stage::Result(_) => Context::Result,
            },
            (None, Screen::Requests) if self.requests.filtering => Context::Filter,
            (None, Screen::Requests) if self.live.timeline.is_some() => Context::Recorded,
            (None, Screen::Requests) => Context::Requests,
            (None, Screen::Sessions) if self.sessions.open.is_some() => Context::Result,
            (None, Screen::Sessions) if self.sessions.comparison.is_some() => Context::Comparison,
            (None, Screen::Sessions) => Context::Sessions,
        }
    }

    /// Says at the bottom that something went wrong.
    fn trouble(&mut self, text: impl Into<SafeText>) {
        self.message = Some(Message {
            text: text.into(),
            trouble: true,
        });
    }

    /// Says at the bottom that something was done.
    fn good(&mut self, text: impl Into<SafeText>) {
        self.message = Some(Message {
            text: text.into(),
            trouble: false,
        });
    }

    /// The result in front, on whichever screen it is.
    fn result(&mut self) -> Option<&mut ResultState> {
        match (self.screen, &mut self.bench.stage) {
            (Screen::Sessions, _) => self.sessions.open.as_mut(),
            (Screen::Bench, Stage::Result(result)) => Some(result),
            _ => None,
        }
    }
}
