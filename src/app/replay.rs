//! Replay of a recording on the Live screen: position and seeking.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::effect::Effect;
use super::screen::Screen;
use super::seek::Seek;
use super::text::{EditableText, TextInput};
use crate::files::safe_text::SafeText;
use crate::recording::{RecordingTimes, ViewTimeError};
use crate::snapshot::{SampleHistory, Snapshot};
use crate::tui::keys::KeyCommand;
use crate::tui::screens::requests::view::RequestsView;
use crate::why::Diagnosis;

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
    /// Why somebody waited in the seconds before it; `None` without rates.
    pub diagnosis: Option<Arc<Diagnosis>>,
    /// The history before it.
    pub history: SampleHistory,
    /// Whether the recording is playing.
    pub is_playing: bool,
}

/// What a search in a recording found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundItem {
    /// A process with I/O.
    Process {
        /// Its id.
        pid: u32,
        /// Its command line.
        command: SafeText,
    },
    /// A device with I/O, by name.
    Device(SafeText),
}

impl fmt::Display for FoundItem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid, command } => write!(formatter, "found process {pid}: {command}"),
            Self::Device(name) => write!(formatter, "found device {name}"),
        }
    }
}

/// What the user types below the time line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayInput {
    /// The time to go to.
    Time(EditableText),
    /// The process or device to search.
    Search(EditableText),
}

impl ReplayInput {
    /// The text that is typed.
    #[must_use]
    pub fn text(&self) -> &EditableText {
        match self {
            Self::Time(text) | Self::Search(text) => text,
        }
    }
}

/// A trigger of the flight recorder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineTrigger {
    /// Index of the view at which it triggered, from 0.
    pub frame_index: usize,
    /// What was observed: the condition, what it holds for, and the value.
    pub observation: SafeText,
    /// What was found in the time around it.
    pub conclusion: Option<SafeText>,
}

/// A time in a recording without snapshots: the machine was suspended or overloaded, or the recorder did
/// not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingGap {
    /// Index of the first view after it.
    pub frame_index: usize,
    /// Time from the last view before it to that one.
    pub length: Duration,
}

/// An interval that is longer than this multiple of the usual one is a gap.
const GAP_FACTOR: u64 = 3;

