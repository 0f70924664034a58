//! The Sessions screen: the list of saved sessions, a session that is open, and their comparison.

mod comparison;
mod draw;
mod draw_comparison;
#[rustfmt::skip]
pub mod keys;
mod metrics;
mod state;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::Effect;
use crate::app::live::LiveState;
use crate::app::text::TextInput;
use crate::tui::keys::common::FILTER;
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::screens::bench::keys::RESULT;
use crate::tui::screens::{ScreenState, Shared};
use crate::tui::theme::Theme;
use crate::ui::bench;

pub use self::comparison::ComparisonState;
pub use self::state::{
    OpenedSession, SessionEdit, SessionEntry, SessionInput, SessionStatus, SessionsState,
};

impl ScreenState for SessionsState {
    fn key_lists(&self, _live: &LiveState) -> Vec<&'static KeyList> {
        vec![match (&self.input, &self.open_result, &self.comparison) {
            (_, Some(_), _) => &RESULT,
            (_, _, Some(_)) => &keys::COMPARISON,
            (Some(SessionInput::Filter), ..) => &FILTER,
            (Some(SessionInput::Note(..)), ..) => &keys::NOTE,
            (Some(SessionInput::Deletion(_)), ..) => &keys::DELETION,
            (None, ..) => &keys::SESSIONS,
        }]
    }

    fn offers(&self, command: KeyCommand, _live: &LiveState) -> bool {
        let is_list =
            self.input.is_none() && self.open_result.is_none() && self.comparison.is_none();
        match command {
            KeyCommand::Accept
            | KeyCommand::ToggleMark
            | KeyCommand::CompareMarked
            | KeyCommand::WriteReport
            | KeyCommand::EditNote
            | KeyCommand::DeleteItem
                if is_list =>
            {
                !self.visible_entries().is_empty()
            }
            KeyCommand::EditFilter if is_list => self.has_entries(),
            _ => true,
        }
    }

    fn handle(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect> {
        let effects = self.handle_command(command, shared);
        self.await_views(&effects);
        effects
    }

    fn type_input(&mut self, input: TextInput, _live: &mut LiveState) {
        self.apply_input(input);
    }

    fn show(&mut self, _was_shown: bool, _shared: &mut Shared<'_>) -> Vec<Effect> {
        vec![Effect::ListSessions]
    }

    fn leave(&mut self, _shared: &mut Shared<'_>) -> Vec<Effect> {
        self.await_views(&[]);
        Vec::new()
    }

    fn draw(&self, _live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
        match &self.open_result {
            Some(result) => bench::result::draw(result, theme, area, buf),
            None => draw::draw(self, theme, area, buf),
        }
    }
}
