//! Whether a key does something with what the screen shows at present.

use super::keymap::KeyContext;
use super::live::LivePane;
use super::{AppState, KeyCommand, Screen};

impl AppState {
    /// Whether a command applies to what is shown: the footer names only keys that do.
    #[must_use]
    pub fn is_applicable(&self, command: KeyCommand) -> bool {
        match (self.key_context(), command) {
            (_, KeyCommand::ShowLauncher) => {
                let timeline = self.live.timeline.as_ref();
                timeline.is_none_or(|it| it.unavailable_reason(Screen::Bench).is_none())
            }
            (
                KeyContext::LivePane,
                KeyCommand::ChooseIoClass | KeyCommand::ChooseSignal | KeyCommand::ShowOpenFiles,
            ) => matches!(self.live.pane, LivePane::Process | LivePane::OpenFiles(_)),
            (
                KeyContext::Sessions,
                KeyCommand::Accept
                | KeyCommand::ToggleMark
                | KeyCommand::CompareMarked
                | KeyCommand::WriteReport
                | KeyCommand::EditNote
                | KeyCommand::DeleteItem,
            ) => !self.sessions.visible_entries().is_empty(),
            (KeyContext::Sessions, KeyCommand::EditFilter) => self.sessions.has_entries(),
            _ => true,
        }
    }
}
