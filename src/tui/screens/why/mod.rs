//! The Why screen: why somebody waits for I/O, and the line about it on the Live screen.

pub mod draw;
#[rustfmt::skip]
pub mod keys;
mod problem_line;
mod state;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::Effect;
use crate::app::live::LiveState;
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::screens::live::keys::REPLAY;
use crate::tui::screens::{ScreenState, Shared};
use crate::tui::theme::Theme;

pub use self::state::{WatchedDiagnosis, WhyState};

impl ScreenState for WhyState {
    fn key_lists(&self, live: &LiveState) -> Vec<&'static KeyList> {
        match live.timeline.is_some() {
            true => vec![&REPLAY, &keys::WHY],
            false => vec![&keys::WHY],
        }
    }

    fn handle(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect> {
        match shared.seek(command) {
            Some(effects) => effects,
            // The requests of a recording cannot be traced any more.
            None if command == KeyCommand::ToggleTrace && shared.is_recording() => Vec::new(),
            None => self.handle_command(command),
        }
    }

    fn show(&mut self, _was_shown: bool, shared: &mut Shared<'_>) -> Vec<Effect> {
        match shared.is_recording() {
            true => Vec::new(),
            false => vec![Effect::WatchCauses(true)],
        }
    }

    fn leave(&mut self, shared: &mut Shared<'_>) -> Vec<Effect> {
        match shared.is_recording() {
            true => Vec::new(),
            false => self.end_watch(),
        }
    }

    fn draw(&self, live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
        draw::draw(self, live, theme, area, buf);
    }
}
