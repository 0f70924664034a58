//! Replay of a recording on the Live screen: position and seeking.

use std::sync::Arc;

use super::effect::Effect;
use super::keymap::KeyCommand;
use super::screen::Screen;
use super::seek::Seek;
use crate::model::requests::RequestsView;
use crate::model::{SampleHistory, Snapshot};
use crate::safe_text::SafeText;

/// Number of snapshots that a skip moves.
const SKIP_FRAMES: isize = 60;

/// One snapshot of a recording, with the history of the devices up to it.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Its number, from 0.
    pub index: usize,
    /// The view.
    pub snapshot: Arc<Snapshot>,
    /// The traced requests up to it, where any were recorded.
    pub requests: Option<Arc<RequestsView>>,
    /// The history before it.
    pub history: SampleHistory,
    /// Whether the recording is playing.
    pub is_playing: bool,
}

/// The time line of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayTimeline {
    /// Name of the file.
    pub name: SafeText,
    /// Bytes per second of the drives at each view, where known.
    pub frame_rates: Arc<[Option<u64>]>,
    /// A warning about the file, such as where it is damaged.
    pub warning: Option<SafeText>,
    /// Whether requests were recorded too.
    pub has_requests: bool,
    /// Index of the view that is shown, from 0.
    pub frame_index: usize,
    /// Whether the recording is playing.
    pub is_playing: bool,
}

impl ReplayTimeline {
    /// Starts at the first view.
    #[must_use]
    pub fn new(name: SafeText, frame_rates: Arc<[Option<u64>]>, warning: Option<SafeText>) -> Self {
        Self {
            name,
            frame_rates,
            warning,
            has_requests: false,
            frame_index: 0,
            is_playing: false,
        }
    }

    /// Why a screen is not available for this recording; `None` where it is.
    #[must_use]
    pub fn unavailable_reason(&self, screen: Screen) -> Option<&'static str> {
        match screen {
            Screen::Live => None,
            Screen::Requests if self.has_requests => None,
            Screen::Requests => Some(
                "the recording contains no requests: record them with `record --requests DEVICE`",
            ),
            Screen::Bench | Screen::Sessions => {
                Some("not available in a recording: start diskscope without a command")
            }
        }
    }

    /// Handles a command that seeks in the recording; `None` for all others.
    #[must_use]
    pub fn handle_command(&self, command: KeyCommand) -> Option<Vec<Effect>> {
        let seek = match command {
            KeyCommand::NextFrame => Seek::Forward(1),
            KeyCommand::PreviousFrame => Seek::Forward(-1),
            KeyCommand::SkipForward => Seek::Forward(SKIP_FRAMES),
            KeyCommand::SkipBack => Seek::Forward(-SKIP_FRAMES),
            KeyCommand::FirstFrame => Seek::First,
            KeyCommand::LastFrame => Seek::Last,
            KeyCommand::BusiestFrame => Seek::Busiest,
            KeyCommand::TogglePause => Seek::Play(!self.is_playing),
            KeyCommand::ExportSession => return Some(vec![Effect::ExportFrame]),
            _ => return None,
        };
        Some(vec![Effect::Seek(seek)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeline_handles_seek_commands_and_no_others() {
        let timeline = ReplayTimeline::new("day".into(), Arc::default(), None);
        let seek = |command| match timeline.handle_command(command).as_deref() {
            Some([Effect::Seek(seek)]) => Some(*seek),
            _ => None,
        };
        assert_eq!(seek(KeyCommand::NextFrame), Some(Seek::Forward(1)));
        assert_eq!(
            seek(KeyCommand::SkipBack),
            Some(Seek::Forward(-SKIP_FRAMES))
        );
        assert_eq!(seek(KeyCommand::TogglePause), Some(Seek::Play(true)));
        assert!(timeline.handle_command(KeyCommand::Down).is_none());
    }

    #[test]
    fn replay_refuses_keys_that_change_the_machine() {
        use crate::app::key::KeyPress;
        use crate::app::{AppEvent, AppState, update};
        for key in ['c', 'x', 'w'] {
            let timeline = ReplayTimeline::new("day".into(), Arc::default(), None);
            let mut state = AppState::for_replay(timeline, std::time::Duration::from_secs(1));
            let effects = update(&mut state, AppEvent::Key(KeyPress::char(key)));
            assert!(effects.is_empty(), "{key}");
            assert!(state.dialog.is_none(), "{key}");
            let message = state.status_message.unwrap();
            assert!(
                message.is_error && message.text.contains("recording"),
                "{key}"
            );
        }
    }
}
