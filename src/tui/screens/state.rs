//! What the interface knows of a screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::hot_files::HotFilesState;
use crate::app::live::LiveState;
use crate::app::text::TextInput;
use crate::app::{Dialog, Effect};
use crate::files::safe_text::SafeText;
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::theme::Theme;

/// A sentence for the footer, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusMessage {
    /// The sentence.
    pub text: SafeText,
    /// Whether it reports an error.
    pub is_error: bool,
}

/// What screens have in common.
pub struct Shared<'a> {
    /// The snapshots, and the recording that they are from.
    pub live: &'a mut LiveState,
    /// The pane of hot files.
    pub hot_files: &'a mut HotFilesState,
    /// The open dialog.
    pub dialog: &'a mut Option<Dialog>,
    /// The message in the footer.
    pub status: &'a mut Option<StatusMessage>,
}

impl Shared<'_> {
    /// Whether snapshots of a recording are shown.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.live.timeline.is_some()
    }

    /// Shows an error in the footer.
    pub fn show_error(&mut self, text: impl Into<SafeText>) {
        *self.status = Some(StatusMessage {
            text: text.into(),
            is_error: true,
        });
    }

    /// Shows a success message in the footer.
    pub fn show_success(&mut self, text: impl Into<SafeText>) {
        *self.status = Some(StatusMessage {
            text: text.into(),
            is_error: false,
        });
    }

    /// Handles a command of the recording; `None` for all others, and without a recording.
    pub fn seek(&mut self, command: KeyCommand) -> Option<Vec<Effect>> {
        let effects = self.live.timeline.as_mut()?.handle_command(command)?;
        match command {
            KeyCommand::NextTrigger if effects.is_empty() => {
                self.show_error("no later trigger in the recording");
            }
            KeyCommand::PreviousTrigger if effects.is_empty() => {
                self.show_error("no earlier trigger in the recording");
            }
            _ => {}
        }
        Some(effects)
    }
}

/// A screen.
pub trait ScreenState {
    /// The lists of its keys that apply now, the most specific first.
    fn key_lists(&self, live: &LiveState) -> Vec<&'static KeyList>;

    /// Whether a command does something with what is shown: the footer names only keys that do.
    fn offers(&self, _command: KeyCommand, _live: &LiveState) -> bool {
        true
    }

    /// Handles a command of its keys.
    fn handle(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect>;

    /// Applies text input to the field that is open.
    fn type_input(&mut self, _input: TextInput, _live: &mut LiveState) {}

    /// The screen is shown from now on, or its tab was chosen again.
    fn show(&mut self, _was_shown: bool, _shared: &mut Shared<'_>) -> Vec<Effect> {
        Vec::new()
    }

    /// Another screen is shown from now on.
    fn leave(&mut self, _shared: &mut Shared<'_>) -> Vec<Effect> {
        Vec::new()
    }

    /// Draws the screen without its tabs and its footer.
    fn draw(&self, live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer);
}