/// The median interval between views at these times; `None` with fewer than two.
#[must_use]
pub fn usual_interval_ms(times_ms: &[u64]) -> Option<u64> {
    let mut sorted: Vec<u64> = intervals(times_ms).collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

fn intervals(times_ms: &[u64]) -> impl Iterator<Item = u64> {
    let pairs = times_ms.windows(2);
    pairs.map(|pair| pair[1].saturating_sub(pair[0]))
}

/// The gaps between views at these times in milliseconds, in order.
#[must_use]
pub fn find_gaps(times_ms: &[u64]) -> Vec<RecordingGap> {
    let Some(usual) = usual_interval_ms(times_ms) else {
        return Vec::new();
    };
    (1..)
        .zip(intervals(times_ms))
        .filter(|(_, interval)| *interval > usual.saturating_mul(GAP_FACTOR))
        .map(|(frame_index, interval)| RecordingGap {
            frame_index,
            length: Duration::from_millis(interval),
        })
        .collect()
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
    /// Whether it is the demo, which also contains sessions.
    pub is_demo: bool,
    /// First and last time; `None` where they are unknown.
    pub times: Option<RecordingTimes>,
    /// Time of each view in milliseconds since 1970; empty where they are unknown.
    pub frame_times_ms: Arc<[u64]>,
    /// The gaps, in order of time.
    pub gaps: Arc<[RecordingGap]>,
    /// The triggers, in order of time.
    pub triggers: Arc<[TimelineTrigger]>,
    /// Index of the view that is shown, from 0.
    pub frame_index: usize,
    /// Whether the recording is playing.
    pub is_playing: bool,
    /// What is typed at present.
    pub input: Option<ReplayInput>,
    /// The text of the last search.
    pub search_text: String,
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
            is_demo: false,
            times: None,
            frame_times_ms: Arc::default(),
            gaps: Arc::default(),
            triggers: Arc::default(),
            frame_index: 0,
            is_playing: false,
            input: None,
            search_text: String::new(),
        }
    }

    /// The trigger at the view that is shown.
    #[must_use]
    pub fn current_trigger(&self) -> Option<&TimelineTrigger> {
        let mut triggers = self.triggers.iter();
        triggers.find(|trigger| trigger.frame_index == self.frame_index)
    }

    /// The gap before the view that is shown.
    #[must_use]
    pub fn current_gap(&self) -> Option<&RecordingGap> {
        let mut gaps = self.gaps.iter();
        gaps.find(|gap| gap.frame_index == self.frame_index)
    }

    /// The seek to the next or to the previous view with a trigger, if there is one.
    fn seek_trigger(&self, forward: bool) -> Vec<Effect> {
        let frames = self.triggers.iter().map(|trigger| trigger.frame_index);
        let found = match forward {
            true => frames.filter(|frame| *frame > self.frame_index).min(),
            false => frames.filter(|frame| *frame < self.frame_index).max(),
        };
        let seek = found.map(|frame| Effect::Seek(Seek::Frame(frame)));
        seek.into_iter().collect()
    }

    /// Why a screen is not available for this recording; `None` where it is.
    #[must_use]
    pub fn unavailable_reason(&self, screen: Screen) -> Option<&'static str> {
        match screen {
            Screen::Live | Screen::Why => None,
            Screen::Requests if self.has_requests => None,
            Screen::Requests => Some(
                "the recording contains no requests: record them with `record --requests DEVICE`",
            ),
            Screen::Bench | Screen::Sessions if self.is_demo => None,
            Screen::Bench | Screen::Sessions => {
                Some("not available in a recording: start diskscope without a command")
            }
        }
    }

    /// Handles a command while a time or a search is typed.
    ///
    /// # Errors
    /// When the time is not in the recording; the field stays open.
    pub fn handle_input_command(
        &mut self,
        command: KeyCommand,
    ) -> Result<Vec<Effect>, ViewTimeError> {
        match (self.input.take(), command) {
            (Some(ReplayInput::Time(text)), KeyCommand::Accept) => {
                let Some(times) = self.times else {
                    return Ok(Vec::new());
                };
                match times.parse(&text.as_string()) {
                    Ok(time) => return Ok(vec![Effect::Seek(Seek::Time(time))]),
                    Err(error) => {
                        self.input = Some(ReplayInput::Time(text));
                        return Err(error);
                    }
                }
            }
            (Some(ReplayInput::Search(text)), KeyCommand::Accept) => {
                self.search_text = text.as_string().trim().to_owned();
                return Ok(self.find(true));
            }
            (_, KeyCommand::Cancel) => {}
            (input, _) => self.input = input,
        }
        Ok(Vec::new())
    }

    /// Applies text input to the field.
    pub fn type_input(&mut self, input: TextInput) {
        if let Some(ReplayInput::Time(text) | ReplayInput::Search(text)) = &mut self.input {
            text.apply_input(input);
        }
    }

    fn find(&self, forward: bool) -> Vec<Effect> {
        if self.search_text.is_empty() {
            return Vec::new();
        }
        vec![Effect::FindFrame {
            text: self.search_text.clone(),
            forward,
        }]
    }

    /// Handles a command that seeks in the recording; `None` for all others.
    #[must_use]
    pub fn handle_command(&mut self, command: KeyCommand) -> Option<Vec<Effect>> {
        match command {
            KeyCommand::GoToTime => {
                self.input = Some(ReplayInput::Time(EditableText::default()));
                return Some(Vec::new());
            }
            KeyCommand::FindFrame => {
                let text = EditableText::selected(&self.search_text);
                self.input = Some(ReplayInput::Search(text));
                return Some(Vec::new());
            }
            KeyCommand::NextTrigger => return Some(self.seek_trigger(true)),
            KeyCommand::PreviousTrigger => return Some(self.seek_trigger(false)),
            KeyCommand::FindNext => return Some(self.find(true)),
            KeyCommand::FindPrevious => return Some(self.find(false)),
            _ => {}
        }
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
        let mut timeline = ReplayTimeline::new("day".into(), Arc::default(), None);
        let mut seek = |command| match timeline.handle_command(command).as_deref() {
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
    fn timeline_steps_between_triggers() {
        let trigger = |frame_index| TimelineTrigger {
            frame_index,
            observation: "busy(sda)>50%: sda 61 %".into(),
            conclusion: None,
        };
        let mut timeline = ReplayTimeline {
            triggers: [trigger(3), trigger(7), trigger(7)].into(),
            frame_index: 3,
            ..ReplayTimeline::new("day".into(), Arc::default(), None)
        };
        assert!(timeline.current_trigger().is_some());
        let mut step = |frame, command| {
            timeline.frame_index = frame;
            match timeline.handle_command(command).as_deref() {
                Some([Effect::Seek(Seek::Frame(frame))]) => Some(*frame),
                _ => None,
            }
        };
        assert_eq!(step(0, KeyCommand::NextTrigger), Some(3));
        assert_eq!(step(3, KeyCommand::NextTrigger), Some(7));
        assert_eq!(step(7, KeyCommand::NextTrigger), None);
        assert_eq!(step(9, KeyCommand::PreviousTrigger), Some(7));
        assert_eq!(step(3, KeyCommand::PreviousTrigger), None);
    }

    #[test]
    fn replay_goes_to_a_typed_time_and_searches_by_text() {
        use crate::app::key::{KeyPress, KeySymbol};
        use crate::app::{AppEvent, AppState, update};
        let first = "2026-11-21T22:00:00+01:00";
        let first_ms = 1_795_294_800_000;
        let timeline = ReplayTimeline {
            times: Some(RecordingTimes::new(first_ms, first_ms + 600_000, first)),
            ..ReplayTimeline::new("day".into(), Arc::default(), None)
        };
        let mut state = AppState::for_replay(timeline, std::time::Duration::from_secs(1));
        let mut press = |keys: &str| {
            let codes = keys.chars().map(|letter| match letter {
                '\n' => KeySymbol::Enter,
                '\x1b' => KeySymbol::Esc,
                letter => KeySymbol::Char(letter),
            });
            let effects = codes.map(|code| update(&mut state, AppEvent::Key(KeyPress::new(code))));
            let effects = effects.last().unwrap_or_default();
            (effects, state.status_message.clone())
        };
        let (effects, _) = press("@22:05:00\n");
        let wanted = first_ms + 300_999;
        assert!(matches!(effects[..], [Effect::Seek(Seek::Time(time))] if time == wanted));
        let (effects, message) = press("@23:00:00\n");
        assert!(effects.is_empty());
        let text = message.unwrap().text;
        assert!(text.contains("22:00:00 to 22:10:00"), "{text}");
        let find = |effects: Vec<Effect>| match &effects[..] {
            [Effect::FindFrame { text, forward }] => Some((text.clone(), *forward)),
            _ => None,
        };
        assert_eq!(find(press("\x1bFcp\n").0), Some(("cp".to_owned(), true)));
        assert_eq!(find(press("N").0), Some(("cp".to_owned(), false)));
        assert_eq!(find(press("n").0), Some(("cp".to_owned(), true)));
    }

    #[test]
    fn found_process_or_device_is_selected() {
        use crate::app::live::LiveList;
        use crate::app::{AppEvent, AppState, Message, update};
        use crate::snapshot::ViewBuilder;
        use crate::snapshot::view::{DeviceView, ProcessView};
        let process = |pid, rate| ProcessView {
            pid,
            tid: pid,
            command: "dd".into(),
            write_bytes_per_s: Some(rate),
            ..ProcessView::default()
        };
        let device = |name: &str| DeviceView {
            name: name.into(),
            ..DeviceView::default()
        };
        let timeline = ReplayTimeline::new("day".into(), Arc::default(), None);
        let mut state = AppState::for_replay(timeline, std::time::Duration::from_secs(1));
        let mut snapshot = ViewBuilder::default().update(Arc::default());
        snapshot.processes = vec![process(7, 9e6), process(8, 1e6)];
        snapshot.devices = vec![device("sda"), device("sdb")];
        let frame = Frame {
            index: 0,
            snapshot: Arc::new(snapshot),
            requests: None,
            diagnosis: None,
            history: SampleHistory::default(),
            is_playing: false,
        };
        update(
            &mut state,
            AppEvent::Message(Message::Frame(Box::new(frame))),
        );
        assert_eq!(state.live.selected_process_id, Some((7, 7)));
        let mut find = |found| {
            update(
                &mut state,
                AppEvent::Message(Message::FrameFound(Some(found))),
            );
            state.live.clone()
        };
        let live = find(FoundItem::Process {
            pid: 8,
            command: "dd".into(),
        });
        assert_eq!(live.selected_process_id, Some((8, 8)));
        let live = find(FoundItem::Device("sdb".into()));
        assert_eq!(live.selected_device_name.as_deref(), Some("sdb"));
        assert_eq!(live.focused_list, LiveList::Devices);
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
