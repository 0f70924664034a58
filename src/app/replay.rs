//! A recording in the Live screen: where in it the screen is, and how it gets elsewhere.

use std::sync::Arc;

use super::Screen;
use super::action::Effect;
use super::keymap::Command;
use crate::model::requests::RequestsView;
use crate::model::{History, Live};
use crate::safe_text::SafeText;

/// Views that the long steps go.
const FAR: isize = 60;

/// A way to another view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Travel {
    /// Forwards, or backwards by a negative number.
    Step(isize),
    /// To the first view.
    First,
    /// To the last view.
    Last,
    /// To the view at which the drives moved most.
    Busiest,
    /// Forwards by itself, or no more.
    Play(bool),
}

/// One view of a recording, and the devices' past as it was known then.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Its number, from 0.
    pub position: usize,
    /// The view.
    pub live: Arc<Live>,
    /// The single requests up to it, where they were recorded and there were any.
    pub requests: Option<Arc<RequestsView>>,
    /// What was before it.
    pub history: History,
    /// Whether it goes on by itself.
    pub playing: bool,
}

/// The time line of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Name of the file.
    pub name: SafeText,
    /// Bytes per second that the drives moved at each view, where that is known.
    pub rates: Arc<[Option<u64>]>,
    /// What is to be said of the file, such as where it is damaged.
    pub note: Option<SafeText>,
    /// Whether single requests were recorded too.
    pub has_requests: bool,
    /// The view that is shown, from 0.
    pub position: usize,
    /// Whether it goes on by itself.
    pub playing: bool,
}

impl Timeline {
    /// Stands at the first view.
    #[must_use]
    pub fn new(name: SafeText, rates: Arc<[Option<u64>]>, note: Option<SafeText>) -> Self {
        Self {
            name,
            rates,
            note,
            has_requests: false,
            position: 0,
            playing: false,
        }
    }

    /// Why a screen cannot be shown of this recording; `None` where it can.
    #[must_use]
    pub fn refusal(&self, screen: Screen) -> Option<&'static str> {
        match screen {
            Screen::Live => None,
            Screen::Requests if self.has_requests => None,
            Screen::Requests => {
                Some("no single requests were recorded: `record --requests DEVICE` does")
            }
            Screen::Bench | Screen::Sessions => {
                Some("this is a recording: start diskscope without a command for the rest")
            }
        }
    }

    /// Obeys a command that concerns the way through the recording; `None` for all others.
    #[must_use]
    pub fn command(&self, command: Command) -> Option<Vec<Effect>> {
        let travel = match command {
            Command::NextView => Travel::Step(1),
            Command::PreviousView => Travel::Step(-1),
            Command::FarForward => Travel::Step(FAR),
            Command::FarBack => Travel::Step(-FAR),
            Command::FirstView => Travel::First,
            Command::LastView => Travel::Last,
            Command::Busiest => Travel::Busiest,
            Command::Pause => Travel::Play(!self.playing),
            Command::Export => return Some(vec![Effect::ExportView]),
            _ => return None,
        };
        Some(vec![Effect::Travel(travel)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_time_line_travel_and_others_are_the_lists() {
        let timeline = Timeline::new("day".into(), Arc::default(), None);
        let travel = |command| match timeline.command(command).as_deref() {
            Some([Effect::Travel(travel)]) => Some(*travel),
            _ => None,
        };
        assert_eq!(travel(Command::NextView), Some(Travel::Step(1)));
        assert_eq!(travel(Command::FarBack), Some(Travel::Step(-FAR)));
        assert_eq!(travel(Command::Pause), Some(Travel::Play(true)));
        assert!(timeline.command(Command::Down).is_none());
    }
}
