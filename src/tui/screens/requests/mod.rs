//! The Requests screen: the traced requests of one device.

mod cells;
pub mod charts;
mod detail;
mod draw;
mod flags;
mod heatmap;
#[rustfmt::skip]
pub mod keys;
mod list;
mod operations;
mod scatter;
mod state;
mod threads;
mod time_axis;
pub mod view;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::Effect;
use crate::app::hot_files::HotFilesScope;
use crate::app::live::LiveState;
use crate::app::text::TextInput;
use crate::tui::keys::common::FILTER;
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::screens::live::keys::REPLAY;
use crate::tui::screens::{ScreenState, Shared};
use crate::tui::theme::Theme;

pub use self::state::{ListedRequest, RequestOrder, RequestsState, TraceUnavailable};

impl ScreenState for RequestsState {
    fn key_lists(&self, live: &LiveState) -> Vec<&'static KeyList> {
        match live.timeline.is_some() {
            _ if self.is_editing_filter => vec![&FILTER],
            true => vec![&REPLAY, &keys::REQUESTS],
            false => vec![&keys::REQUESTS],
        }
    }

    fn offers(&self, command: KeyCommand, _live: &LiveState) -> bool {
        let concerns_all = |it: &TraceUnavailable| it.concerns_all_devices;
        match command {
            _ if self.is_editing_filter => true,
            KeyCommand::Cancel => self.shows_detail || !self.filter.is_empty(),
            KeyCommand::Next | KeyCommand::Previous | KeyCommand::ShowHotFiles => {
                self.view.is_some() || !self.unavailable.as_ref().is_some_and(concerns_all)
            }
            KeyCommand::Accept
            | KeyCommand::SortByTotal
            | KeyCommand::TogglePause
            | KeyCommand::EditFilter => self.view.is_some(),
            _ => true,
        }
    }

    fn handle(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect> {
        if let Some(effects) = shared.seek(command) {
            return effects;
        }
        match command {
            KeyCommand::Next | KeyCommand::Previous | KeyCommand::ReloadList
                if shared.is_recording() =>
            {
                Vec::new()
            }
            KeyCommand::ShowHotFiles => {
                let scope = HotFilesScope::of_device(shared.live, self.device.as_ref());
                shared.hot_files.open(scope)
            }
            command => self.handle_command(command, shared.live),
        }
    }

    fn type_input(&mut self, input: TextInput, _live: &mut LiveState) {
        self.filter.apply_input(input);
    }

    /// Requests are traced only while the screen is shown.
    fn show(&mut self, was_shown: bool, shared: &mut Shared<'_>) -> Vec<Effect> {
        match was_shown || shared.is_recording() {
            true => Vec::new(),
            false => self.start_following(shared.live),
        }
    }

    fn leave(&mut self, shared: &mut Shared<'_>) -> Vec<Effect> {
        match shared.is_recording() {
            true => Vec::new(),
            false => vec![Effect::FollowRequests(None)],
        }
    }

    fn draw(&self, live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
        draw::draw(self, live, theme, area, buf);
    }
}
